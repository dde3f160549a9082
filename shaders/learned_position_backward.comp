#version 430 core
// dtable[t, f] += Σ_b dy[b, t, f]; rows past the last position are felt by nobody
// dy (batch, position, feature), dtable (place, feature); `row` = position · feature
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DTable { float dtable[]; };
uniform uint cells, batch, row;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  float sum = 0.0;  // cell
  for (uint b = 0u; i < row && b < batch; ++b) sum += dy[b * row + i];  // cell
  dtable[i] = before(dtable[i]) + sum;  // cell
}
