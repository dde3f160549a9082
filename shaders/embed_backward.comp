#version 430 core
// dtable[v, f] += Σ dy[t, f] over the tokens t whose id is v: the first of them adds up for all,
// along the links that embed_links.comp made. Rows that no token picks are left as they are.
// id (token), links (2, token), dy (token, feature), dtable (vocab, feature)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Id { float id[]; };
layout(std430, binding = 1) readonly buffer Links { uint links[]; };
layout(std430, binding = 2) readonly buffer DY { float dy[]; };
layout(std430, binding = 3) buffer DTable { float dtable[]; };
uniform uint tokens, width, vocab;

void main() {
  uint i = cell_index();
  uint t = i / width, f = i % width;
  if (t >= tokens || links[t] == 0u) return;
  float sum = 0.0;  // cell
  for (uint s = t; s < tokens; s = links[tokens + s]) sum += dy[s * width + f];  // cell
  dtable[min(uint(id[t]), vocab - 1u) * width + f] += sum;  // cell
}
