#version 430 core
// y[b, h, i, j] = s[b, h, i, j] + table[h, place[i − j + keys − 1]]
// s, y (batch, head, query, key), places (queries + keys − 1): the bucket of each distance, from that
// of the farthest key behind the first query on; table (head, bucket)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer S { float s[]; };
layout(std430, binding = 1) readonly buffer Places { uint places[]; };
layout(std430, binding = 2) readonly buffer Table { float table[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };
uniform uint cells, heads, queries, keys, buckets;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint bucket = places[i / keys % queries + keys - 1u - i % keys];  // cell
  y[i] = s[i] + table[i / (keys * queries) % heads * buckets + bucket];  // cell
}
