#version 430 core
// y[b, f] = Σ_t m[b, t] · x[b, t, f] / Σ_t m[b, t]; 0 for a row without a token. Padding is left
// out, whatever its numbers are.
// x (batch, position, feature), present m (batch, position), y (batch, feature)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Present { float present[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
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
  uint b = i / width, f = i % width;
  float sum = 0.0, tokens = tokens_of(b);  // cell
  for (uint t = 0u; t < positions; ++t) {
    float m = present[b * positions + t];  // cell
    if (m != 0.0) sum += m * x[(b * positions + t) * width + f];  // cell
  }
  y[i] = tokens > 0.0 ? sum / tokens : 0.0;  // cell
}
