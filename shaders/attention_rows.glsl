// The softmax of rows that come tile by tile: of each row the maximum and the sum as far as they are
// known. Stands behind attention.glsl.
shared float part[TILE][SIDE + 1];
shared float most[TILE], total[TILE], shrink[TILE];  // of each row, as far as it is known

void begin_rows() {
  uint me = gl_LocalInvocationIndex;
  if (me >= uint(TILE)) return;
  most[me] = lowest();  // cell
  total[me] = 0.0;  // cell
}

// A NaN is larger than anything.
float larger(float a, float b) {  // cell: all of it
  if (is_nan(a)) return a;
  return is_nan(b) || b > a ? b : a;
}

// The invocation's four scores of a tile, as multiply() has them; the lowest where they are forbidden.
vec4 scores_of(uint first_query, uint first_key) {
  vec4 scores = multiply(0u, first_query, first_key, width);  // cell
  for (uint n = 0u; n < 4u; ++n) {
    uint i = first_query + gl_LocalInvocationID.y + n / 2u * uint(SIDE);
    uint j = first_key + gl_LocalInvocationID.x + n % 2u * uint(SIDE);
    scores[n] = may_look(i, j) ? factor * scores[n] : lowest();  // cell
  }
  return scores;
}

// The rows' maxima grow with this tile's scores; what was added up before shrinks with them.
void grow_maxima(vec4 scores) {  // cell: all of it
  uint me = gl_LocalInvocationIndex, x = gl_LocalInvocationID.x, row = gl_LocalInvocationID.y;
  part[row][x] = larger(scores.x, scores.y);
  part[row + uint(SIDE)][x] = larger(scores.z, scores.w);
  sync_group();
  if (me < uint(TILE)) {
    float before = most[me], now = before;
    for (int n = 0; n < SIDE; ++n) now = larger(now, part[me][n]);
    shrink[me] = is_lowest(before) ? 0.0 : exp_of((before - now) / temperature);
    most[me] = now;
  }
  sync_group();
}

// Of a score in a row of the tile, not yet divided by the row's sum.
float weight_so_far(uint row, float score) {  // cell: all of it
  return is_lowest(most[row]) ? 0.0 : exp_of((score - most[row]) / temperature);
}

// With the invocation's sums of weights in `part`.
void grow_totals() {  // cell: all of it
  uint me = gl_LocalInvocationIndex;
  sync_group();
  if (me >= uint(TILE)) return;
  float sum = 0.0;
  for (int n = 0; n < SIDE; ++n) sum += part[me][n];
  total[me] = total[me] * shrink[me] + sum;
}
