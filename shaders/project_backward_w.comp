#version 430 core
// dw[h, m, e] += Σ_r x[r, m] · dy[r, h · width + e]
// x (row, inner), dy (row, head · width), dw (head, inner, width)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DW { float dw[]; };
uniform uint rows, heads, width, inner;

// The heads' columns stand side by side: column c is number c % width of head c / width.
uint weight_at(uint m, uint c) { return (c / width * inner + m) * width + c % width; }  // cell

#define LEFT_DOWN
#define ROWS inner
#define COLUMNS (heads * width)
#define INNER rows
float left(uint z, uint r, uint i) { return x[i * inner + r]; }  // cell
float top(uint z, uint i, uint c) { return dy[i * heads * width + c]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = weight_at(r, c);  // cell
  dw[cell] = before(dw[cell]) + sum;  // cell
}
#include "product.glsl"
