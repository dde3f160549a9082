#version 430 core
// da[b, h, p] += dy[b, p] / H
// dy (batch, place), da (batch, head, place), where a place is a query with a key
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DA { float da[]; };
uniform uint cells, heads, places;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint b = i / (heads * places);
  da[i] = before(da[i]) + dy[b * places + i % places] / float(heads);  // cell
}
