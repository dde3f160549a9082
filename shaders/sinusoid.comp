#version 430 core
// y[b, t, f] = sin((first + t) / 10000^(2p/width)) for f = 2p, cos of the same angle for f = 2p + 1;
// with `halves` the sines of all pairs p come first, then the cosines
// y (batch, position, feature)
#include "common.glsl"
#include "functions.glsl"
#include "cells.glsl"
#include "turns.glsl"
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, positions, width, first, halves;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint f = i % width, t = first + i / width % positions;  // cell
  uint pairs = (width + 1u) / 2u;  // cell
  uint pair = halves != 0u ? f % pairs : f / 2u, is_cosine = halves != 0u ? f / pairs : f % 2u;  // cell
  y[i] = sine_of(turn_at(t, pair) + is_cosine * kQuarter);  // cell
}
