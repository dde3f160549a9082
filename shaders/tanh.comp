#version 430 core
// y[i] = limit · tanh(x[i] / limit); both (cells)
#include "common.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells;
uniform float limit;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = limit * tanh_of(x[i] / limit);  // cell
}
