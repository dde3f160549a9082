#version 430 core
// dg[b, t, e] += Σ_f dy[b, t, f] · x[b, e, t, f]
// x (batch, expert, position, width), dy (batch, position, width), dg (batch, position, expert)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DG { float dg[]; };
uniform uint cells, experts, positions, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % experts, row = i / experts, b = row / positions, t = row % positions;
  uint own = ((b * experts + e) * positions + t) * width;
  float sum = 0.0;  // cell
  for (uint f = 0u; f < width; ++f) sum += dy[row * width + f] * x[own + f];  // cell
  dg[i] = before(dg[i]) + sum;  // cell
}
