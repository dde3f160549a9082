#version 430 core
// drow[h] += Σ_b dy[b, h, n], the last row of each head
// dy (batch, head, n + 1, width), drow (head, width); own = n · width
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DRow { float drow[]; };
uniform uint cells, own, width, batch;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  float sum = 0.0;  // cell
  for (uint b = 0u; b < batch; ++b) {
    sum += dy[(b * (cells / width) + i / width) * (own + width) + own + i % width];  // cell
  }
  drow[i] = before(drow[i]) + sum;  // cell
}
