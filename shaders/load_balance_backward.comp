#version 430 core
// dg[r, t, e] += Σ_i dy[r, i] · factor · experts · share[r, e] / tokens[r], over the targets that
// count, for tokens that are present
// g, dg (row, position, expert), m (row, position), target, dy (row, target): `targets` of them each
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer G { float g[]; };
layout(std430, binding = 1) readonly buffer M { float m[]; };
layout(std430, binding = 2) readonly buffer T { float target[]; };
layout(std430, binding = 3) readonly buffer DY { float dy[]; };
layout(std430, binding = 4) buffer DG { float dg[]; };
uniform uint cells, positions, experts, targets, best;
uniform float factor;
#include "experts.glsl"

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % experts, token = i / experts, row = token / positions;
  float d = 0.0, tokens = 0.0, share = 0.0;  // cell
  for (uint k = row * targets; k < (row + 1u) * targets; ++k) {
    if (target[k] >= 0.0) d += dy[k];  // cell
  }
  for (uint t = row * positions; t < (row + 1u) * positions; ++t) {
    if (m[t] == 0.0) continue;
    tokens += 1.0;  // cell
    if (is_heard(t * experts, experts, e, best)) share += 1.0;  // cell
  }
  share /= float(best) * max(tokens, 1.0);  // cell
  float slope = m[token] != 0.0 ? d * factor * float(experts) * share / tokens : 0.0;  // cell
  dg[i] = before(dg[i]) + slope;  // cell
}
