#version 430 core
// y[b, t, f] = sin(t / 10000^(2p/width)) for f = 2p, cos of the same angle for f = 2p + 1
// y (batch, position, feature)
#include "common.glsl"
#include "functions.glsl"
#include "cells.glsl"
#include "turns.glsl"
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, positions, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint f = i % width, t = i / width % positions;  // cell
  y[i] = sine_of(turn_at(t, f / 2u) + f % 2u * kQuarter);  // cell
}
