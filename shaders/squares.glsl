// Sums of squares of any floats, in three parts, because the square of a large or a small float is
// none: (2^-79 x)² of those over 2^30, (2^75 x)² of those under 2^-30, x² of the others. Each is at
// most 2^98: 2^29 of them add up to no infinity. `odd` is 1 where one was infinite, 2 where one was
// NaN.
struct Squares {
  Sum large, middle, small;
  float odd;
};

Squares no_squares() {
  Sum zero = Sum(0.0, 0.0);
  return Squares(zero, zero, zero, 0.0);
}

void add_square(inout Squares s, float x) {
  if (is_nan(x) || is_infinite(x)) {
    s.odd = is_nan(x) ? 2.0 : max(s.odd, 1.0);
    return;
  }
  float size = abs(x);
  if (size > 1073741824.0) {
    float y = x * uintBitsToFloat((127u - 79u) << 23);
    add_to(s.large, y * y);
  } else if (size < 9.31322575e-10) {
    float y = x * uintBitsToFloat((127u + 75u) << 23);
    add_to(s.small, y * y);
  } else {
    add_to(s.middle, x * x);
  }
}
