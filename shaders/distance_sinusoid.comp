#version 430 core
// y[b, r, f] = sin(d / 10000^(2p/width)) for f = 2p, cos of the same angle for f = 2p + 1, where
// d = r − ahead
// y (batch, row, feature)
#include "common.glsl"
#include "functions.glsl"
#include "cells.glsl"
#include "turns.glsl"
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, count, width, ahead;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint f = i % width, row = i / width % count;  // cell
  uint turn = row < ahead ? 0u - turn_at(ahead - row, f / 2u) : turn_at(row - ahead, f / 2u);  // cell
  y[i] = sine_of(turn + f % 2u * kQuarter);  // cell
}
