#version 430 core
// Row by row, a group to a row, with n[i] = (x[i] − mean) / σ, σ = sqrt(variance + ε) and
// g[i] = dy[i] · w[i]:
// dx[i] += (g[i] − mean(g) − n[i] · mean(g · n)) / σ, and without a mean (norm.comp) no mean(g)
// x, dy, dx (row, column), w (column)
#include "common.glsl"
#include "gradient.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Weight { float w[]; };
layout(std430, binding = 2) readonly buffer DY { float dy[]; };
layout(std430, binding = 3) buffer DX { float dx[]; };
#include "norm.glsl"

void main() {
  uint row = group_index();
  if (row >= rows) return;
  uint first = row * columns;
  RowStatistics row_of_x = row_statistics(first);  // cell
  float count = float(columns), sum = 0.0, product = 0.0;  // cell
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    precise float g = dy[first + j] * w[j];  // cell
    sum += has_mean != 0u ? g : 0.0;  // cell
    product += g * centred(x[first + j], row_of_x) * row_of_x.inverse;  // cell
  }
  float mean = sum_of_group(sum) / count, slope = sum_of_group(product) / count;  // cell
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    float normal = centred(x[first + j], row_of_x) * row_of_x.inverse;  // cell
    // Rounded as above, or a row of one number would have what is left of rounding for a gradient.
    precise float g = dy[first + j] * w[j];  // cell
    float gradient = (g - mean - normal * slope) * row_of_x.inverse;  // cell
    dx[first + j] = before(dx[first + j]) + gradient;  // cell
  }
}
