// What the fused kernels of attention share. Rows of q, k, v and the result have the heads side by
// side, or one after the other: of q and k where `by_head` is 1, of all where it is more. Of keys and values there are kv_heads, each of which
// heads / kv_heads of queries share. A group works for one head of one batch item and makes TILE
// rows of its result. It goes over the rows of the other side, TILE at a time, so that of queries ×
// keys there is never more than a tile: each of SIDE × SIDE invocations has four cells of it, those
// SIDE apart. The shader that includes this says
//   query_cell(product, i, e), key_cell(product, j, e)   the rows that multiply() multiplies
//   side_cell(row, e)                                    the rows that add_weighted() adds up
//   take_tile(first_query, first_key)                    what it does with a tile
//   BY_KEY                                               its result has a row for each key, and a
//                                                        group works for a head of keys
//   NO_DROPOUT                                           it has no buffer of what is dropped
layout(local_size_x = SIDE, local_size_y = SIDE) in;

uniform uint heads, kv_heads, queries, keys, width, v_width, by_head, has_mask, has_dropout;
uniform float factor, temperature;

// One more than they are wide, so that neighbours lie in different banks.
shared float query_tile[SIDE][TILE + 1], key_tile[SIDE][TILE + 1];
shared float weight_tile[TILE][TILE + 1];  // result's row, other row
shared float side_tile[SIDE_ROWS][WIDTH_BLOCKS * SIDE + 1];
shared uint anybody;

// Of an invocation's two rows of the result, every SIDE-th cell.
float sums[2][WIDTH_BLOCKS];

float query_cell(uint product, uint i, uint e);
float key_cell(uint product, uint j, uint e);
float side_cell(uint row, uint e);
void take_tile(uint first_query, uint first_key);

// The group's batch item, a head of its queries there, and the head of keys that this one reads.
uint item, head, kv_head;

// Before all else.
void begin() {
#ifdef BY_KEY
  item = gl_WorkGroupID.z / kv_heads;
  kv_head = gl_WorkGroupID.z % kv_heads;
  head = kv_head * (heads / kv_heads);
#else
  item = gl_WorkGroupID.z / heads;
  head = gl_WorkGroupID.z % heads;
  kv_head = head / (heads / kv_heads);
#endif
  for (int b = 0; b < WIDTH_BLOCKS; ++b) sums[0][b] = sums[1][b] = 0.0;  // cell
}

// Where the cells of row i of this head begin: side by side (batch, row, head · cells), or by head
// (batch, head, row, cells).
uint row_by_head(uint i, uint cells) { return ((item * heads + head) * queries + i) * cells; }  // cell
uint key_by_head(uint j, uint cells) { return ((item * kv_heads + kv_head) * keys + j) * cells; }  // cell
uint query_row(uint i, uint cells) {  // cell: all of it
  if (by_head > 1u) return row_by_head(i, cells);
  return ((item * queries + i) * heads + head) * cells;
}
uint key_row(uint j, uint cells) {  // cell: all of it
  if (by_head > 1u) return key_by_head(j, cells);
  return ((item * keys + j) * kv_heads + kv_head) * cells;
}
uint q_row(uint i) { return by_head != 0u ? row_by_head(i, width) : query_row(i, width); }  // cell
uint k_row(uint j) { return by_head != 0u ? key_by_head(j, width) : key_row(j, width); }  // cell

bool may_look(uint i, uint j) {  // cell: all of it
  if (i >= queries || j >= keys) return false;
  if (has_mask == 0u) return true;
  return mask[(item * queries + i) * keys + j] == 0.0;
}

#ifndef NO_DROPOUT
// What a weight of the pattern is multiplied by: 0 where it is dropped.
float kept(uint i, uint j) {  // cell: all of it
  return has_dropout == 0u ? 1.0 : dropout[row_by_head(i, keys) + j];
}
#endif

