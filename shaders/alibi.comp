#version 430 core
// y[b, h, i, j] = s[b, h, i, j] − slope[h] · |i + offset − j|
// s, y (batch, head, query, key), slopes (head)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer S { float s[]; };
layout(std430, binding = 1) readonly buffer Slopes { float slopes[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells, heads, queries, keys, offset;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  int distance = int(i / keys % queries + offset) - int(i % keys);  // cell
  float slope = slopes[i / (keys * queries) % heads];  // cell
  y[i] = s[i] - slope * float(abs(distance));  // cell
}
