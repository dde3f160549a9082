#version 430 core
// y[b, t, f] = sin(t / 10000^(2p/width)) for f = 2p, cos of the same angle for f = 2p + 1
// y (batch, position, feature). turns (pair, 2) says how far a position goes round the circle, as a
// fraction with 64 bits after the point, the upper 32 first: whole turns fall out of t · turns by
// themselves, and nothing is lost however far t is.
#include "common.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Turns { uint turns[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
uniform uint cells, positions, width;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint f = i % width, t = i / width % positions, carry, low;  // cell
  umulExtended(t, turns[f / 2u * 2u + 1u], carry, low);  // cell
  uint turn = t * turns[f / 2u * 2u] + carry;  // cell: of 2^32
  uint quarter = (turn + (1u << 29)) >> 30;  // cell: the nearest multiple of π/2
  float angle = float(int(turn - (quarter << 30))) * 1.46291808e-9;  // cell: 2π / 2^32
  if (f % 2u == 1u) quarter += 1u;  // cell: cos x = sin(x + π/2)
  float size = quarter % 2u == 0u ? near_sine(angle) : near_cosine(angle);  // cell
  y[i] = quarter % 4u < 2u ? size : -size;  // cell
}
