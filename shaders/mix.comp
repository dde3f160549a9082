#version 430 core
// y[b, t, f] = Σ_e g[b, t, e] · x[b, e, t, f]; an expert of weight 0 is left out
// g (batch, position, expert), x (batch, expert, position, width), y (batch, position, width)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer G { float g[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells, experts, positions, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint f = i % width, row = i / width, b = row / positions, t = row % positions;
  float sum = 0.0;  // cell
  for (uint e = 0u; e < experts; ++e) {
    float weight = g[row * experts + e];  // cell
    if (weight != 0.0) sum += weight * x[((b * experts + e) * positions + t) * width + f];  // cell
  }
  y[i] = sum;  // cell
}
