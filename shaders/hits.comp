#version 430 core
// hits[r] = 1 where x[r, target[r]] is the first of the largest in its row, else 0; a group to a
// row.  x (row, column), target, hits (row)
#include "common.glsl"
#include "rows.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Target { float target[]; };
layout(std430, binding = 2) writeonly buffer Hits { uint hits[]; };
uniform uint rows, columns;

void main() {
  uint row = group_index();
  if (row >= rows) return;
  uint first = row * columns;
  float id = target[row];
  bool counted = !is_nan(id) && id >= 0.0 && id < float(columns);
  uint chosen = counted ? uint(id) : 0u;
  float own = x[first + chosen], beaten = counted ? 0.0 : 1.0;
  for (uint j = gl_LocalInvocationIndex; j < columns; j += uint(GROUP)) {
    float other = x[first + j];
    if (other > own || (j < chosen && other == own)) beaten = 1.0;
  }
  beaten = largest_of_group(beaten);
  if (gl_LocalInvocationIndex == 0u) hits[row] = beaten == 0.0 ? 1u : 0u;
}
