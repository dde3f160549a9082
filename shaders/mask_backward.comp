#version 430 core
// ds[b, h, p] += dy[b, h, p] where mask[b, p] = 0; a forbidden score is felt by nobody
// ds, dy (batch, head, place), mask (batch, place), where a place is a query with a key
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Mask { float mask[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DS { float ds[]; };
uniform uint cells, heads, places;

// Which cell of the mask is over a score: every head of a batch item has the same.
uint mask_of(uint i) { return i / (heads * places) * places + i % places; }  // cell

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  ds[i] = before(ds[i]) + (mask[mask_of(i)] == 0.0 ? dy[i] : 0.0);  // cell
}
