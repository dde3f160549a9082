#version 430 core
// dk[j] += Σ_i ds[i, j] q[i], where ds is the gradient of the scores of attention.comp, made anew
// q (batch, query, head · width), k (batch, key, kv_head · width), or by head, v (batch, key,
// kv_head · v_width), mask (batch, query, key), m (batch, head, query, key), dout (batch, query,
// head · v_width), statistics (batch, head, query, 3)
#include "common.glsl"
#include "functions.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { float k[]; };
layout(std430, binding = 2) readonly buffer V { float v[]; };
layout(std430, binding = 3) readonly buffer Mask { float mask[]; };
layout(std430, binding = 4) readonly buffer Dropout { float dropout[]; };
layout(std430, binding = 5) readonly buffer Statistics { float statistics[]; };
layout(std430, binding = 6) readonly buffer DY { float dy[]; };
layout(std430, binding = 7) buffer DK { float dk[]; };
#define BY_KEY
#include "attention.glsl"
#include "attention_gradient.glsl"

// The products are q · k and dout · v.
float query_cell(uint product, uint i, uint e) {  // cell: all of it
  if (product == 0u) return q[q_row(i) + e];
  return dy[query_row(i, v_width) + e];
}
float key_cell(uint product, uint j, uint e) {  // cell: all of it
  if (product == 0u) return k[k_row(j) + e];
  return v[key_row(j, v_width) + e];
}
float side_cell(uint i, uint e) { return q[q_row(i) + e]; }  // cell

void take_tile(uint first_query, uint first_key) {
  vec4 scores = multiply(0u, first_query, first_key, width);  // cell
  vec4 felt = multiply(1u, first_query, first_key, v_width);  // cell
  for (uint n = 0u; n < 4u; ++n) {
    uint row = gl_LocalInvocationID.y + n / 2u * uint(SIDE);
    uint column = gl_LocalInvocationID.x + n % 2u * uint(SIDE);
    uint i = first_query + row, j = first_key + column;
    set_weight(row, column, score_gradient(i, j, scores[n], felt[n]));  // cell
  }
  add_weighted(first_query, queries, width);  // cell
}

void main() {
  uint first_key = gl_WorkGroupID.x * uint(TILE);
  begin();  // cell
  take_tiles(first_key);  // cell
  for (uint r = 0u; r < 2u; ++r) {
    uint row = first_key + gl_LocalInvocationID.y + r * uint(SIDE);
    for (int b = 0; b < WIDTH_BLOCKS; ++b) {
      uint e = uint(b * SIDE) + gl_LocalInvocationID.x;
      if (row >= keys || e >= width) continue;
      uint cell = k_row(row) + e;  // cell
      dk[cell] = before(dk[cell]) + sums[r][b];  // cell
    }
  }
}
