#version 430 core
// dw[e, i, j] += Σ x[z, t, i] · dy[z, t, j], over the tokens t of all batch items, whose matrices z
// belong to expert e. Of rows that all experts share (own = 0) x has one matrix for each batch item.
// x (z or batch, position, inner), dy (batch · expert, position, outer), dw (expert, inner, outer)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DW { float dw[]; };
uniform uint batch, experts, positions, inner, outer, own;

#define LEFT_DOWN
#define ROWS inner
#define COLUMNS outer
#define INNER (batch * positions)
float left(uint z, uint r, uint i) {
  uint item = i / positions, t = i % positions;  // cell
  return x[((own != 0u ? item * experts + z : item) * positions + t) * inner + r];  // cell
}
float top(uint z, uint i, uint c) {
  return dy[((i / positions * experts + z) * positions + i % positions) * outer + c];  // cell
}
void store(uint z, uint r, uint c, float sum) {
  uint cell = (z * inner + r) * outer + c;  // cell
  dw[cell] = before(dw[cell]) + sum;  // cell
}
#include "product.glsl"
