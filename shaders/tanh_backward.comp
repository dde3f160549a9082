#version 430 core
// dx[i] += dy[i] · (1 − tanh²(x[i] / limit)); all (cells)
#include "common.glsl"
#include "gradient.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DX { float dx[]; };
uniform uint cells;
uniform float limit;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  dx[i] = before(dx[i]) + dy[i] * tanh_slope(x[i] / limit);  // cell
}
