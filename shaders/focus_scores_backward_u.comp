#version 430 core
// du[z, t, k] += Σ_f ds[z, f, t] · w[k, f], for each batch item z.
// ds (z, focus, position), w (hidden, focus), du (z, position, hidden)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer W { float w[]; };
layout(std430, binding = 1) readonly buffer DS { float ds[]; };
layout(std430, binding = 2) buffer DU { float du[]; };
uniform uint positions, hidden, foci;

#define LEFT_DOWN
#define TOP_DOWN
#define ROWS positions
#define COLUMNS hidden
#define INNER foci
float left(uint z, uint r, uint i) { return ds[(z * foci + i) * positions + r]; }  // cell
float top(uint z, uint i, uint c) { return w[c * foci + i]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = (z * positions + r) * hidden + c;  // cell
  du[cell] = before(du[cell]) + sum;  // cell
}
#include "product.glsl"
