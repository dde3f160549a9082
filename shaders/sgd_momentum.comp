#version 430 core
// b[i] = momentum · b[i] + g[i] + decay · p[i];  p[i] −= rate · b[i]: a parameter, its gradient, and
// what is left of the gradients before it (cells)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) buffer P { float p[]; };
layout(std430, binding = 1) readonly buffer G { float g[]; };
layout(std430, binding = 2) buffer B { float b[]; };
uniform uint cells;
uniform float rate, decay, momentum;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  b[i] = momentum * b[i] + (g[i] + decay * p[i]);
  p[i] -= rate * b[i];
}
