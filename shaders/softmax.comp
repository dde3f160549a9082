#version 430 core
// y[j] = exp((x[j] − max) / τ) / Σ_k exp((x[k] − max) / τ), row by row, a group to a row. A row of
// −inf, in which no key is allowed, gives zeros; one with NaN or inf gives NaN.  x, y (row, column)
#include "common.glsl"
#include "functions.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint rows, columns;
uniform float temperature;

void main() {
  uint row = group_index();
  if (row >= rows) return;
  uint first = row * columns;
  float most = lowest();  // cell
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    most = larger(most, x[first + j]);  // cell
  }
  most = largest_of_group(most);  // cell
  if (is_lowest(most)) {
    for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
      y[first + j] = 0.0;  // cell
    }
    return;
  }
  float sum = 0.0;  // cell
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    sum += exp_of((x[first + j] - most) / temperature);  // cell
  }
  sum = sum_of_group(sum);  // cell
  bool undefined = is_nan(most) || is_infinite(most);  // cell
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    float weight = exp_of((x[first + j] - most) / temperature) / sum;  // cell
    y[first + j] = undefined ? not_a_number() : weight;  // cell
  }
}
