#version 430 core
// p[i] −= rate · (g[i] + decay · p[i]): a parameter and its gradient (cells)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) buffer P { float p[]; };
layout(std430, binding = 1) readonly buffer G { float g[]; };
uniform uint cells;
uniform float rate, decay;

void main() {
  uint i = cell_index();
  if (i < cells) p[i] -= rate * (g[i] + decay * p[i]);
}
