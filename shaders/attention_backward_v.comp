#version 430 core
// dv[j] += Σ_i m[i, j] a[i, j] dout[i], where a is the pattern of attention.comp, made anew
// q (batch, query, head · width), k (batch, key, kv_head · width), or by head,
// mask (batch, query, key), m (batch, head, query, key), dout (batch, query, head · v_width),
// statistics (batch, head, query, 3)
#include "common.glsl"
#include "functions.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { float k[]; };
layout(std430, binding = 2) readonly buffer Mask { float mask[]; };
layout(std430, binding = 3) readonly buffer Dropout { float dropout[]; };
layout(std430, binding = 4) readonly buffer Statistics { float statistics[]; };
layout(std430, binding = 5) readonly buffer DY { float dy[]; };
layout(std430, binding = 6) buffer DV { float dv[]; };
#define BY_KEY
#include "attention.glsl"
#include "attention_gradient.glsl"

float query_cell(uint product, uint i, uint e) { return q[q_row(i) + e]; }  // cell
float key_cell(uint product, uint j, uint e) { return k[k_row(j) + e]; }  // cell
float side_cell(uint i, uint e) { return dy[query_row(i, v_width) + e]; }  // cell

void take_tile(uint first_query, uint first_key) {
  vec4 scores = multiply(0u, first_query, first_key, width);  // cell
  for (uint n = 0u; n < 4u; ++n) {
    uint row = gl_LocalInvocationID.y + n / 2u * uint(SIDE);
    uint column = gl_LocalInvocationID.x + n % 2u * uint(SIDE);
    uint i = first_query + row, j = first_key + column;
    float weight = weight_of(i, j, scores[n]);  // cell
    set_weight(row, column, weight == 0.0 ? 0.0 : weight * kept(i, j));  // cell
  }
  add_weighted(first_query, queries, v_width);  // cell
}

void main() {
  uint first_key = gl_WorkGroupID.x * uint(TILE);
  begin();  // cell
  take_tiles(first_key);  // cell
  for (uint r = 0u; r < 2u; ++r) {
    uint row = first_key + gl_LocalInvocationID.y + r * uint(SIDE);
    for (int b = 0; b < WIDTH_BLOCKS; ++b) {
      uint e = uint(b * SIDE) + gl_LocalInvocationID.x;
      if (row >= keys || e >= v_width) continue;
      uint cell = key_row(row, v_width) + e;  // cell
      dv[cell] = before(dv[cell]) + sums[r][b];  // cell
    }
  }
}
