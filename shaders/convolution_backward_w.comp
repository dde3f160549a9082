#version 430 core
// dw[k, d, e] += Σ_t x[t + k · dilation − back, d] · dy[t, e], over the rows of the whole batch
// x (batch, position, d), present (batch, position), dy (batch, position, e), dw (tap, d, e)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Present { float present[]; };
layout(std430, binding = 2) readonly buffer DY { float dy[]; };
layout(std430, binding = 3) buffer DW { float dw[]; };
uniform uint rows, columns, width, inner;  // inner: taps · width
uniform uint positions, dilation, back;

#define LEFT_DOWN
#define ROWS inner
#define COLUMNS columns
#define INNER rows
float left(uint z, uint r, uint i) {
  uint place = i % positions + r / width * dilation;  // cell
  if (place < back || place - back >= positions) return 0.0;  // cell
  uint row = i / positions * positions + place - back;  // cell
  return present[row] != 0.0 ? x[row * width + r % width] : 0.0;  // cell
}
float top(uint z, uint i, uint c) { return dy[i * columns + c]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  uint cell = r * columns + c;  // cell
  dw[cell] = before(dw[cell]) + sum;  // cell
}
#include "product.glsl"
