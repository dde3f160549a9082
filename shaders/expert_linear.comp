#version 430 core
// y[z, t, j] = Σ_i x[z, t, i] · w[e, i, j] + b[e, j], for each expert e of each batch item: matrix z
// is number z % experts of batch item z / experts. Of rows that all experts share (own = 0) x has one
// matrix for each batch item. Without a bias (has_bias = 0) b is not read.
// x (z or batch, position, inner), w (expert, inner, outer), b (expert, outer), y (z, position, outer)
#include "common.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Weight { float w[]; };
layout(std430, binding = 2) readonly buffer Bias { float b[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };
uniform uint experts, positions, inner, outer, own, has_bias;

#define ROWS positions
#define COLUMNS outer
#define INNER inner
float left(uint z, uint r, uint i) {
  return x[((own != 0u ? z : z / experts) * positions + r) * inner + i];  // cell
}
float top(uint z, uint i, uint c) { return w[(z % experts * inner + i) * outer + c]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  y[(z * positions + r) * outer + c] = sum + (has_bias != 0u ? b[z % experts * outer + c] : 0.0);  // cell
}
#include "product.glsl"
