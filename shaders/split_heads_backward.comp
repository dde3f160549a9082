#version 430 core
// dx[b, t, h · width + e] += dy[b, h, t, e]
// dx (batch, position, head · width), dy (batch, head, position, width)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DX { float dx[]; };
uniform uint cells, heads, positions, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % width, h = i / width % heads, bt = i / (width * heads);  // cell
  uint from = ((bt / positions * heads + h) * positions + bt % positions) * width + e;  // cell
  dx[i] = before(dx[i]) + dy[from];  // cell
}
