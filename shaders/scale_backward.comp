#version 430 core
// dx[i] += factor · dy[i]; both (cells)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DX { float dx[]; };
uniform uint cells;
uniform float factor;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  dx[i] = before(dx[i]) + factor * dy[i];  // cell
}
