#version 430 core
// dx[z, t, i] += Σ_j dy[z, t, j] · w[e, i, j]. Of rows that all experts share the sum runs over these
// too: `summed` of them follow each other, else one.
// w (expert, inner, outer), dy (z · summed, position, outer), dx (z, position, inner)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer Weight { float w[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DX { float dx[]; };
uniform uint experts, positions, inner, outer, summed;

#define TOP_DOWN
#define ROWS positions
#define COLUMNS inner
#define INNER (summed * outer)
float left(uint z, uint r, uint i) {
  return dy[((z * summed + i / outer) * positions + r) * outer + i % outer];  // cell
}
float top(uint z, uint i, uint c) {
  return w[((z * summed + i / outer) % experts * inner + c) * outer + i % outer];  // cell
}
void store(uint z, uint r, uint c, float sum) {
  uint cell = (z * positions + r) * inner + c;  // cell
  dx[cell] = before(dx[cell]) + sum;  // cell
}
#include "product.glsl"
