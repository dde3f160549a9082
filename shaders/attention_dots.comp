#version 430 core
// statistics[i, 2] = Σ_j p[i, j] m[i, j] (dout[i] · v[j]), p the pattern of attention.comp made anew:
// what all scores of a row share of their gradients. out[i] · dout[i] is the same sum; but this one
// is made of the very products that it is subtracted from afterwards, so that where one weight is
// nearly all of a row their roundings go with them.
// q (batch, query, head · width), k (batch, key, kv_head · width), or by head, v (batch, key,
// kv_head · v_width), mask (batch, query, key), m (batch, head, query, key), dout (batch, query,
// head · v_width), statistics (batch, head, query, 3)
#include "common.glsl"
#include "functions.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { float k[]; };
layout(std430, binding = 2) readonly buffer V { float v[]; };
layout(std430, binding = 3) readonly buffer Mask { float mask[]; };
layout(std430, binding = 4) readonly buffer Dropout { float dropout[]; };
layout(std430, binding = 5) readonly buffer DY { float dy[]; };
layout(std430, binding = 6) buffer Statistics { float statistics[]; };
#include "attention.glsl"
#include "attention_gradient.glsl"

shared float part[TILE][SIDE + 1];
float means[2];  // of an invocation's two rows, over the keys that it has looked at

// The products are q · k and dout · v.
float query_cell(uint product, uint i, uint e) {  // cell: all of it
  if (product == 0u) return q[q_row(i) + e];
  return dy[query_row(i, v_width) + e];
}
float key_cell(uint product, uint j, uint e) {  // cell: all of it
  if (product == 0u) return k[k_row(j) + e];
  return v[key_row(j, v_width) + e];
}
float side_cell(uint j, uint e) { return 0.0; }  // no rows are added up

void take_tile(uint first_query, uint first_key) {
  vec4 scores = multiply(0u, first_query, first_key, width);  // cell
  vec4 felt = multiply(1u, first_query, first_key, v_width);  // cell
  for (uint n = 0u; n < 4u; ++n) {
    uint i = first_query + gl_LocalInvocationID.y + n / 2u * uint(SIDE);
    uint j = first_key + gl_LocalInvocationID.x + n % 2u * uint(SIDE);
    if (i >= queries || j >= keys) continue;
    means[n / 2u] += weight_of(i, j, scores[n]) * (felt[n] * kept(i, j));  // cell
  }
}

void main() {
  uint first_query = gl_WorkGroupID.x * uint(TILE), me = gl_LocalInvocationIndex;
  begin();  // cell
  means[0] = means[1] = 0.0;  // cell
  take_tiles(first_query);  // cell
  for (uint r = 0u; r < 2u; ++r) {
    part[gl_LocalInvocationID.y + r * uint(SIDE)][gl_LocalInvocationID.x] = means[r];  // cell
  }
  sync_group();
  if (me >= uint(TILE) || first_query + me >= queries) return;
  float sum = 0.0;  // cell
  for (int n = 0; n < SIDE; ++n) sum += part[me][n];  // cell
  statistics[row_by_head(first_query + me, 3u) + 2u] = sum;  // cell
}
