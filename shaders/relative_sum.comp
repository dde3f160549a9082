#version 430 core
// y[z, i, e] += Σ_j w[z, i, j] · a[row(i + offset − j), e]: the rows of the distances, weighted
// w (z, query, key), a (table, row, width), y (z, query, width)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
#include "distance.glsl"
layout(std430, binding = 0) readonly buffer W { float w[]; };
layout(std430, binding = 1) readonly buffer A { float a[]; };
layout(std430, binding = 2) buffer Y { float y[]; };
uniform uint cells, queries, keys, width;

void main() {
  uint cell = cell_index();
  if (cell >= cells) return;
  uint e = cell % width, i = cell / width % queries, z = cell / (width * queries);
  uint first = z % tables * rows;
  float sum = 0.0;  // cell
  for (uint j = 0u; j < keys; ++j)
    sum += w[cell / width * keys + j] * a[(first + row_of(i, j)) * width + e];  // cell
  y[cell] = before(y[cell]) + sum;  // cell
}
