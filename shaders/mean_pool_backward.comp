#version 430 core
// dx[b, t, f] += dy[b, f] · m[b, t] / Σ_k m[b, k]; nothing for padding
// dx (batch, position, feature), present m (batch, position), dy (batch, feature)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Present { float present[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DX { float dx[]; };
uniform uint cells, positions, width;

// How many tokens of a row count; present is 1 for a token and 0 for padding.
float tokens_of(uint b) {  // cell: all of it
  float sum = 0.0;
  for (uint t = 0u; t < positions; ++t) sum += present[b * positions + t];
  return sum;
}

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint bt = i / width, b = bt / positions;
  float m = present[bt];  // cell
  float share = m != 0.0 ? dy[b * width + i % width] * (m / tokens_of(b)) : 0.0;  // cell
  dx[i] = before(dx[i]) + share;  // cell
}
