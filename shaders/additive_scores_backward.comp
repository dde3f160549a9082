#version 430 core
// d[b, g, o, e] += Σ_h Σ_p ds[b, h, o, p] · v[h, e] · (1 − tanh²(t)),
// t = own[b, g, o, e] + other[b, h / other_share, p, e], over the heads h with h / own_share = g
// The gradient of the queries, whose own is q and the other k, or of the keys, the other way round;
// ds[b, h, o, p] stands at o · own_step + p · other_step. Where heads share keys, those have a
// share of more than 1, queries always one of 1.
// own, d (batch, head / own_share, `owns`, width), other (batch, head / other_share, `others`,
// width), v (head, width), ds (batch, head, query, key)
#include "common.glsl"
#include "gradient.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Own { float own[]; };
layout(std430, binding = 1) readonly buffer Other { float other[]; };
layout(std430, binding = 2) readonly buffer V { float v[]; };
layout(std430, binding = 3) readonly buffer DS { float ds[]; };
layout(std430, binding = 4) buffer D { float d[]; };
uniform uint cells, heads, owns, others, width, own_share, other_share, own_step, other_step;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % width, o = i / width % owns, first = i / (width * owns) * own_share;
  float all = 0.0;  // cell
  for (uint z = first; z < first + own_share; ++z) {
    float sum = 0.0;  // cell
    for (uint p = 0u; p < others; ++p) {
      float meeting = own[i] + other[(z / other_share * others + p) * width + e];  // cell
      sum += ds[z * owns * others + o * own_step + p * other_step] * tanh_slope(meeting);  // cell
    }
    all += sum * v[z % heads * width + e];  // cell
  }
  d[i] = before(d[i]) + all;  // cell
}
