// What both ways of the cross-entropy need of a row of logits x, whose first cell is `first`.

// The row's target, or -1 where it is not counted: what is no id of the vocabulary.
int target_of(float id) {  // cell: all of it
  return !is_nan(id) && id >= 0.0 && id < float(columns) ? int(id) : -1;
}

float row_maximum(uint first) {  // cell: all of it
  float most = lowest();
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    most = larger(most, x[first + j]);
  }
  return largest_of_group(most);
}

// Σ_k exp(x[k] − most) of all but the target, whose 1 would swallow them where it is nearly certain;
// NaN where the row has NaN or inf, or nothing but −inf.
float sum_of_others(uint first, float most, int chosen) {  // cell: all of it
  float sum = 0.0;
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    if (int(j) != chosen) sum += exp_of(x[first + j] - most);
  }
  sum = sum_of_group(sum);
  return is_nan(most) || is_infinite(most) ? not_a_number() : sum;
}
