#version 430 core
// y[i] = m[i] · x[i], where m is 0 for what is left out and 1 / (1 − p) for the rest; all (cells)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer M { float m[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = m[i] * x[i];  // cell
}
