#version 430 core
// y[b, h, p] (+)= m[h] · x[b, h, p]: forward x is the weights, backward their gradient
// x, y (batch, head, place), m (head), where a place is a query with a key
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Mask { float mask[]; };
layout(std430, binding = 2) buffer Y { float y[]; };
uniform uint cells, heads, places;

void main() {
  uint i = cell_index();
  if (i < cells) y[i] = before(y[i]) + mask[i / places % heads] * x[i];  // cell
}
