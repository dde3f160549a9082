#version 430 core
// The features (a, b) of a pair p turn by the angle θ = position · base^(−2p / turned): to
// a cos θ − b sin θ and a sin θ + b cos θ. The pairs are 2p and 2p + 1 (interleaved), or p and
// p + turned / 2; the first row stands at the position `first`; features of a head from `turned` on stay as they are. Gradients turn back, by −θ
// (is_back). x, y (batch, head, position, width)
#include "common.glsl"
#include "gradient.glsl"
#include "functions.glsl"
#include "cells.glsl"
#include "turns.glsl"
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) buffer Y { float y[]; };
uniform uint cells, positions, width, turned, interleaved, is_back, first;

float turned_number(uint i) {  // cell: all of it
  uint f = i % width, steps = interleaved != 0u ? 1u : turned / 2u;
  if (f >= turned) return x[i];
  uint turn = turn_at(first + i / width % positions, interleaved != 0u ? f / 2u : f % steps);
  bool is_first = f / steps % 2u == 0u;
  float other = x[is_first ? i + steps : i - steps];
  float sine = is_first == (is_back != 0u) ? sine_of(turn) : -sine_of(turn);
  return x[i] * sine_of(turn + kQuarter) + other * sine;
}

void main() {
  uint i = cell_index();
  if (i < cells) y[i] = before(y[i]) + turned_number(i);  // cell
}
