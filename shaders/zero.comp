#version 430 core
// x[i] = 0; (cells)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) writeonly buffer X { float x[]; };
uniform uint cells;

void main() {
  uint i = cell_index();
  if (i < cells) x[i] = 0.0;  // cell
}
