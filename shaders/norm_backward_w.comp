#version 430 core
// dw[i] += Σ_r dy[r, i] · (x[r, i] − mean[r]) / σ[r]
// x, dy (row, column), statistics (row, 3) of norm_statistics.comp, dw (column)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Statistics { float statistics[]; };
layout(std430, binding = 2) readonly buffer DY { float dy[]; };
layout(std430, binding = 3) buffer DW { float dw[]; };
#include "columns.glsl"

float term(uint row, uint column) {
  uint i = row * columns + column, r = 3u * row;  // cell
  return dy[i] * ((x[i] - statistics[r]) - statistics[r + 1u]) * statistics[r + 2u];  // cell
}
void store(uint column, float sum) { dw[column] = before(dw[column]) + sum; }  // cell
