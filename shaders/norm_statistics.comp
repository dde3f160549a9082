#version 430 core
// What norm_backward_w.comp needs of each row: the mean in two parts, 1 / sqrt(variance + ε)
// x (row, column), statistics (row, 3)
#include "common.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Statistics { float statistics[]; };
#include "norm.glsl"

void main() {
  uint row = group_index();
  if (row >= rows) return;
  uint first = row * columns;
  RowStatistics row_of_x = row_statistics(first);  // cell
  if (gl_LocalInvocationIndex != 0u) return;
  statistics[3u * row] = row_of_x.mean;  // cell
  statistics[3u * row + 1u] = row_of_x.rest;  // cell
  statistics[3u * row + 2u] = row_of_x.inverse;  // cell
}
