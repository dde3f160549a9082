#version 430 core
// dtable[h, n] += Σ_b Σ_ij dy[b, h, i, j] over the pairs whose distance has bucket n, a group to a cell
// dy (batch, head, query, key), places (queries + keys − 1), dtable (head, bucket)
#include "common.glsl"
#include "gradient.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) readonly buffer Places { uint places[]; };
layout(std430, binding = 2) buffer DTable { float dtable[]; };
uniform uint cells, batch, heads, queries, keys, buckets;

void main() {
  uint cell = group_index();
  if (cell >= cells) return;
  uint h = cell / buckets, bucket = cell % buckets, pairs = queries * keys;
  float sum = 0.0;  // cell
  for (uint b = 0u; b < batch; ++b) {
    for (uint p = gl_LocalInvocationIndex; p < pairs; p += uint(GROUP)) {
      if (places[p / keys + keys - 1u - p % keys] == bucket)  // cell
        sum += dy[(b * heads + h) * pairs + p];  // cell
    }
  }
  sum = sum_of_group(sum);  // cell
  if (gl_LocalInvocationIndex == 0u) dtable[cell] = before(dtable[cell]) + sum;  // cell
}
