#version 430 core
// loss[r] = log Σ_k exp(x[r, k] − max) + (max − x[r, target[r]]), a group to a row; 0 for a row
// that is not counted.  x (row, column), target, loss (row)
#include "common.glsl"
#include "functions.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Target { float target[]; };
layout(std430, binding = 2) writeonly buffer Loss { float loss[]; };
uniform uint rows, columns;
#include "loss.glsl"

void main() {
  uint row = group_index();
  if (row >= rows) return;
  uint first = row * columns;
  int chosen = target_of(target[row]);  // cell
  if (chosen < 0) {
    if (gl_LocalInvocationIndex == 0u) loss[row] = 0.0;  // cell
    return;
  }
  float most = row_maximum(first), others = sum_of_others(first, most, chosen);  // cell
  if (gl_LocalInvocationIndex != 0u) return;
  float below = most - x[first + uint(chosen)];  // cell
  // The target's own part of the sum less 1, which is exactly 0 where the target is the maximum.
  float own = exp_of(-below) - 1.0;  // cell
  loss[row] = is_nan(others) ? others : log_of_one_and(others + own) + below;  // cell
}
