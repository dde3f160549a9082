#version 430 core
// dx[t, d] += Σ_k Σ_e dy[t − k · dilation + back, e] · w[k, d, e]; nothing for padding
// w (tap, d, e), present (batch, position), dy (batch, position, e), dx (batch, position, d)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer Weight { float w[]; };
layout(std430, binding = 1) readonly buffer Present { float present[]; };
layout(std430, binding = 2) readonly buffer DY { float dy[]; };
layout(std430, binding = 3) buffer DX { float dx[]; };
uniform uint rows, columns, width, inner;  // rows: of the whole batch; inner: taps · columns
uniform uint positions, dilation, back;

#define TOP_DOWN
#define ROWS rows
#define COLUMNS width
#define INNER inner
float left(uint z, uint r, uint i) {
  uint place = r % positions + back, moved = i / columns * dilation;  // cell
  if (place < moved || place - moved >= positions) return 0.0;  // cell
  return dy[(r / positions * positions + place - moved) * columns + i % columns];  // cell
}
float top(uint z, uint i, uint c) {
  return w[(i / columns * width + c) * columns + i % columns];  // cell
}
void store(uint z, uint r, uint c, float sum) {
  uint cell = r * width + c;  // cell
  dx[cell] = before(dx[cell]) + (present[r] != 0.0 ? sum : 0.0);  // cell
}
#include "product.glsl"
