// Products of matrices: which way is the fastest for a product's shape.
#include <algorithm>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/products/panel.h"
#include "core/backends/cpu/simd.h"

namespace headlight::kernels {
namespace {

using namespace simd;

// One tile wide, one block deep, and B read where it lies: the products of attention, so small that
// planning a panel would take as long as they do.
bool is_narrow(const Product& m) {
  return !m.b_transposed && m.columns % kWidth == 0 && m.columns <= kTilePackets * kWidth &&
         m.columns > 0 && m.inner <= kBlock && m.inner > 0 &&
         (m.rows <= rows_of_tile(m.columns / kWidth) || m.inner * m.b_stride <= kDenseCells);
}

void multiply_narrow(const Product& m) {
  Tile tile;
  tile.a_stride = m.a_transposed ? 1 : m.a_stride;
  tile.a_step = m.a_transposed ? m.a_stride : 1;
  tile.a = m.a;
  tile.b = m.b;
  tile.b_stride = m.b_stride;
  tile.bias = m.bias;
  tile.c = m.c;
  tile.c_stride = m.c_stride;
  tile.inner = m.inner;
  tile.continues = m.continues;
  tile.first = !m.adds || m.continues;
  tile.last_count = kWidth;
  const int packets = static_cast<int>(m.columns / kWidth);
  const auto rows = static_cast<unsigned>(m.rows);
  const unsigned most = static_cast<unsigned>(rows_of_tile(packets));
  const unsigned parts = rows <= most ? 1 : (rows + most - 1) / most;
  const unsigned count = parts == 1 ? rows : rows / parts, more = rows - count * parts;
  for (unsigned part = 0; part < parts; ++part) {
    const unsigned n = count + (part < more);
    kTiles[tile_place(n, packets)](tile);
    tile.a += n * tile.a_stride;
    tile.c += n * tile.c_stride;
  }
}

}  // namespace

const std::int64_t kPacketColumns = kWidth;
const std::int64_t kTileColumns = kTilePackets * kWidth;

std::int64_t sum_parts(std::int64_t inner) { return parts_of(inner, kBlock); }

std::int64_t sum_part_begin(std::int64_t inner, std::int64_t i) {
  return part_begin(inner, sum_parts(inner), i);
}

PieceTiles piece_tiles(const Product& m) {
  if (m.rows == 1) return {.least = 2 * kPieceTiles, .most = 16 * kPieceTiles};
  if (is_turned(m)) return {.most = turned_columns(m) / kTileColumns};
  return {};
}

void multiply(const Product& m, float* scratch) {
  if (m.rows <= 0) return;
  if (is_narrow(m)) return multiply_narrow(m);
  if (m.rows == 1) return multiply_row(m, scratch);
  if (is_turned(m)) return multiply_turned(m, scratch);
  multiply_panels(m, scratch);
}

void transpose(const float* b, std::int64_t b_stride, std::int64_t rows, std::int64_t columns,
               float* out, std::int64_t out_stride) {
  Product m;
  m.b = b;
  m.b_stride = b_stride;
  pack_columns(m, 0, columns, 0, rows, out_stride, out);
}

void join_heads(const float* heads, std::int64_t count, std::int64_t rows, std::int64_t width,
                float* out) {
  for (std::int64_t h = 0; h < count; ++h) {
    for (std::int64_t r = 0; r < rows; ++r, heads += width) {
      float* row = out + (r * count + h) * width;
      for_packets(width, [&](std::int64_t c, auto extent) {
        store(row + c, load(heads + c, extent), extent);
      });
    }
  }
}

void part_heads(const float* joined, std::int64_t count, std::int64_t rows, std::int64_t width,
                float* heads, bool adds) {
  for (std::int64_t h = 0; h < count; ++h) {
    for (std::int64_t r = 0; r < rows; ++r, heads += width) {
      const float* row = joined + (r * count + h) * width;
      for_packets(width, [&](std::int64_t c, auto extent) {
        const Packet x = load(row + c, extent);
        store(heads + c, adds ? padd(load(heads + c, extent), x) : x, extent);
      });
    }
  }
}

// Keys lie side by side in a packet, as the columns of a transposed block of k, so that every cell
// is summed in order of e and no packet is ever summed across.
void additive_scores(const AdditiveScores& m, float* scratch) {
  Product keys;
  keys.b = m.k;
  keys.b_stride = m.width;
  for (std::int64_t j = 0; j < m.keys; j += kWidth) {
    const std::int64_t columns = std::min<std::int64_t>(kWidth, m.keys - j);
    for (std::int64_t e = 0; e < m.width; e += kBlock) {
      const std::int64_t inner = std::min(kBlock, m.width - e);
      pack_columns(keys, e, inner, j, columns, kWidth, scratch);
      for (std::int64_t i = 0; i < m.queries; ++i) {
        const float* q = m.q + i * m.width + e;
        Packet sum = all(0.0f);
        for (std::int64_t s = 0; s < inner; ++s) {
          const Packet x = padd(all(q[s]), load(scratch + s * kWidth, Full{}));
          sum = pmadd(all(m.v[e + s]), simd::tanh(x), sum);
        }
        for_packets(columns, [&](std::int64_t, auto extent) {
          float* out = m.scores + i * m.keys + j;
          store(out, e == 0 ? sum : padd(load(out, extent), sum), extent);
        });
      }
    }
  }
}

}  // namespace headlight::kernels
