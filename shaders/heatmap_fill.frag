#version 330 core
// Numbers of a matrix that lie in a buffer, put into a texture that heatmap.frag reads: one number
// to a texel, or, where a pixel covers several cells, the strongest of each block and its share of
// −inf, as strongest_blocks() in core/heatmap.cpp finds them. The buffer holds no NaN and no +inf.

uniform samplerBuffer numbers;
uniform int first, row_stride, column_stride;  // where cell (0, 0) lies, and its neighbours
uniform ivec2 cells;                           // columns, rows of the matrix
uniform ivec2 block;                           // columns, rows of a block
uniform ivec2 corner;                          // the texel of the matrix at the texture's (0, 0)

out vec2 texel;

float number_at(int column, int row) {
  return texelFetch(numbers, first + row * row_stride + column * column_stride).r;
}

// Grows with the magnitude, the sign last; −inf is a cell that is not there.
uint key_of(float number) {
  uint bits = floatBitsToUint(number);
  return bits == 0xff800000u ? 0u : (bits << 1) | (bits >> 31);
}

void main() {
  ivec2 at = corner + ivec2(gl_FragCoord.xy);
  ivec2 begin = at * block, end = min(begin + block, cells);
  uint strongest = 0u;
  float forbidden = 0.0, count = 0.0;
  for (int row = begin.y; row < end.y; ++row) {
    for (int column = begin.x; column < end.x; ++column) {
      float number = number_at(column, row);
      strongest = max(strongest, key_of(number));
      forbidden += floatBitsToUint(number) == 0xff800000u ? 1.0 : 0.0;
      count += 1.0;
    }
  }
#ifdef BLOCKS
  texel = vec2(uintBitsToFloat((strongest >> 1) | (strongest << 31)), forbidden / max(count, 1.0));
#else
  texel = vec2(number_at(begin.x, begin.y), 0.0);
#endif
}
