#version 430 core
// db[e, j] += Σ dy[b, e, t, j], over the tokens t of all batch items b
// dy (batch, expert, position, outer), db (expert, outer): all its cells
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DB { float db[]; };
uniform uint cells, batch, positions, outer;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint experts = cells / outer;
  float sum = 0.0;  // cell
  for (uint b = 0u; b < batch; ++b) {
    uint row = (b * experts + i / outer) * positions;
    for (uint t = 0u; t < positions; ++t) sum += dy[(row + t) * outer + i % outer];  // cell
  }
  db[i] = before(db[i]) + sum;  // cell
}
