#version 430 core
// With s = g[i] + decay · p[i]:  m[i] = β1 · m[i] + (1 − β1) · s,  v[i] = β2 · v[i] + (1 − β2) · s²,
// p[i] = kept · p[i] − rate · m[i] / (sqrt(v[i]) / root + ε): adam, and, with decay 0, adamw. The
// rates come corrected for the step (core/train/optim/optimizer.h).  All of them (cells)
#include "common.glsl"
#include "cells.glsl"
layout(std430, binding = 0) buffer P { float p[]; };
layout(std430, binding = 1) readonly buffer G { float g[]; };
layout(std430, binding = 2) buffer M { float m[]; };
layout(std430, binding = 3) buffer V { float v[]; };
uniform uint cells;
uniform float rate, root, decay, kept, beta1, rest1, beta2, rest2, epsilon;

void main() {
  uint i = cell_index();
  if (i >= cells) return;
  float slope = g[i] + decay * p[i];
  m[i] = beta1 * m[i] + rest1 * slope;
  v[i] = beta2 * v[i] + rest2 * slope * slope;
  p[i] = kept * p[i] - rate * m[i] / (sqrt(v[i]) / root + epsilon);
}
