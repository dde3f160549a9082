#version 430 core
// dv[h, e] += Σ_b Σ_i Σ_j ds[b, h, i, j] · tanh(q[b, h, i, e] + k[b, h / share, j, e]), a group to
// a cell
// q (batch, head, query, width), k (batch, head / share, key, width), ds (batch, head, query, key),
// dv (head, width)
#include "common.glsl"
#include "gradient.glsl"
#include "functions.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { float k[]; };
layout(std430, binding = 2) readonly buffer DS { float ds[]; };
layout(std430, binding = 3) buffer DV { float dv[]; };
uniform uint cells, batch, heads, share, queries, keys, width;

void main() {
  uint cell = group_index();
  if (cell >= cells) return;
  uint h = cell / width, e = cell % width, places = queries * keys;
  float sum = 0.0;  // cell
  for (uint b = 0u; b < batch; ++b) {
    uint z = b * heads + h;
    for (uint p = gl_LocalInvocationIndex; p < places; p += uint(GROUP)) {
      float asks = q[(z * queries + p / keys) * width + e];  // cell
      float answers = k[(z / share * keys + p % keys) * width + e];  // cell
      sum += ds[z * places + p] * tanh_of(asks + answers);  // cell
    }
  }
  sum = sum_of_group(sum);  // cell
  if (gl_LocalInvocationIndex == 0u) dv[cell] = before(dv[cell]) + sum;  // cell
}
