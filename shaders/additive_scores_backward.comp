#version 430 core
// d[b, h, o, e] += Σ_p ds[b, h, o, p] · v[h, e] · (1 − tanh²(own[b, h, o, e] + other[b, h, p, e]))
// The gradient of the queries, whose own is q and the other k, or of the keys, the other way round;
// ds[b, h, o, p] stands at o · own_step + p · other_step.
// own, d (batch, head, `owns`, width), other (batch, head, `others`, width), v (head, width),
// ds (batch, head, query, key)
#include "common.glsl"
#include "gradient.glsl"
#include "functions.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Own { float own[]; };
layout(std430, binding = 1) readonly buffer Other { float other[]; };
layout(std430, binding = 2) readonly buffer V { float v[]; };
layout(std430, binding = 3) readonly buffer DS { float ds[]; };
layout(std430, binding = 4) buffer D { float d[]; };
uniform uint cells, heads, owns, others, width, own_step, other_step;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uint e = i % width, o = i / width % owns, z = i / (width * owns);
  float sum = 0.0;  // cell
  for (uint p = 0u; p < others; ++p) {
    float meeting = own[i] + other[(z * others + p) * width + e];  // cell
    sum += ds[z * owns * others + o * own_step + p * other_step] * tanh_slope(meeting);  // cell
  }
  d[i] = before(d[i]) + sum * v[z % heads * width + e];  // cell
}
