#version 430 core
// y[i] = a[i] · b[i]; all (cells). Dropout's b is 0 for what is left out, 1 / (1 − p) for the rest
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = a[i] * b[i];  // cell
}
