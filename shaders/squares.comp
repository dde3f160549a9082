#version 430 core
// The squares of a gradient: each of `groups` groups adds up every groups-th stretch of GROUP cells
// and leaves four numbers (squares.glsl) from sums[4 · (first + group)] on.  g (cell)
#include "common.glsl"
#include "rows.glsl"
#include "sums.glsl"
#include "squares.glsl"
layout(std430, binding = 0) readonly buffer G { float g[]; };
layout(std430, binding = 1) writeonly buffer Sums { float sums[]; };
uniform uint cells, groups, first;

void main() {
  Squares mine = no_squares();
  uint group = group_index(), step = groups * uint(GROUP);
  for (uint i = group * uint(GROUP) + gl_LocalInvocationIndex; i < cells; i += step) {
    add_square(mine, g[i]);
  }
  float large = sum_of_group(mine.large.all), middle = sum_of_group(mine.middle.all);
  float small = sum_of_group(mine.small.all), odd = largest_of_group(mine.odd);
  if (gl_LocalInvocationIndex != 0u) return;
  uint place = 4u * (first + group);
  sums[place] = large;
  sums[place + 1u] = middle;
  sums[place + 2u] = small;
  sums[place + 3u] = odd;
}
