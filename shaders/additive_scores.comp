#version 430 core
// s[b, h, i, j] = Σ_e v[h, e] · tanh(q[b, h, i, e] + k[b, h / share, j, e])
// q (batch, head, query, width), k (batch, head / share, key, width), v (head, width),
// s (batch, head, query, key)
#include "common.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { float k[]; };
layout(std430, binding = 2) readonly buffer V { float v[]; };
layout(std430, binding = 3) writeonly buffer S { float s[]; };
uniform uint cells, heads, share, queries, keys, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint j = i % keys, row = i / keys, z = row / queries, h = z % heads;
  uint answers = (z / share * keys + j) * width;  // where the key begins
  float sum = 0.0;  // cell
  for (uint e = 0u; e < width; ++e) {
    sum += v[h * width + e] * tanh_of(q[row * width + e] + k[answers + e]);  // cell
  }
  s[i] = sum;  // cell
}
