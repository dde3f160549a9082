#version 430 core
// y[i] = factor · x[i]; both (cells)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells;
uniform float factor;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = x[i] * factor;  // cell
}
