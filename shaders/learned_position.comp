#version 430 core
// y[b, t, f] = table[t, f]
// table (place, feature), y (batch, position, feature), with at least as many places as positions;
// `row` = position · feature
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Table { float table[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, row;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = table[i % row];  // cell
}
