#version 430 core
// y[b, t, f] = table[t + offset, f]
// table (place, feature), y (batch, position, feature), `row` = position · feature, `first` = offset ·
// feature
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Table { float table[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, row, first;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = table[first + i % row];  // cell
}
