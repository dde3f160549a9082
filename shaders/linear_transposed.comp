#version 430 core
// y[r, j] = Σ_i x[r, i] · w[j, i] + b[j]
// x (row, inner), w (column, inner), b (column), y (row, column); without a bias (has_bias = 0) b
// is not read
#include "common.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Weight { float w[]; };
layout(std430, binding = 2) readonly buffer Bias { float b[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };
uniform uint rows, columns, inner, has_bias;

#define TOP_DOWN
#define ROWS rows
#define COLUMNS columns
#define INNER inner
float left(uint z, uint r, uint i) { return x[r * inner + i]; }  // cell
float top(uint z, uint i, uint c) { return w[c * inner + i]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  y[r * columns + c] = sum + (has_bias != 0u ? b[c] : 0.0);  // cell
}
#include "product.glsl"
