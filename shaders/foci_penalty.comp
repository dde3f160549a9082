#version 430 core
// y[b] = factor · Σ_ij (g[b, i, j] − [i = j])², a group to a batch item, whose cells are a row
// g (batch, matrix · focus · focus), y (batch)
#include "common.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer G { float g[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint rows, columns, foci;
uniform float factor;

void main() {
  uint row = group_index();
  if (row >= rows) return;
  float own = 0.0;  // cell
  for (uint i = gl_LocalInvocationIndex; i < columns; i += uint(GROUP)) {
    float d = g[row * columns + i] - (i % (foci * foci) % (foci + 1u) == 0u ? 1.0 : 0.0);  // cell
    own += d * d;  // cell
  }
  float sum = sum_of_group(own);  // cell
  if (gl_LocalInvocationIndex == 0u) y[row] = factor * sum;  // cell
}
