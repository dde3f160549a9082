#version 430 core
// y[r, i] = factor · experts · Σ_e share[r, e] · mean[r, e] where target i counts, else 0; a group to
// a batch item r. share: of the best-`best` choices of its tokens, mean: of its weights, both over the
// tokens that are present.
// g (row, position, expert), m (row, position), target, y (row, target): `targets` of them each
#include "common.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer G { float g[]; };
layout(std430, binding = 1) readonly buffer M { float m[]; };
layout(std430, binding = 2) readonly buffer T { float target[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };
uniform uint rows, positions, experts, targets, best;
uniform float factor;
#include "experts.glsl"

void main() {
  uint row = group_index();
  if (row >= rows) return;
  float tokens = 0.0;  // cell
  for (uint t = 0u; t < positions; ++t) tokens += m[row * positions + t] != 0.0 ? 1.0 : 0.0;  // cell
  tokens = max(tokens, 1.0);  // cell
  float own = 0.0;  // cell
  for (uint e = gl_LocalInvocationIndex; e < experts; e += uint(GROUP)) {
    float share = 0.0, mean = 0.0;  // cell
    for (uint t = 0u; t < positions; ++t) {
      uint begin = (row * positions + t) * experts;
      if (m[row * positions + t] == 0.0) continue;
      if (is_heard(begin, experts, e, best)) share += 1.0;  // cell
      mean += g[begin + e];  // cell
    }
    own += share / (float(best) * tokens) * (mean / tokens);  // cell
  }
  float cost = factor * float(experts) * sum_of_group(own);  // cell
  for (uint i = gl_LocalInvocationIndex; i < targets; i += uint(GROUP)) {
    uint cell = row * targets + i;  // cell
    y[cell] = target[cell] >= 0.0 ? cost : 0.0;  // cell
  }
}
