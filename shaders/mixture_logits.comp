#version 430 core
// l[r, j] = log Σ_k w[r, k] · exp(−z² / 2) / (σ √2π),  z = (v_j − m[r, k]) / σ,  σ = h + exp(s[r, k]);
// of one number −z² / 2 with σ = factor. v_j: the grid's numbers, h: half of its step.
// m, w, s (row, component), l (row, number)
#include "common.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer M { float m[]; };
layout(std430, binding = 1) readonly buffer W { float w[]; };
layout(std430, binding = 2) readonly buffer S { float s[]; };
layout(std430, binding = 3) writeonly buffer L { float l[]; };
uniform uint cells;
#include "mixture.glsl"

// A NaN is larger than anything.
float larger(float a, float b) { return is_nan(b) || b > a ? b : a; }  // cell

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint first = i / numbers * components;
  float v = grid_number(i % numbers);  // cell
  float most = part_at(first, distance_at(first, v));  // cell
  for (uint k = 1u; k < components; ++k) {
    most = larger(most, part_at(first + k, distance_at(first + k, v)));  // cell
  }
  float sum = 0.0;  // cell
  for (uint k = 0u; k < components; ++k) {
    sum += exp_of(part_at(first + k, distance_at(first + k, v)) - most);  // cell
  }
  l[i] = most + log_of(sum);  // cell
}
