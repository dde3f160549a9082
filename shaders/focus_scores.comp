#version 430 core
// s[z, f, t] = Σ_k w[k, f] · u[z, t, k], for each batch item z.
// u (z, position, hidden), w (hidden, focus), s (z, focus, position)
#include "common.glsl"
layout(std430, binding = 0) readonly buffer U { float u[]; };
layout(std430, binding = 1) readonly buffer W { float w[]; };
layout(std430, binding = 2) writeonly buffer S { float s[]; };
uniform uint positions, hidden, foci;

#define LEFT_DOWN
#define TOP_DOWN
#define ROWS foci
#define COLUMNS positions
#define INNER hidden
float left(uint z, uint r, uint i) { return w[i * foci + r]; }  // cell
float top(uint z, uint i, uint c) { return u[(z * positions + c) * hidden + i]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  s[(z * foci + r) * positions + c] = sum;  // cell
}
#include "product.glsl"
