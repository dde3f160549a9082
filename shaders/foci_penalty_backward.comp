#version 430 core
// dg[b, i, j] += dy[b] · 2 factor · (g[b, i, j] − [i = j])
// g, dg (batch, matrix, focus, focus), dy (batch); a batch item has `places` cells
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer G { float g[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DG { float dg[]; };
uniform uint cells, places, foci;
uniform float factor;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  float d = g[i] - (i % (foci * foci) % (foci + 1u) == 0u ? 1.0 : 0.0);  // cell
  dg[i] = before(dg[i]) + dy[i / places] * 2.0 * factor * d;  // cell
}
