#version 430 core
// figures[5] += Σ hits, and figures[6] += how many of the examples have targets that are counted
// and only hits among them; by one group.  hits, target (example, target)
#include "common.glsl"
layout(local_size_x = GROUP) in;
layout(std430, binding = 0) readonly buffer Hits { uint hits[]; };
layout(std430, binding = 1) readonly buffer Target { float target[]; };
layout(std430, binding = 2) buffer Figures { uint figures[]; };
uniform uint rows, columns;
shared uint found[GROUP], whole[GROUP];

void main() {
  uint me = gl_LocalInvocationIndex;
  uint all_hits = 0u, whole_rows = 0u;
  for (uint row = me; row < rows; row += uint(GROUP)) {
    uint right = 0u, counted = 0u;
    for (uint j = 0u; j < columns; ++j) {
      right += hits[row * columns + j];
      counted += target[row * columns + j] >= 0.0 ? 1u : 0u;
    }
    all_hits += right;
    whole_rows += counted > 0u && right == counted ? 1u : 0u;
  }
  found[me] = all_hits;
  whole[me] = whole_rows;
  sync_group();
  for (uint stride = uint(GROUP) / 2u; stride > 0u; stride /= 2u) {
    if (me < stride) {
      found[me] += found[me + stride];
      whole[me] += whole[me + stride];
    }
    sync_group();
  }
  if (me != 0u) return;
  figures[5] += found[0];
  figures[6] += whole[0];
}
