#version 430 core
// dx[b, h, j] += dy[b, h, j]
// dy (batch, head, position + 1, width), dx (batch, head, position, width); own = position · width
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DX { float dx[]; };
uniform uint cells, own, width;

void main() {
  uint i = cell_index();
  if (i < cells) dx[i] = before(dx[i]) + dy[i / own * (own + width) + i % own];  // cell
}
