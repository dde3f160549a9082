#version 430 core
// y[b, h, j] = x[b, h, j], and behind the last one row[h], or 0 without it
// x (batch, head, position, width), row (head, width), y (batch, head, position + 1, width); own =
// position · width
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Row { float row[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells, own, width, heads, has_row;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint matrix = i / (own + width), at = i % (own + width);
  if (at < own) {
    y[i] = x[matrix * own + at];  // cell
  } else {
    y[i] = has_row != 0u ? row[matrix % heads * width + at - own] : 0.0;  // cell
  }
}
