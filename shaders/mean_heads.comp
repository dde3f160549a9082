#version 430 core
// y[b, p] = Σ_h a[b, h, p] / H
// a (batch, head, place), y (batch, place), where a place is a query with a key
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, heads, places;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  float sum = 0.0;  // cell
  for (uint h = 0u; h < heads; ++h) sum += a[(i / places * heads + h) * places + i % places];  // cell
  y[i] = sum / float(heads);  // cell
}
