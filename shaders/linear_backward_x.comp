#version 430 core
// dx[r, i] += Σ_j dy[r, j] · w[i, j]
// dy (row, column), w (inner, column), dx (row, inner)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer Weight { float w[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DX { float dx[]; };
uniform uint rows, columns, inner;

#define TOP_DOWN
#define ROWS rows
#define COLUMNS inner
#define INNER columns
float left(uint z, uint r, uint i) { return dy[r * columns + i]; }  // cell
float top(uint z, uint i, uint c) { return w[c * columns + i]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = r * inner + c;  // cell
  dx[cell] = before(dx[cell]) + sum;  // cell
}
#include "product.glsl"
