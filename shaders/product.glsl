// C[z, r, c] = Σ_i left(z, r, i) · top(z, i, c), tile by tile. The shader that includes this says
//   ROWS, COLUMNS, INNER   how many r, c and i there are
//   left(z, r, i), top(z, i, c), store(z, r, c, sum)
//   LEFT_DOWN              neighbours in memory are cells of one column of `left`, else of one row
//   TOP_DOWN               the same of `top`
// A group makes a tile of TILE_ROWS × TILE_COLUMNS cells, each of its SIZE_X × SIZE_Y invocations
// BLOCK_ROWS × BLOCK_COLUMNS of them: every SIZE_Y-th row and every SIZE_X-th column. For each
// stretch of TILE_INNER numbers of the sum the group copies what it needs of both operands into
// shared memory, zeros beyond their ends. With DIRECT every invocation reads the operands itself,
// beyond their ends the last row or column once more: what comes of that is not stored.

layout(local_size_x = SIZE_X, local_size_y = SIZE_Y) in;

#ifndef DIRECT
// One more than the tile is wide, so that neighbours lie in different banks.
shared float left_tile[TILE_INNER][TILE_ROWS + 1];
shared float top_tile[TILE_INNER][TILE_COLUMNS + 1];

void load_tiles(uint z, uint first_row, uint first_column, uint start) {
  uint me = gl_LocalInvocationIndex;
  for (uint n = me; n < uint(TILE_ROWS * TILE_INNER); n += uint(SIZE_X * SIZE_Y)) {
#ifdef LEFT_DOWN
    uint r = n % uint(TILE_ROWS), i = n / uint(TILE_ROWS);
#else
    uint r = n / uint(TILE_INNER), i = n % uint(TILE_INNER);
#endif
    bool inside = first_row + r < ROWS && start + i < INNER;
    left_tile[i][r] = inside ? left(z, first_row + r, start + i) : 0.0;  // cell
  }
  for (uint n = me; n < uint(TILE_COLUMNS * TILE_INNER); n += uint(SIZE_X * SIZE_Y)) {
#ifdef TOP_DOWN
    uint c = n / uint(TILE_INNER), i = n % uint(TILE_INNER);
#else
    uint c = n % uint(TILE_COLUMNS), i = n / uint(TILE_COLUMNS);
#endif
    bool inside = first_column + c < COLUMNS && start + i < INNER;
    top_tile[i][c] = inside ? top(z, start + i, first_column + c) : 0.0;  // cell
  }
}
#endif

void main() {
  uint z = gl_WorkGroupID.z;
  uint first_row = gl_WorkGroupID.y * uint(TILE_ROWS);
  uint first_column = gl_WorkGroupID.x * uint(TILE_COLUMNS);
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
  float sums[BLOCK_ROWS][BLOCK_COLUMNS];
  for (int r = 0; r < BLOCK_ROWS; ++r) {
    for (int c = 0; c < BLOCK_COLUMNS; ++c) sums[r][c] = 0.0;  // cell
  }
#ifdef DIRECT
  for (uint i = 0u; i < INNER; ++i) {
    float tops[BLOCK_COLUMNS];
    for (int c = 0; c < BLOCK_COLUMNS; ++c) {
      tops[c] = top(z, i, min(first_column + x + uint(c * SIZE_X), COLUMNS - 1u));  // cell
    }
    for (int r = 0; r < BLOCK_ROWS; ++r) {
      float cell = left(z, min(first_row + y + uint(r * SIZE_Y), ROWS - 1u), i);  // cell
      for (int c = 0; c < BLOCK_COLUMNS; ++c) sums[r][c] += cell * tops[c];  // cell
    }
  }
#else
  for (uint start = 0u; start < INNER; start += uint(TILE_INNER)) {
    load_tiles(z, first_row, first_column, start);
    sync_group();
    for (int i = 0; i < TILE_INNER; ++i) {
      float tops[BLOCK_COLUMNS];
      for (int c = 0; c < BLOCK_COLUMNS; ++c) tops[c] = top_tile[i][x + uint(c * SIZE_X)];  // cell
      for (int r = 0; r < BLOCK_ROWS; ++r) {
        float cell = left_tile[i][y + uint(r * SIZE_Y)];  // cell
        for (int c = 0; c < BLOCK_COLUMNS; ++c) sums[r][c] += cell * tops[c];  // cell
      }
    }
    sync_group();
  }
#endif
  for (int r = 0; r < BLOCK_ROWS; ++r) {
    for (int c = 0; c < BLOCK_COLUMNS; ++c) {
      uint row = first_row + y + uint(r * SIZE_Y), column = first_column + x + uint(c * SIZE_X);
      if (row < ROWS && column < COLUMNS) store(z, row, column, sums[r][c]);  // cell
    }
  }
}
