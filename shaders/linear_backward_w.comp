#version 430 core
// dw[i, j] += Σ_r x[r, i] · dy[r, j]
// x (row, inner), dy (row, column), dw (inner, column)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer DY { float dy[]; };
layout(std430, binding = 2) buffer DW { float dw[]; };
uniform uint rows, columns, inner;

#define LEFT_DOWN
#define ROWS inner
#define COLUMNS columns
#define INNER rows
float left(uint z, uint r, uint i) { return x[i * inner + r]; }  // cell
float top(uint z, uint i, uint c) { return dy[i * columns + c]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = r * columns + c;  // cell
  dw[cell] = before(dw[cell]) + sum;  // cell
}
#include "product.glsl"
