#version 430 core
// figures[1 … 4] = what `count` groups of squares.comp left, put together by one group.
#include "common.glsl"
#include "rows.glsl"
#include "sums.glsl"
layout(std430, binding = 0) readonly buffer Sums { float sums[]; };
layout(std430, binding = 1) buffer Figures { float figures[]; };
uniform uint count;

void main() {
  Sum large = Sum(0.0, 0.0), middle = large, small = large;
  float odd = 0.0;
  for (uint i = gl_LocalInvocationIndex; i < count; i += uint(GROUP)) {
    add_to(large, sums[4u * i]);
    add_to(middle, sums[4u * i + 1u]);
    add_to(small, sums[4u * i + 2u]);
    odd = max(odd, sums[4u * i + 3u]);
  }
  float a = sum_of_group(large.all), b = sum_of_group(middle.all), c = sum_of_group(small.all);
  float d = largest_of_group(odd);
  if (gl_LocalInvocationIndex != 0u) return;
  figures[1] = a;
  figures[2] = b;
  figures[3] = c;
  figures[4] = d;
}
