#version 430 core
// y[t, e] = b[e] + Σ_k Σ_d x[t + k · dilation − back, d] · w[k, d, e]; rows beyond the ends and
// padding count as zeros
// x (batch, position, d), w (tap, d, e), present (batch, position), b (e), y (batch, position, e);
// without a bias (has_bias = 0) b is not read
#include "common.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Weight { float w[]; };
layout(std430, binding = 2) readonly buffer Present { float present[]; };
layout(std430, binding = 3) readonly buffer Bias { float b[]; };
layout(std430, binding = 4) writeonly buffer Y { float y[]; };
uniform uint rows, columns, width, inner;  // rows: of the whole batch; inner: taps · width
uniform uint positions, dilation, back, has_bias;

#define ROWS rows
#define COLUMNS columns
#define INNER inner
float left(uint z, uint r, uint i) {
  uint place = r % positions + i / width * dilation;  // cell
  if (place < back || place - back >= positions) return 0.0;  // cell
  uint row = r / positions * positions + place - back;  // cell
  return present[row] != 0.0 ? x[row * width + i % width] : 0.0;  // cell
}
float top(uint z, uint i, uint c) { return w[i * columns + c]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  y[r * columns + c] = sum + (has_bias != 0u ? b[c] : 0.0);  // cell
}
#include "product.glsl"
