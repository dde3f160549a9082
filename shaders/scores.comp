#version 430 core
// s[z, i, j] = Σ_e q[z, i, e] · k[z, j, e], for each head of keys of each batch item z.
// The queries of the heads that share it follow each other.
// q (z, query, width), k (z, key, width), s (z, query, key)
#include "common.glsl"
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { float k[]; };
layout(std430, binding = 2) writeonly buffer S { float s[]; };
uniform uint queries, keys, width;

#define TOP_DOWN
#define ROWS queries
#define COLUMNS keys
#define INNER width
float left(uint z, uint r, uint i) { return q[(z * queries + r) * width + i]; }  // cell
float top(uint z, uint i, uint c) { return k[(z * keys + c) * width + i]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  s[(z * queries + r) * keys + c] = sum;  // cell
}
#include "product.glsl"
