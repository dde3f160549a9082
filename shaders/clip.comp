#version 430 core
// g[i] = factor · g[i]: a gradient that is shortened together with all others.  g (cells)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) buffer G { float g[]; };
uniform uint cells;
uniform float factor;

void main() {
  uint i = cell_index();
  if (i < cells) g[i] = factor * g[i];
}
