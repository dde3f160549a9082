#version 430 core
// dtable[t + offset, f] += Σ_b dy[b, t, f]; rows before the first position and past the last are
// felt by nobody
// dy (batch, position, feature), dtable (place, feature); `row` = position · feature,
// `first` = offset · feature
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DTable { float dtable[]; };
uniform uint cells, batch, row, first;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  bool used = i >= first && i < first + row;  // cell
  float sum = 0.0;  // cell
  for (uint b = 0u; used && b < batch; ++b) sum += dy[b * row + i - first];  // cell
  dtable[i] = before(dtable[i]) + sum;  // cell
}
