#version 430 core
// dx[r, m] += Σ_h Σ_e dy[r, h · width + e] · w[h, m, e]
// dy (row, head · width), w (head, inner, width), dx (row, inner)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer Weight { float w[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DX { float dx[]; };
uniform uint rows, heads, width, inner;

// The heads' columns stand side by side: column c is number c % width of head c / width.
uint weight_at(uint m, uint c) { return (c / width * inner + m) * width + c % width; }  // cell

#define TOP_DOWN
#define ROWS rows
#define COLUMNS inner
#define INNER (heads * width)
float left(uint z, uint r, uint i) { return dy[r * heads * width + i]; }  // cell
float top(uint z, uint i, uint c) { return w[weight_at(c, i)]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = r * inner + c;  // cell
  dx[cell] = before(dx[cell]) + sum;  // cell
}
#include "product.glsl"
