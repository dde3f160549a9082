#version 430 core
// y[b, h, t, e] = x[b, t, h · width + e]
// x (batch, position, head · width), y (batch, head, position, width)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, heads, positions, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % width, t = i / width % positions, bh = i / (width * positions);  // cell
  y[i] = x[((bh / heads * positions + t) * heads + bh % heads) * width + e];  // cell
}
