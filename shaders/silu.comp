#version 430 core
// y[i] = x[i] · σ(x[i]) with σ(x) = 1 / (1 + exp(−x)); both (cells)
#include "common.glsl"
#include "functions.glsl"
#include "gates.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = gated(x[i], silu_gate(x[i]));  // cell
}
