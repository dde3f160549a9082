#version 430 core
// y[b, t · width + f] = x[b, t, f], or 0 where token t is padding
// x (batch, position, feature), present m (batch, position), y (batch, position · feature)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Present { float present[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = present[i / width] != 0.0 ? x[i] : 0.0;  // cell
}
