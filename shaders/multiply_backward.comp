#version 430 core
// d[i] += dy[i] · other[i], of either factor, the other being what it is multiplied by; all (cells)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Other { float other[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer D { float d[]; };
uniform uint cells;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  d[i] = before(d[i]) + dy[i] * other[i];  // cell
}
