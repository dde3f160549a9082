#version 430 core
// y[i] = x[i] · [x[i] > 0], so that −inf, like NaN, gives NaN; both (cells)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = is_nan(x[i]) || is_lowest(x[i]) ? not_a_number() : x[i] > 0.0 ? x[i] : 0.0;  // cell
}
