#version 430 core
// Which tokens are the same, so that their gradients can be added up in order without a race:
// first[t] = 1 where no token before t has its id, else 0; next[t] = the next token of that id, or
// `tokens`.  id (token), links (2, token): first, then next
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) readonly buffer Id { float id[]; };
layout(std430, binding = 1) writeonly buffer Links { uint links[]; };
uniform uint tokens;

void main() {
  uint t = cell_index();
  if (t >= tokens) return;
  float mine = id[t];  // cell
  uint first = 1u, next = tokens;  // cell
  for (uint s = 0u; s < t; ++s) {
    if (id[s] == mine) first = 0u;  // cell
  }
  for (uint s = tokens - 1u; s > t; --s) {
    if (id[s] == mine) next = s;  // cell
  }
  links[t] = first;  // cell
  links[tokens + t] = next;  // cell
}
