#version 430 core
// dg[r, e] += (dy[r, e] − Σ_j y[r, j] · dy[r, j]) / Σ_j g[r, j], over the best j, for the best e; of a
// single best one dy[r, e]. All (row, expert)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer G { float g[]; };
layout(std430, binding = 1) readonly buffer Y { float y[]; };
layout(std430, binding = 2) readonly buffer DY { float dy[]; };
layout(std430, binding = 3) buffer DG { float dg[]; };
uniform uint cells, experts, best;
#include "experts.glsl"

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % experts, begin = i - e;
  float sum = divisor(begin, experts, best);  // cell
  float mean = 0.0;  // cell
  if (best > 1u) {
    for (uint j = 0u; j < experts; ++j) mean += y[begin + j] * dy[begin + j];  // cell
  }
  bool heard = is_heard(begin, experts, e, best) && sum != 0.0;  // cell
  dg[i] = before(dg[i]) + (heard ? (dy[i] - mean) / sum : 0.0);  // cell
}
