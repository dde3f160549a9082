#version 430 core
// y[i] = −1 + 2 · id[i] / (numbers − 1)
// id, y (batch, position)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Ids { float ids[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, numbers;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = 2.0 * ids[i] / float(max(numbers, 2u) - 1u) - 1.0;  // cell
}
