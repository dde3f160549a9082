#version 430 core
// out[i] = Σ_j m[i, j] softmax_j(factor · q[i] · k[j] where mask[i, j] = 0, else −inf) v[j], for
// each head of each batch item, with the maximum and the sum of each row found on the way.
// q (batch, query, head · width), k (batch, key, kv_head · width), or by head, v (batch, key,
// kv_head · v_width), mask (batch, query, key), m (batch, head, query, key), out (batch, query,
// head · v_width), statistics (batch, head, query, 3): maximum, sum, and room for what
// attention_dots.comp finds
#include "common.glsl"
#include "functions.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { float k[]; };
layout(std430, binding = 2) readonly buffer V { float v[]; };
layout(std430, binding = 3) readonly buffer Mask { float mask[]; };
layout(std430, binding = 4) readonly buffer Dropout { float dropout[]; };
layout(std430, binding = 5) writeonly buffer Statistics { float statistics[]; };
layout(std430, binding = 6) writeonly buffer Y { float y[]; };
#include "attention.glsl"
#include "attention_rows.glsl"

float query_cell(uint product, uint i, uint e) { return q[q_row(i) + e]; }  // cell
float key_cell(uint product, uint j, uint e) { return k[k_row(j) + e]; }  // cell
float side_cell(uint j, uint e) { return v[key_row(j, v_width) + e]; }  // cell

void take_tile(uint first_query, uint first_key) {
  uint x = gl_LocalInvocationID.x;
  vec4 scores = scores_of(first_query, first_key);  // cell
  grow_maxima(scores);  // cell
  for (uint r = 0u; r < 2u; ++r) {
    uint row = gl_LocalInvocationID.y + r * uint(SIDE);
    float sum = 0.0;  // cell
    for (uint c = 0u; c < 2u; ++c) {
      uint i = first_query + row, column = x + c * uint(SIDE), j = first_key + column;
      float weight = weight_so_far(row, scores[2u * r + c]);  // cell
      sum += weight;  // cell
      set_weight(row, column, i < queries && j < keys ? weight * kept(i, j) : 0.0);  // cell
    }
    part[row][x] = sum;  // cell
    for (int b = 0; b < WIDTH_BLOCKS; ++b) sums[r][b] *= shrink[row];  // cell
  }
  grow_totals();  // cell
  add_weighted(first_key, keys, v_width);  // cell
}

// A row without an allowed key gives zeros; one with NaN or inf gives NaN.
float divided(float sum, uint row) {  // cell: all of it
  if (is_lowest(most[row])) return 0.0;
  if (is_nan(most[row]) || is_infinite(most[row])) return not_a_number();
  return sum / total[row];
}

void main() {
  uint first_query = gl_WorkGroupID.x * uint(TILE), me = gl_LocalInvocationIndex;
  begin_rows();  // cell
  begin();  // cell
  take_tiles(first_query);  // cell
  sync_group();
  for (uint r = 0u; r < 2u; ++r) {
    uint row = gl_LocalInvocationID.y + r * uint(SIDE), i = first_query + row;
    for (int b = 0; b < WIDTH_BLOCKS; ++b) {
      uint e = uint(b * SIDE) + gl_LocalInvocationID.x;
      if (i >= queries || e >= v_width) continue;
      y[query_row(i, v_width) + e] = divided(sums[r][b], row);  // cell
    }
  }
  if (me >= uint(TILE) || first_query + me >= queries) return;
  uint at = row_by_head(first_query + me, 3u);
  statistics[at] = most[me];
  statistics[at + 1u] = total[me];
  statistics[at + 2u] = 0.0;
}
