#version 430 core
// dx[b, t] += dy[b, first + t]: the rows of one of the two that were joined
// dy (batch, rows of both, width), dx (batch, its rows, width); own and item are the cells of a batch
// item of dx and of dy, first where its rows begin there
#include "common.glsl"
#include "gradient.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DX { float dx[]; };
uniform uint cells, own, item, first;

void main() {
  uint i = cell_index();
  if (i < cells) dx[i] = before(dx[i]) + dy[i / own * item + first + i % own];  // cell
}
