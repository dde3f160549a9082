#version 430 core
// du[h, e] += Σ_b Σ_i dy[b, h, i, e], a group to a cell
// dy (batch, head, query, width), du (head, width)
#include "common.glsl"
#include "gradient.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DU { float du[]; };
uniform uint cells, batch, heads, queries, width;

void main() {
  uint cell = group_index();
  if (cell >= cells) return;
  uint h = cell / width, e = cell % width;
  float sum = 0.0;  // cell
  for (uint p = gl_LocalInvocationIndex; p < batch * queries; p += uint(GROUP)) {
    uint row = (p / queries * heads + h) * queries + p % queries;  // cell
    sum += dy[row * width + e];  // cell
  }
  sum = sum_of_group(sum);  // cell
  if (gl_LocalInvocationIndex == 0u) du[cell] = before(du[cell]) + sum;  // cell
}
