// The gates of GELU and SiLU, which are between 0 and 1, and the slopes of x · gate(x).

// Φ(x), the normal distribution function; `bell` is exp(−x²/2), which it is made of. With
// t = 1 / (1 + 0.3 |x|) it is Φ(−|x|) = exp(−x²/2) t p(t): the factor beside the exponential is so
// smooth that ten coefficients fit it on [0, 14]; beyond, Φ is 0 or 1.
float normal_cdf(float x, out float bell) {  // cell: all of it
  float z = min(abs(x), 14.0);
  float t = 1.0 / (0.3 * z + 1.0);
  float p = -0.0206130348;
  p = p * t + 0.112376891;
  p = p * t - 0.228070119;
  p = p * t + 0.191585144;
  p = p * t - 0.0792501807;
  p = p * t + 0.0960593338;
  p = p * t + 0.0784250688;
  p = p * t + 0.110227431;
  p = p * t + 0.119572829;
  p = p * t + 0.119686635;
  bell = exp_of(-0.5 * z * z);
  float tail = t * p * bell;
  return x < 0.0 ? tail : 1.0 - tail;
}

// The logistic function; 0 or 1 far out, where exp_of() ends.
float silu_gate(float x) {  // cell: all of it
  return x < -87.0 ? 0.0 : 1.0 / (1.0 + exp_of(-x));
}

// ½ (1 + tanh u) = 1 / (1 + exp(−2u)) with u = √(2/π) (x + 0.044715 x³); 0 or 1 beyond ±20.
float gelu_tanh_gate(float x) {  // cell: all of it
  if (abs(x) > 20.0) return x < 0.0 ? 0.0 : 1.0;
  return silu_gate(1.59576912 * (0.044715 * x * x * x + x));
}

// x · gate, where −inf · 0 is no number.
float gated(float x, float gate) {  // cell: all of it
  return is_nan(x) || is_lowest(x) ? not_a_number() : x * gate;
}

// Φ(x) + x φ(x), with the bell curve φ
float gelu_slope(float x) {  // cell: all of it
  if (is_nan(x) || is_infinite(x)) return not_a_number();
  float bell, gate = normal_cdf(x, bell);
  return abs(x) > 14.0 ? gate : gate + x * 0.398942280 * bell;
}

// g + 2 x g (1 − g) u' with u' = √(2/π) (1 + 3 · 0.044715 x²)
float gelu_tanh_slope(float x) {  // cell: all of it
  if (is_nan(x) || is_infinite(x)) return not_a_number();
  float gate = gelu_tanh_gate(x);
  if (abs(x) > 20.0) return gate;
  return gate + x * (0.214071392 * x * x + 1.59576912) * gate * (1.0 - gate);
}

// g + x g (1 − g)
float silu_slope(float x) {  // cell: all of it
  if (is_nan(x) || is_infinite(x)) return not_a_number();
  float gate = silu_gate(x);
  return gate + x * gate * (1.0 - gate);
}
