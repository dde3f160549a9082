#version 430 core
// y[r, e] = g[r, e] / Σ_j g[r, j] over the best j, where e is one of them, else 0; of a single best
// one g[r, e] itself. g, y (row, expert)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer G { float g[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, experts, best;
#include "experts.glsl"

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % experts, begin = i - e;
  float sum = divisor(begin, experts, best);  // cell
  y[i] = is_heard(begin, experts, e, best) && sum != 0.0 ? g[i] / sum : 0.0;  // cell
}
