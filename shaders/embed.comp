#version 430 core
// y[t, f] = table[id[t], f]
// id (token), table (vocab, feature), y (token, feature)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Id { float id[]; };
layout(std430, binding = 1) readonly buffer Table { float table[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells, width, vocab;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint row = min(uint(id[i / width]), vocab - 1u);  // cell
  y[i] = table[row * width + i % width];  // cell
}
