#version 430 core
// y[i] = tanh(x[i]); both (cells)
#include "common.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = tanh_of(x[i]);  // cell
}
