#include <algorithm>

#include "core/backends/cpu/products/panel.h"

namespace headlight::kernels {
namespace {

using namespace simd;

// The first row parts each fetch their share of the next block of B.
constexpr int kFetchParts = 8;
// A or B of so many floats is not in the second-level cache yet.
constexpr std::int64_t kFarFloats = 1 << 18, kFarWeights = 1 << 15;

// The tiles of some columns of C, and one block of the summed axis.
class Panel {
 public:
  Panel(const Product& m, std::int64_t j, std::int64_t columns, float* scratch)
      : m_(m), j_(j), columns_(columns), scratch_(scratch) {
    const std::int64_t packets = parts_of(columns, kWidth);
    tiles_ = parts_of(packets, kTilePackets);
    for (std::int64_t t = 0; t <= tiles_; ++t) begin_[t] = part_begin(packets, tiles_, t) * kWidth;
    row_parts_ = parts_of(m.rows, rows_of_tile(begin_[1] / kWidth));
    rows_of_part_ = m.rows / row_parts_;
    longer_parts_ = m.rows % row_parts_;
    fetches_b_ = !m.b_transposed && m.inner * m.b_stride >= kFarWeights;
    next_panel_ = j + kPanelColumns < m.columns ? m.b + j + kPanelColumns : m.b_next;
    fetches_a_ = !m.a_transposed && m.rows * m.a_stride >= kFarFloats;
  }

  void add_block(std::int64_t k, std::int64_t inner) {
    prepare(k, inner);
    // A tile's columns of B stay in the first-level cache for all row parts of a chunk, whose rows
    // of A stay in the second-level cache for all tiles.
    const std::int64_t chunk =
        std::max<std::int64_t>(1, kChunkRows / parts_of(m_.rows, row_parts_));
    for (std::int64_t from = 0; from < row_parts_; from += chunk) {
      const std::int64_t to = std::min(row_parts_, from + chunk);
      for (std::int64_t t = 0; t < tiles_; ++t) multiply_rows(t, from, to, k, inner);
    }
  }

 private:
  // Where the tiles find their columns of B.
  void prepare(std::int64_t k, std::int64_t inner) {
    // They are read where they lie when that is as good: dense, or read only once.
    const bool direct = !m_.b_transposed && columns_ % kWidth == 0 &&
                        (row_parts_ == 1 || inner * m_.b_stride <= kDenseCells);
    for (std::int64_t t = 0; t < tiles_; ++t) {
      const std::int64_t begin = begin_[t], width = begin_[t + 1] - begin;
      const std::int64_t columns = std::min(width, columns_ - begin);
      float* copy = scratch_ + begin * kBlock;
      const float* b = m_.b + k * m_.b_stride + j_ + begin;
      // Whole packets are copied by the first tile that reads them, which costs next to nothing.
      packs_[t] = !direct && !m_.b_transposed && columns == width;
      b_[t] = direct || packs_[t] ? b : copy;
      b_stride_[t] = direct || packs_[t] ? m_.b_stride : width;
      if (m_.b_transposed) {
        pack_columns(m_, k, inner, j_ + begin, columns, width, copy);
      } else if (b_[t] == copy) {
        pack_rows(b, inner, columns, width, copy);
      }
    }
  }

  // Copies rows of B so that a tile's columns lie in rows of their own; columns past the end
  // become 0.
  void pack_rows(const float* b, std::int64_t inner, std::int64_t columns, std::int64_t width,
                 float* out) const {
    for (std::int64_t i = 0; i < inner; ++i, b += m_.b_stride, out += width) {
      for_packets(columns, [&](std::int64_t c, auto extent) {
        store(out + c, load(b + c, extent), Full{});
      });
    }
  }

  std::int64_t row_begin(std::int64_t part) const {
    return rows_of_part_ * part + std::min(part, longer_parts_);
  }

