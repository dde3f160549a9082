#version 430 core
// dx[b, e, t, f] += dy[b, t, f] · g[b, t, e]
// g (batch, position, expert), dy (batch, position, width), dx (batch, expert, position, width)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer G { float g[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DX { float dx[]; };
uniform uint cells, experts, positions, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint f = i % width, t = i / width % positions, matrix = i / (width * positions);
  uint row = matrix / experts * positions + t;
  dx[i] = before(dx[i]) + dy[row * width + f] * g[row * experts + matrix % experts];  // cell
}
