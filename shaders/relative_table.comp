#version 430 core
// da[t, r, e] += Σ w[z, i, j] · x[z, i, e] over the pairs whose distance has row r, of the matrices z
// that have the table t; a group to a cell
// w (z, query, key), x (z, query, width), da (table, row, width)
#include "common.glsl"
#include "gradient.glsl"
#include "rows.glsl"
#include "distance.glsl"
layout(std430, binding = 0) readonly buffer W { float w[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) buffer DA { float da[]; };
uniform uint cells, matrices, queries, keys, width;

void main() {
  uint cell = group_index();
  if (cell >= cells) return;
  uint e = cell % width, row = cell / width % rows, table = cell / (width * rows);
  // Keys of this row lie at one distance from the query; those of the rows at the ends at all that
  // are farther.
  int distance = int(row) - int(ahead);
  float sum = 0.0;  // cell
  uint all = matrices / tables * queries;
  for (uint p = gl_LocalInvocationIndex; p < all; p += uint(GROUP)) {
    uint i = p % queries, query = (table + p / queries * tables) * queries + i;
    int key = int(i + offset) - distance;
    int first = row == rows - 1u ? 0 : max(key, 0);
    int last = row == 0u ? int(keys) - 1 : min(key, int(keys) - 1);
    for (int j = first; j <= last; ++j)
      sum += w[query * keys + uint(j)] * x[query * width + e];  // cell
  }
  sum = sum_of_group(sum);  // cell
  if (gl_LocalInvocationIndex == 0u) da[cell] = before(da[cell]) + sum;  // cell
}
