// exp, log, tanh, sine and cosine to about one unit in the last place, the same on every driver.

// exp(x): exactly 0 below -87.3, where denormals would begin, and at -inf; exp(88) above 88; NaN of
// NaN. Here x = n ln 2 + r, and e^r = 1 + r + r² p(r) on |r| <= ln 2 / 2.
float exp_of(float x) {  // cell: all of it
  if (is_nan(x)) return x;
  if (x < -87.3) return 0.0;
  float clamped = min(x, 88.0);
  float n = roundEven(clamped * 1.44269504);
  // ln 2 in two parts; the first has few bits, so that n times it is exact.
  precise float r = clamped - n * 0.693359375;
  r = r + n * 2.12194440e-4;
  float p = 0.00138144312;
  p = p * r + 0.0083687969;
  p = p * r + 0.0416683958;
  p = p * r + 0.1666652;
  p = p * r + 0.499999934;
  return (r * r * p + r + 1.0) * uintBitsToFloat(uint(int(n) + 127) << 23);
}

// 2 artanh(s) = 2 s (1 + s² p(s²)) on |s| <= 0.172.
float twice_artanh(float s) {  // cell: all of it
  float w = s * s, p = (0.147910795 * w + 0.199943659) * w + 0.333333426;
  return 2.0 * (s + s * w * p);
}

// log(x) of a positive, finite x that is no denormal: x = 2^n m with m about 1, and
// log m = 2 artanh((m − 1) / (m + 1)).
float log_of(float x) {  // cell: all of it
  uint bits = floatBitsToUint(x);
  int n = int(bits >> 23) - 127;
  float m = uintBitsToFloat((bits & 0x7fffffu) | 0x3f800000u);
  if (m > 1.41421354) {
    m *= 0.5;
    n += 1;
  }
  return float(n) * 0.693147182 + twice_artanh((m - 1.0) / (m + 1.0));
}

// log(1 + x) of x >= 0, however small.
float log_of_one_and(float x) {  // cell: all of it
  return x > 0.4 ? log_of(1.0 + x) : twice_artanh(x / (2.0 + x));
}

// e = exp(−2 |x|), from which come tanh(x) = ±(1 − e) / (1 + e) and its slope 4 e / (1 + e)².
float tanh_power(float x) { return exp_of(-2.0 * abs(x)); }  // cell

float tanh_of(float x) {  // cell: all of it
  if (is_nan(x)) return x;
  float z = x * x;
  if (z < 0.4) {  // where 1 − e has lost digits: x + x³ p(x²)
    float p = ((-0.00604516509 * z + 0.0209613291) * z - 0.0538432632) * z + 0.133327188;
    return x + x * z * (p * z - 0.333333284);
  }
  float e = tanh_power(x), t = (1.0 - e) / (1.0 + e);
  return x < 0.0 ? -t : t;
}

float tanh_slope(float x) {  // cell: all of it
  float e = tanh_power(x), sum = 1.0 + e;
  return 4.0 * e / (sum * sum);
}

// Sine and cosine of an angle between −π/4 and π/4.
float near_sine(float x) {  // cell: all of it
  float z = x * x;
  return x + x * z * ((-0.000195878909 * z + 0.00833274827) * z - 0.166666647);
}
float near_cosine(float x) {  // cell: all of it
  float z = x * x;
  return 1.0 - 0.5 * z + z * z * ((2.45479421e-05 * z - 0.0013888303) * z + 0.0416666647);
}
