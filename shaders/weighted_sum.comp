#version 430 core
// y[z, i, e] = Σ_j a[z, i, j] · v[z, j, e], for each head of values of each batch item z.
// The queries of the heads that share it follow each other.
// a (z, query, key), v (z, key, width), y (z, query, width)
#include "common.glsl"
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer V { float v[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
uniform uint queries, keys, width;

#define ROWS queries
#define COLUMNS width
#define INNER keys
float left(uint z, uint r, uint i) { return a[(z * queries + r) * keys + i]; }  // cell
float top(uint z, uint i, uint c) { return v[(z * keys + i) * width + c]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  y[(z * queries + r) * width + c] = sum;  // cell
}
#include "product.glsl"
