#version 430 core
// db[c] += Σ_r dy[r, c], which is how a bias feels every row
// dy (row, column), db (column)
#include "common.glsl"
#include "gradient.glsl"
layout(std430, binding = 0) readonly buffer DY { float dy[]; };
layout(std430, binding = 1) buffer DB { float db[]; };
#include "columns.glsl"

float term(uint row, uint column) { return dy[row * columns + column]; }  // cell
void store(uint column, float sum) { db[column] = before(db[column]) + sum; }  // cell
