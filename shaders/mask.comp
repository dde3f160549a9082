#version 430 core
// y[b, h, p] = s[b, h, p] where mask[b, p] = 0, else −inf, whatever the score is
// s, y (batch, head, place), mask (batch, place), where a place is a query with a key
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer S { float s[]; };
layout(std430, binding = 1) readonly buffer Mask { float mask[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint cells, heads, places;

// Which cell of the mask is over a score: every head of a batch item has the same.
uint mask_of(uint i) { return i / (heads * places) * places + i % places; }  // cell

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  y[i] = mask[mask_of(i)] == 0.0 ? s[i] : lowest();  // cell
}
