#version 430 core
// Layer norm: y[i] = (x[i] − mean) / sqrt(variance + ε) · w[i] + b[i], row by row, a group to a row.
// RMS norm: the same without a mean (has_mean = 0), so that the variance is the mean of the squares.
// x, y (row, column), w, b (column); without a bias (has_bias = 0) b is not read
#include "common.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Weight { float w[]; };
layout(std430, binding = 2) readonly buffer Bias { float b[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };
uniform uint has_bias;
#include "norm.glsl"

void main() {
  uint row = group_index();
  if (row >= rows) return;
  uint first = row * columns;
  RowStatistics row_of_x = row_statistics(first);  // cell
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    float bias = has_bias != 0u ? b[j] : 0.0;  // cell
    y[first + j] = centred(x[first + j], row_of_x) * row_of_x.inverse * w[j] + bias;  // cell
  }
}
