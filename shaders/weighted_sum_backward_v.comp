#version 430 core
// dv[z, j, e] += Σ_i a[z, i, j] · dy[z, i, e], for each head of values of each batch item z.
// The queries of the heads that share it follow each other.
// a (z, query, key), dy (z, query, width), dv (z, key, width)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DV { float dv[]; };
uniform uint queries, keys, width;

#define LEFT_DOWN
#define ROWS keys
#define COLUMNS width
#define INNER queries
float left(uint z, uint r, uint i) { return a[(z * queries + i) * keys + r]; }  // cell
float top(uint z, uint i, uint c) { return dy[(z * queries + i) * width + c]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = (z * keys + r) * width + c;  // cell
  dv[cell] = before(dv[cell]) + sum;  // cell
}
#include "product.glsl"
