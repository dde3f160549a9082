#version 430 core
// y[r, h · width + e] = Σ_m x[r, m] · w[h, m, e] + b[h, e]
// x (row, inner), w (head, inner, width), b (head, width), y (row, head · width); without a bias
// (has_bias = 0) b is not read
#include "common.glsl"
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) readonly buffer Weight { float w[]; };
layout(std430, binding = 2) readonly buffer Bias { float b[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };
uniform uint rows, heads, width, inner, has_bias;

// The heads' columns stand side by side: column c is number c % width of head c / width.
uint weight_at(uint m, uint c) { return (c / width * inner + m) * width + c % width; }  // cell

#define ROWS rows
#define COLUMNS (heads * width)
#define INNER inner
float left(uint z, uint r, uint i) { return x[r * inner + i]; }  // cell
float top(uint z, uint i, uint c) { return w[weight_at(i, c)]; }  // cell
void store(uint z, uint r, uint c, float sum) {
  y[r * heads * width + c] = sum + (has_bias != 0u ? b[c] : 0.0);  // cell
}
#include "product.glsl"
