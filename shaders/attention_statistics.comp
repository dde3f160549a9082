#version 430 core
// statistics[i] = max_j s[i, j], Σ_j exp((s[i, j] − max) / τ), with s = factor · q[i] · k[j] where
// mask[i, j] = 0, else −inf, for each head of each batch item: what attention.comp finds on the way
// is found again where it was not kept. The third number of a row is attention_dots.comp's.
// q (batch, query, head · width), k (batch, key, kv_head · width), or by head, mask (batch, query,
// key), statistics (batch, head, query, 3)
#include "common.glsl"
#include "functions.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { float k[]; };
layout(std430, binding = 2) readonly buffer Mask { float mask[]; };
layout(std430, binding = 3) writeonly buffer Statistics { float statistics[]; };
#define NO_DROPOUT
#include "attention.glsl"
#include "attention_rows.glsl"

float query_cell(uint product, uint i, uint e) { return q[q_row(i) + e]; }  // cell
float key_cell(uint product, uint j, uint e) { return k[k_row(j) + e]; }  // cell
float side_cell(uint j, uint e) { return 0.0; }  // no rows are added up

void take_tile(uint first_query, uint first_key) {
  vec4 scores = scores_of(first_query, first_key);  // cell
  grow_maxima(scores);  // cell
  for (uint r = 0u; r < 2u; ++r) {
    uint row = gl_LocalInvocationID.y + r * uint(SIDE);
    float weights = weight_so_far(row, scores[2u * r]);  // cell
    weights += weight_so_far(row, scores[2u * r + 1u]);  // cell
    part[row][gl_LocalInvocationID.x] = weights;  // cell
  }
  grow_totals();  // cell
}

void main() {
  uint first_query = gl_WorkGroupID.x * uint(TILE), me = gl_LocalInvocationIndex;
  begin_rows();  // cell
  begin();  // cell
  take_tiles(first_query);  // cell
  sync_group();
  if (me >= uint(TILE) || first_query + me >= queries) return;
  uint at = row_by_head(first_query + me, 3u);
  statistics[at] = most[me];  // cell
  statistics[at + 1u] = total[me];  // cell
}
