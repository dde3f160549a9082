#version 430 core
// dk[z, j, e] += Σ_i ds[z, i, j] · q[z, i, e], for each head of keys of each batch item z.
// The queries of the heads that share it follow each other.
// ds (z, query, key), q (z, query, width), dk (z, key, width)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer DS { float ds[]; };
layout(std430, binding = 2) buffer DK { float dk[]; };
uniform uint queries, keys, width;

#define LEFT_DOWN
#define ROWS keys
#define COLUMNS width
#define INNER queries
float left(uint z, uint r, uint i) { return ds[(z * queries + i) * keys + r]; }  // cell
float top(uint z, uint i, uint c) { return q[(z * queries + i) * width + c]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = (z * keys + r) * width + c;  // cell
  dk[cell] = before(dk[cell]) + sum;  // cell
}
#include "product.glsl"
