#version 430 core
// x[i] = 0 for what dropout leaves out, 1 / (1 − p) for the rest, of numbers drawn by place, bit for
// bit as the processor draws them (core/base/random.h: scatter, SplitMix64's finaliser). x (cells)
// Numbers of 64 bits are (lower, upper).
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) writeonly buffer X { float x[]; };
uniform uint cells, key_lower, key_upper, first_lower, first_upper, limit_lower, limit_upper;
uniform float kept;

uvec2 sum_of(uvec2 a, uvec2 b) {  // cell: all of it
  uint carry;
  uint lower = uaddCarry(a.x, b.x, carry);
  return uvec2(lower, a.y + b.y + carry);
}

uvec2 product_of(uvec2 a, uvec2 b) {  // cell: all of it
  uint upper, lower;
  umulExtended(a.x, b.x, upper, lower);
  return uvec2(lower, upper + a.x * b.y + a.y * b.x);
}

// bits >> count, for counts of 1 to 31.
uvec2 shifted(uvec2 bits, int count) {  // cell: all of it
  return uvec2(bits.x >> count | bits.y << (32 - count), bits.y >> count);
}

uvec2 scatter(uvec2 bits) {  // cell: all of it
  bits = sum_of(bits, uvec2(0x7F4A7C15u, 0x9E3779B9u));
  bits = product_of(bits ^ shifted(bits, 30), uvec2(0x1CE4E5B9u, 0xBF58476Du));
  bits = product_of(bits ^ shifted(bits, 27), uvec2(0x133111EBu, 0x94D049BBu));
  return bits ^ shifted(bits, 31);
}

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  uvec2 place = sum_of(uvec2(first_lower, first_upper), uvec2(i, 0u));  // cell
  uvec2 step = product_of(place, uvec2(0xDE82EF95u, 0xD1342543u));  // cell
  uvec2 start = sum_of(uvec2(key_lower, key_upper), step);  // cell
  uvec2 drawn = shifted(scatter(start), 11);  // cell
  bool below = drawn.y < limit_upper || (drawn.y == limit_upper && drawn.x < limit_lower);  // cell
  x[i] = below ? 0.0 : kept;  // cell
}
