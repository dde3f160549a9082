#version 430 core
// y[i] = Σ of 16 numbers that each went through `rounds` × 8 times x = x · factor + step: how fast
// this device multiplies and adds where nothing has to be fetched. y (cells)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) writeonly buffer Y { float y[]; };
uniform uint cells, rounds;
uniform float factor, step_size;

// 16 multiply-adds that do not wait for each other.
#define STEP                 \
  a = a * factor + step_size; \
  b = b * factor + step_size; \
  c = c * factor + step_size; \
  d = d * factor + step_size;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  vec4 a = vec4(0.0, 1.0, 2.0, 3.0) + float(i % 8u);
  vec4 b = a + 4.0, c = a + 8.0, d = a + 12.0;
  for (uint r = 0u; r < rounds; ++r) {
    STEP STEP STEP STEP STEP STEP STEP STEP
  }
  y[i] = dot(a + b + c + d, vec4(1.0));
}
