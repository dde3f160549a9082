#version 430 core
// d[z, i, j] += Σ_e x[z, i, e] · a[row(i + offset − j), e]: each query with the row of each distance
// x (z, query, width), a (table, row, width), d (z, query, key)
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
#include "distance.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer A { float a[]; };
layout(std430, binding = 2) buffer D { float d[]; };
uniform uint cells, queries, keys, width;

void main() {
  uint cell = cell_index();
  if (cell >= cells) return;
  uint row = row_of(cell / keys % queries, cell % keys);
  uint z = cell / (queries * keys), first = (z % tables * rows + row) * width;
  float sum = 0.0;  // cell
  for (uint e = 0u; e < width; ++e) sum += x[cell / keys * width + e] * a[first + e];  // cell
  d[cell] = before(d[cell]) + sum;  // cell
}
