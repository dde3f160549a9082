#version 430 core
// dx[r, j] += dloss[r] · (softmax(x[r])[j] − [j = target[r]]), a group to a row; nothing for a row
// that is not counted. Of the target that is what all others have, less.  x, dx (row, column), target, dloss (row)
#include "common.glsl"
#include "gradient.glsl"
#include "functions.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Target { float target[]; };
layout(std430, binding = 2) readonly buffer DLoss { float dloss[]; };
layout(std430, binding = 3) buffer DX { float dx[]; };
uniform uint rows, columns;
#include "loss.glsl"

void main() {
  uint row = group_index();
  if (row >= rows) return;
  uint first = row * columns;
  int chosen = target_of(target[row]);  // cell
  if (chosen < 0) {
    for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
      dx[first + j] = before(dx[first + j]);  // cell
    }
    return;
  }
  float most = row_maximum(first), others = sum_of_others(first, most, chosen);  // cell
  float sum = others + exp_of(x[first + uint(chosen)] - most);  // cell
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    float part = int(j) == chosen ? -others : exp_of(x[first + j] - most);  // cell
    float weight = is_nan(sum) ? sum : part / sum;  // cell
    dx[first + j] = before(dx[first + j]) + dloss[row] * weight;  // cell
  }
}
