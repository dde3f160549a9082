#version 430 core
// statistics[i, 2] = Σ_e out[i, e] · dout[i, e]: what all scores of a row share of their gradients
// out, dout (batch, query, head · v_width), statistics (batch, head, query, 3)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer Statistics { float statistics[]; };
uniform uint cells, heads, queries, v_width;

void main() {
  uint row = cell_index();
  if (row >= cells) return;
  uint z = row / queries;
  uint first = ((z / heads * queries + row % queries) * heads + z % heads) * v_width;  // cell
  float sum = 0.0;  // cell
  for (uint e = 0u; e < v_width; ++e) sum += y[first + e] * dy[first + e];  // cell
  statistics[3u * row + 2u] = sum;  // cell
}
