#version 430 core
// dx[j] += y[j] · (dy[j] − Σ_k y[k] dy[k]) / τ, row by row, a group to a row. A weight of 0 passes
// nothing on, so that a row without an allowed key has no gradient.  y, dy, dx (row, column)
#include "common.glsl"
#include "gradient.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DX { float dx[]; };
uniform uint rows, columns;
uniform float temperature;

void main() {
  uint row = group_index();
  if (row >= rows) return;
  uint first = row * columns;
  float sum = 0.0;  // cell
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    sum += y[first + j] * dy[first + j];  // cell
  }
  float mean = sum_of_group(sum);  // cell
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    float weight = y[first + j];  // cell
    float gradient = weight == 0.0 ? 0.0 : weight * (dy[first + j] - mean) / temperature;  // cell
    dx[first + j] = before(dx[first + j]) + gradient;  // cell
  }
}
