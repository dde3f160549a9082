#version 430 core
// y[b, t, h · width + e] = z[b, h, t, e]
// z (batch, head, position, width), y (batch, position, head · width)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Z { float z[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, heads, positions, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % width, h = i / width % heads, bt = i / (width * heads);  // cell
  y[i] = z[((bt / positions * heads + h) * positions + bt % positions) * width + e];  // cell
}
