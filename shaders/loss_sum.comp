#version 430 core
// figures[0] += Σ loss, by one group; the losses that are not counted are 0.  loss (cell)
#include "common.glsl"
#include "rows.glsl"
#include "sums.glsl"
layout(std430, binding = 0) readonly buffer Loss { float loss[]; };
layout(std430, binding = 1) buffer Figures { float figures[]; };
uniform uint cells;

void main() {
  Sum sum = Sum(0.0, 0.0);
  for (uint i = gl_LocalInvocationIndex; i < cells; i += uint(GROUP)) add_to(sum, loss[i]);
  float all = sum_of_group(sum.all);
  if (gl_LocalInvocationIndex == 0u) figures[0] += all;
}
