#version 430 core
// y[b, j] = memory[b, j], and from the last row of the memory on y[b, j] = x[b, j − M]
// memory (batch, M, width), x (batch, T, width), y (batch, M + T, width); first = M · width,
// rest = T · width
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Memory { float memory[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells, first, rest;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint b = i / (first + rest), at = i % (first + rest);
  y[i] = at < first ? memory[b * first + at] : x[b * rest + at - first];  // cell
}
