#version 430 core
// dw[k, f] += Σ_{b, t} u[b, t, k] · ds[b, f, t]
// u (batch, position, hidden), ds (batch, focus, position), dw (hidden, focus)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer U { float u[]; };
layout(std430, binding = 1) readonly buffer DS { float ds[]; };
layout(std430, binding = 2) buffer DW { float dw[]; };
uniform uint rows, positions, hidden, foci;  // rows: of the whole batch

#define LEFT_DOWN
#define ROWS hidden
#define COLUMNS foci
#define INNER rows
float left(uint z, uint r, uint i) { return u[i * hidden + r]; }  // cell
float top(uint z, uint i, uint c) {
  return ds[(i / positions * foci + c) * positions + i % positions];  // cell
}
void store(uint z, uint r, uint c, float sum) {
  uint cell = r * foci + c;  // cell
  dw[cell] = before(dw[cell]) + sum;  // cell
}
#include "product.glsl"
