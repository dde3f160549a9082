#version 430 core
// y[i] = x[i], four numbers an invocation: how fast this device moves numbers at all (cells / 4)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { vec4 x[]; };
layout(std430, binding = 1) writeonly buffer Y { vec4 y[]; };
uniform uint cells;

void main() {
  uint i = cell_index();
  if (i >= cells / 4u) return;
  y[i] = x[i];
}
