#version 430 core
// s[b, h, i, j] = Σ_e v[h, e] · tanh(q[b, h, i, e] + k[b, h, j, e])
// q (batch, head, query, width), k (batch, head, key, width), v (head, width),
// s (batch, head, query, key)
#include "common.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { float k[]; };
layout(std430, binding = 2) readonly buffer V { float v[]; };
layout(std430, binding = 3) writeonly buffer S { float s[]; };
uniform uint cells, heads, queries, keys, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint j = i % keys, row = i / keys, z = row / queries, h = z % heads;
  float sum = 0.0;  // cell
  for (uint e = 0u; e < width; ++e) {
    sum += v[h * width + e] * tanh_of(q[row * width + e] + k[(z * keys + j) * width + e]);  // cell
  }
  s[i] = sum;  // cell
}