// May any query of the tile look at any key of it? The same answer for the whole group.
bool anybody_looks(uint first_query, uint first_key) {
  uint i = first_query + gl_LocalInvocationID.y, j = first_key + gl_LocalInvocationID.x;
  sync_group();
  if (gl_LocalInvocationIndex == 0u) anybody = 0u;
  sync_group();
  bool mine = may_look(i, j) || may_look(i, j + uint(SIDE)) || may_look(i + uint(SIDE), j) ||
              may_look(i + uint(SIDE), j + uint(SIDE));
  if (mine) anybody = 1u;
  sync_group();
  return anybody != 0u;
}

void load_products(uint product, uint first_query, uint first_key, uint start, uint inner) {
  for (uint n = gl_LocalInvocationIndex; n < uint(TILE * SIDE); n += uint(SIDE * SIDE)) {
    uint row = n / uint(SIDE), e = n % uint(SIDE);
    uint i = first_query + row, j = first_key + row, at = start + e;
    query_tile[e][row] = i < queries && at < inner ? query_cell(product, i, at) : 0.0;  // cell
    key_tile[e][row] = j < keys && at < inner ? key_cell(product, j, at) : 0.0;  // cell
  }
}

// Σ_e query_cell · key_cell for the invocation's four cells of a tile: [2 r + c] is that of its
// r-th query and its c-th key.
vec4 multiply(uint product, uint first_query, uint first_key, uint inner) {
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
  vec4 cells = vec4(0.0);  // cell
  for (uint start = 0u; start < inner; start += uint(SIDE)) {
    load_products(product, first_query, first_key, start, inner);
    sync_group();
    for (int e = 0; e < SIDE; ++e) {
      vec2 a = vec2(query_tile[e][y], query_tile[e][y + uint(SIDE)]);  // cell
      vec2 b = vec2(key_tile[e][x], key_tile[e][x + uint(SIDE)]);  // cell
      cells += vec4(a.x * b.x, a.x * b.y, a.y * b.x, a.y * b.y);  // cell
    }
    sync_group();
  }
  return cells;
}

// By query and key of the tile.
void set_weight(uint query, uint key, float weight) {  // cell: all of it
#ifdef BY_KEY
  weight_tile[key][query] = weight;
#else
  weight_tile[query][key] = weight;
#endif
}

// Adds the other side's rows from `first` on, of which there are `rows`, by their weights.
void add_weighted(uint first, uint rows, uint cells) {
  uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
  for (uint start = 0u; start < uint(TILE) && first + start < rows; start += uint(SIDE_ROWS)) {
    sync_group();
    uint all = uint(SIDE_ROWS * SIDE * WIDTH_BLOCKS);
    for (uint n = gl_LocalInvocationIndex; n < all; n += uint(SIDE * SIDE)) {
      uint row = n / uint(SIDE * WIDTH_BLOCKS), e = n % uint(SIDE * WIDTH_BLOCKS);
      bool inside = first + start + row < rows && e < cells;
      side_tile[row][e] = inside ? side_cell(first + start + row, e) : 0.0;  // cell
    }
    sync_group();
    for (int n = 0; n < SIDE_ROWS; ++n) {
      float upper = weight_tile[y][start + uint(n)];  // cell
      float lower = weight_tile[y + uint(SIDE)][start + uint(n)];  // cell
      for (int b = 0; b < WIDTH_BLOCKS; ++b) {
        float cell = side_tile[n][uint(b * SIDE) + x];  // cell
        sums[0][b] += upper * cell;  // cell
        sums[1][b] += lower * cell;  // cell
      }
    }
  }
}

// All tiles of the group's rows, which begin at `first`; those of the heads that share a head of
// keys one after the other.
void take_tiles(uint first) {
#ifdef BY_KEY
  uint share = heads / kv_heads;
  for (uint n = 0u; n / share * uint(TILE) < queries; ++n) {
    uint other = n / share * uint(TILE);
    head = kv_head * share + n % share;
    if (anybody_looks(other, first)) take_tile(other, first);  // cell
  }
#else
  for (uint other = 0u; other < keys; other += uint(TILE)) {
    if (anybody_looks(first, other)) take_tile(first, other);  // cell
  }
#endif
}
