#version 430 core
// dq[z, i, e] += Σ_j ds[z, i, j] · k[z, j, e], for each head of keys of each batch item z.
// The queries of the heads that share it follow each other.
// ds (z, query, key), k (z, key, width), dq (z, query, width)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer K { float k[]; };
layout(std430, binding = 1) readonly buffer DS { float ds[]; };
layout(std430, binding = 2) buffer DQ { float dq[]; };
uniform uint queries, keys, width;

#define ROWS queries
#define COLUMNS width
#define INNER keys
float left(uint z, uint r, uint i) { return ds[(z * queries + r) * keys + i]; }  // cell
float top(uint z, uint i, uint c) { return k[(z * keys + i) * width + c]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = (z * queries + r) * width + c;  // cell
  dq[cell] = before(dq[cell]) + sum;  // cell
}
#include "product.glsl"
