#version 430 core
// y[b, h, i, e] = q[b, h, i, e] + u[h, e]
// q, y (batch, head, query, width), u (head, width)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer U { float u[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells, heads, queries, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = q[i] + u[i / (queries * width) % heads * width + i % width];  // cell
}
