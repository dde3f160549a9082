#version 430 core
// dz[b, h, t, e] += dy[b, t, h · width + e]
// dz (batch, head, position, width), dy (batch, position, head · width)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DZ { float dz[]; };
uniform uint cells, heads, positions, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % width, t = i / width % positions, bh = i / (width * positions);  // cell
  uint from = ((bh / heads * positions + t) * heads + bh % heads) * width + e;  // cell
  dz[i] = before(dz[i]) + dy[from];  // cell
}
