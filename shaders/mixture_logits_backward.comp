#version 430 core
// With the component's share p_j = exp(part − l[r, j]) of the density at v_j, and z as in
// mixture_logits.comp, of the input that `part` says:
// 0: dm[r, k] += Σ_j dl[r, j] · p_j · z / σ
// 1: dw[r, k] += Σ_j dl[r, j] · p_j / w[r, k]
// 2: ds[r, k] += Σ_j dl[r, j] · p_j · (z² − 1) · exp(s[r, k]) / σ
// m, w, s, d (row, component), l, dl (row, number)
#include "common.glsl"
#include "gradient.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer M { float m[]; };
layout(std430, binding = 1) readonly buffer W { float w[]; };
layout(std430, binding = 2) readonly buffer S { float s[]; };
layout(std430, binding = 3) readonly buffer L { float l[]; };
layout(std430, binding = 4) readonly buffer DL { float dl[]; };
layout(std430, binding = 5) buffer D { float d[]; };
uniform uint cells, part;
#include "mixture.glsl"

// 0 where the cell is held back within its limits.
float slope_at(uint cell) {  // cell: all of it
  return part == 0u   ? (abs(m[cell]) <= 100.0 ? 1.0 / spread_at(cell) : 0.0)
         : part == 1u ? (w[cell] >= 1e-30 ? 1.0 / w[cell] : 0.0)
         : s[cell] >= -20.0 && s[cell] <= 3.0 ? exp_of(s[cell]) / spread_at(cell)
                                              : 0.0;
}

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint first = i / components * numbers;
  float sum = 0.0;  // cell
  for (uint j = 0u; j < numbers; ++j) {
    float z = distance_at(i, grid_number(j));  // cell
    float share = is_mixture == 0u ? 1.0 : exp_of(part_at(i, z) - l[first + j]);  // cell
    float felt = part == 0u ? z : part == 1u ? 1.0 : z * z - 1.0;  // cell
    sum += dl[first + j] * share * felt;  // cell
  }
  d[i] = before(d[i]) + sum * slope_at(i);  // cell
}
