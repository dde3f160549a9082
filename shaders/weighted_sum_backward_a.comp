#version 430 core
// da[z, i, j] += Σ_e dy[z, i, e] · v[z, j, e], for each head of values of each batch item z.
// The queries of the heads that share it follow each other.
// dy (z, query, width), v (z, key, width), da (z, query, key)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer V { float v[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DA { float da[]; };
uniform uint queries, keys, width;

#define TOP_DOWN
#define ROWS queries
#define COLUMNS keys
#define INNER width
float left(uint z, uint r, uint i) { return dy[(z * queries + r) * width + i]; }  // cell
float top(uint z, uint i, uint c) { return v[(z * keys + c) * width + i]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = (z * queries + r) * keys + c;  // cell
  da[cell] = before(da[cell]) + sum;  // cell
}
#include "product.glsl"