  // Row parts [from, to) of one tile's columns.
  void multiply_rows(std::int64_t t, std::int64_t from, std::int64_t to, std::int64_t k,
                     std::int64_t inner) {
    const std::int64_t begin = begin_[t], end = begin_[t + 1], j = j_ + begin;
    Tile tile;
    tile.a_stride = m_.a_transposed ? 1 : m_.a_stride;
    tile.a_step = m_.a_transposed ? m_.a_stride : 1;
    tile.bias = m_.bias ? m_.bias + j : nullptr;
    tile.c_stride = m_.c_stride;
    tile.inner = inner;
    tile.continues = m_.continues;
    tile.first = k == 0 && (!m_.adds || m_.continues);
    tile.last_count = static_cast<int>(std::min(end, columns_) - end + kWidth);
    for (std::int64_t part = from; part < to; ++part) {
      const std::int64_t row = row_begin(part), rows = row_begin(part + 1) - row;
      tile.a = m_.a + row * tile.a_stride + k * tile.a_step;
      tile.b = b_[t];
      tile.b_stride = b_stride_[t];
      tile.c = m_.c + row * m_.c_stride + j;
      tile.ahead = ahead(t, part, k, inner, tile);
      const std::size_t size = tile_place(rows, (end - begin) / kWidth);
      if (!packs_[t]) {
        kTiles[size](tile);
        continue;
      }
      tile.packed = scratch_ + begin * kBlock;
      kPackingTiles[size](tile);
      b_[t] = tile.packed;
      b_stride_[t] = end - begin;
      packs_[t] = false;
    }
  }

  // The first row parts each bring their share of what the next tile will read of B into the cache:
  // only that tile's, as more would push itself out of the few places that rows far apart have.
  // Else the first tiles of a row part bring the next part's rows of A. With the whole
  // next block in place of the next tile's share, 12 layers take an eighth longer on one thread.
  Ahead ahead(std::int64_t t, std::int64_t part, std::int64_t k, std::int64_t inner,
              const Tile& tile) const {
    if (fetches_b_ && part < kFetchParts) {
      const bool last = t + 1 == tiles_;
      const float* b = m_.b + k * m_.b_stride + j_;
      if (last) b = k + inner < m_.inner ? b + inner * m_.b_stride : next_panel_;
      if (!b) return {};
      const std::int64_t next = last ? 0 : t + 1, rows = inner / kFetchParts;
      return {.row = b + part * rows * m_.b_stride + begin_[next],
              .stride = m_.b_stride,
              .lines = static_cast<int>(parts_of(begin_[next + 1] - begin_[next], kLineFloats)),
              .every = kFetchParts};
    }
    if (t > 0 || part + 1 == row_parts_ || !fetches_a_) return {};
    const std::int64_t rows = row_begin(part + 1) - row_begin(part);
    return {.row = tile.a + rows * m_.a_stride,
            .stride = m_.a_stride,
            .lines = static_cast<int>(parts_of(inner, kLineFloats)),
            .every = static_cast<int>(parts_of(inner, rows))};
  }

  const Product& m_;
  std::int64_t j_, columns_, tiles_ = 0;
  std::int64_t row_parts_ = 0, rows_of_part_ = 0, longer_parts_ = 0;  // the first are a row longer
  float* scratch_;
  std::int64_t begin_[kPieceTiles + 1] = {};  // the tiles' first columns
  const float* next_panel_ = nullptr;
  const float* b_[kPieceTiles] = {};
  std::int64_t b_stride_[kPieceTiles] = {};
  bool packs_[kPieceTiles] = {};  // the next tile copies its columns of B
  bool fetches_a_ = false, fetches_b_ = false;
};

}  // namespace

void pack_columns(const Product& m, std::int64_t k, std::int64_t inner, std::int64_t j,
                  std::int64_t columns, std::int64_t width, float* out) {
  for (std::int64_t c = 0; c < columns; c += kWidth) {
    for_packets(inner, [&](std::int64_t i, auto extent) {
      Square square;
      for (int s = 0; s < kWidth; ++s) {
        const bool inside = c + s < columns;
        square.packet[s] =
            inside ? load(m.b + (j + c + s) * m.b_stride + k + i, extent) : all(0.0f);
      }
      packet::ptranspose(square);
      const std::int64_t count = std::min<std::int64_t>(kWidth, inner - i);
      for (int s = 0; s < count; ++s) store(out + (i + s) * width + c, square.packet[s], Full{});
    });
  }
}

void multiply_panels(const Product& m, float* scratch) {
  for (std::int64_t j = 0; j < m.columns; j += kPanelColumns) {
    Panel panel(m, j, std::min(kPanelColumns, m.columns - j), scratch);
    for (std::int64_t i = 0; i < sum_parts(m.inner); ++i) {
      const std::int64_t k = sum_part_begin(m.inner, i);
      panel.add_block(k, sum_part_begin(m.inner, i + 1) - k);
    }
  }
}

}  // namespace headlight::kernels
