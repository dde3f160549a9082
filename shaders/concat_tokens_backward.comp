#version 430 core
// dx[b, t, f] += dy[b, t · width + f]; nothing for padding
// dx (batch, position, feature), present m (batch, position), dy (batch, position · feature)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Present { float present[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DX { float dx[]; };
uniform uint cells, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  float share = present[i / width] != 0.0 ? dy[i] : 0.0;  // cell
  dx[i] = before(dx[i]) + share;  // cell
}
