// Products of matrices in register tiles: a tile of C stays in registers while a block of the
// summed axis runs past it. B is copied beforehand into the order in which the tiles read it, once
// for each block, so that weights stream from memory exactly once for up to kPieceRows rows.
#include <algorithm>
#include <array>
#include <utility>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/simd.h"

namespace headlight::kernels {
namespace {

using namespace simd;

// A tile wants rows · packets sums, one B register for each packet, and one for A. Narrow tiles
// have more rows: fewer sums than 24 (12 where there are 16 registers) would wait for each other.
constexpr bool kManyRegisters = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32;
constexpr int kTilePackets = 3;
constexpr int kMaxRows = kManyRegisters ? 16 : 12;
constexpr int rows_of_tile(std::int64_t packets) {
  return std::min(kMaxRows, (kManyRegisters ? 24 : 12) / static_cast<int>(packets));
}
constexpr std::int64_t kPanelColumns = kPieceTiles * kTilePackets * kWidth;

// Summed cells in a block: a packed tile (36 kB with AVX-512) and the rows of A that meet it (6 kB)
// fit into a first-level cache of 48 kB. Each block's sum is added to C on its own, which also
// keeps rounding errors small when thousands are summed. 128 and 256 measured 2 to 4 % slower.
constexpr std::int64_t kBlock = 192;
// Rows of B that lie no further apart are read where they are: the caches hold a tile's block of
// them about as well as a copy.
constexpr std::int64_t kDenseStride = 128;
// Steps of the summed axis between two rows fetched ahead.
constexpr int kFetchEvery = 8;
static_assert(kBlock * kPanelColumns <= kScratchFloats);

struct Tile {
  const float* a;
  std::int64_t a_stride, a_step;  // from row to row, along the summed axis
  const float* b;
  std::int64_t b_stride;
  const float* bias;  // null when there is none, or when this is not the first block
  float* c;
  std::int64_t c_stride;
  std::int64_t inner;
  const float* ahead;  // memory to fetch meanwhile, a row for every kFetchEvery steps
  std::int64_t ahead_stride;
  bool first;      // C is written, not added to
  bool continues;  // the sums begin with C
  int last_count;  // columns of the last packet that are inside C
};

template <class Extent>
inline void finish(const Tile& t, int row, int p, Packet sum, Extent extent) {
  float* c = t.c + row * t.c_stride + p * kWidth;
  if (!t.first) {
    sum = padd(load(c, extent), sum);
  } else if (t.bias) {
    sum = padd(sum, load(t.bias + p * kWidth, extent));
  }
  store(c, sum, extent);
}

// Loops over registers must leave no index at run time, or the registers are kept in memory.
#if defined(__clang__)
#define HEADLIGHT_UNROLLED _Pragma("unroll")
#else
#define HEADLIGHT_UNROLLED _Pragma("GCC unroll 16")
#endif

template <int rows, int packets>
void multiply_tile(const Tile& t) {
  Packet sum[rows][packets];
  HEADLIGHT_UNROLLED for (int r = 0; r < rows; ++r) {
    HEADLIGHT_UNROLLED for (int p = 0; p < packets; ++p) sum[r][p] = all(0.0f);
  }
  if (t.continues) {
    HEADLIGHT_UNROLLED for (int r = 0; r < rows; ++r) {
      HEADLIGHT_UNROLLED for (int p = 0; p < packets; ++p) {
        const float* c = t.c + r * t.c_stride + p * kWidth;
        const bool whole = p + 1 < packets || t.last_count == kWidth;
        sum[r][p] = whole ? load(c, Full{}) : load(c, Part{t.last_count});
      }
    }
  }
  const float* a = t.a;
  const float* b = t.b;
  const float* ahead = t.ahead;
  for (std::int64_t k = 0; k < t.inner; ++k, a += t.a_step, b += t.b_stride) {
    if (k % kFetchEvery == 0) {
      for (int p = 0; p < packets; ++p) __builtin_prefetch(ahead + p * kWidth, 0, 2);
      ahead += t.ahead_stride;
    }
    Packet column[packets];
    HEADLIGHT_UNROLLED for (int p = 0; p < packets; ++p) column[p] = load(b + p * kWidth, Full{});
    HEADLIGHT_UNROLLED for (int r = 0; r < rows; ++r) {
      const Packet x = all(a[r * t.a_stride]);
      HEADLIGHT_UNROLLED for (int p = 0; p < packets; ++p) {
        sum[r][p] = pmadd(x, column[p], sum[r][p]);
      }
    }
  }
  HEADLIGHT_UNROLLED for (int r = 0; r < rows; ++r) {
    HEADLIGHT_UNROLLED for (int p = 0; p < packets; ++p) {
      if (p + 1 < packets || t.last_count == kWidth) {
        finish(t, r, p, sum[r][p], Full{});
      } else {
        finish(t, r, p, sum[r][p], Part{t.last_count});
      }
    }
  }
}

#undef HEADLIGHT_UNROLLED

using TileFunction = void (*)(const Tile&);

template <int rows, int packets>
constexpr TileFunction tile_function() {
  if constexpr (rows <= rows_of_tile(packets)) {
    return multiply_tile<rows, packets>;
  } else {
    return nullptr;
  }
}

// One function for each size of tile, at [rows - 1][packets - 1].
template <int... sizes>
constexpr auto make_tile_table(std::integer_sequence<int, sizes...>) {
  return std::array<TileFunction, sizeof...(sizes)>{
      tile_function<sizes / kTilePackets + 1, sizes % kTilePackets + 1>()...};
}
constexpr auto kTiles = make_tile_table(std::make_integer_sequence<int, kMaxRows * kTilePackets>{});

// n things in `parts` parts as even as can be: where part i begins.
constexpr std::int64_t part_begin(std::int64_t n, std::int64_t parts, std::int64_t i) {
  return n / parts * i + std::min(i, n % parts);
}

constexpr std::int64_t parts_of(std::int64_t n, std::int64_t most) { return (n + most - 1) / most; }

// Copies rows [k, k + inner) of columns [j, j + columns) of B, which is transposed, so that one
// tile's columns lie in rows of `width`; columns past the end become 0. By squares of packets.
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

// The tiles of some columns of C, and one block of the summed axis.
class Panel {
 public:
  Panel(const Product& m, std::int64_t j, std::int64_t columns, float* scratch)
      : m_(m), j_(j), columns_(columns), scratch_(scratch) {
    const std::int64_t packets = parts_of(columns, kWidth);
    tiles_ = parts_of(packets, kTilePackets);
    for (std::int64_t t = 0; t <= tiles_; ++t) begin_[t] = part_begin(packets, tiles_, t) * kWidth;
    row_parts_ = parts_of(m.rows, rows_of_tile(begin_[1] / kWidth));
  }

  void add_block(std::int64_t k, std::int64_t inner) {
    prepare(k, inner);
    const std::int64_t rows = m_.rows / row_parts_, more = m_.rows % row_parts_;
    std::int64_t row = 0;
    for (std::int64_t part = 0; part < row_parts_; ++part) {
      const std::int64_t count = rows + (part < more);
      for (std::int64_t t = 0; t < tiles_; ++t) multiply_rows(t, part, row, count, k, inner);
      row += count;
    }
  }

 private:
  // Where the tiles find their columns of B.
  void prepare(std::int64_t k, std::int64_t inner) {
    // They are read where they lie when that is as good: dense, or read only once.
    const bool direct = !m_.b_transposed && columns_ % kWidth == 0 &&
                        (row_parts_ == 1 || m_.b_stride <= kDenseStride);
    for (std::int64_t t = 0; t < tiles_; ++t) {
      const std::int64_t begin = begin_[t], width = begin_[t + 1] - begin;
      float* copy = scratch_ + begin * kBlock;
      b_[t] = direct ? m_.b + k * m_.b_stride + j_ + begin : copy;
      b_stride_[t] = direct ? m_.b_stride : width;
      if (!m_.b_transposed) continue;
      pack_columns(m_, k, inner, j_ + begin, std::min(width, columns_ - begin), width, copy);
    }
    if (!direct && !m_.b_transposed) pack_rows(k, inner);
  }

  // Copies rows [k, k + inner) of B so that each tile's columns lie in rows of their own; columns
  // past the end become 0.
  void pack_rows(std::int64_t k, std::int64_t inner) {
    for (std::int64_t t = 0; t < tiles_; ++t) {
      const std::int64_t begin = begin_[t], width = begin_[t + 1] - begin;
      const std::int64_t columns = std::min(width, columns_ - begin);
      const float* b = m_.b + k * m_.b_stride + j_ + begin;
      float* out = scratch_ + begin * kBlock;
      if (columns == 3 * kWidth) {
        pack_packets<3>(b, inner, out);
      } else if (columns == 2 * kWidth) {
        pack_packets<2>(b, inner, out);
      } else {
        for (std::int64_t i = 0; i < inner; ++i, b += m_.b_stride, out += width) {
          for_packets(columns, [&](std::int64_t c, auto extent) {
            store(out + c, load(b + c, extent), Full{});
          });
        }
      }
    }
  }

  // A loop that knows its packets: with one that asks, packing took a tenth of a training step.
  template <int packets>
  void pack_packets(const float* b, std::int64_t inner, float* out) const {
    for (std::int64_t i = 0; i < inner; ++i, b += m_.b_stride, out += packets * kWidth) {
      for (int p = 0; p < packets; ++p)
        store(out + p * kWidth, load(b + p * kWidth, Full{}), Full{});
    }
  }

  void multiply_rows(std::int64_t t, std::int64_t part, std::int64_t row, std::int64_t rows,
                     std::int64_t k, std::int64_t inner) const {
    const std::int64_t begin = begin_[t], end = begin_[t + 1], j = j_ + begin;
    Tile tile;
    tile.a_stride = m_.a_transposed ? 1 : m_.a_stride;
    tile.a_step = m_.a_transposed ? m_.a_stride : 1;
    tile.a = m_.a + row * tile.a_stride + k * tile.a_step;
    tile.b = b_[t];
    tile.b_stride = b_stride_[t];
    tile.bias = m_.bias ? m_.bias + j : nullptr;
    tile.c = m_.c + row * m_.c_stride + j;
    tile.c_stride = m_.c_stride;
    tile.inner = inner;
    fetch_ahead(t, part, k, inner, tile);
    tile.continues = m_.continues;
    tile.first = k == 0 && (!m_.adds || m_.continues);
    tile.last_count = static_cast<int>(std::min(end, columns_) - end + kWidth);
    kTiles[static_cast<std::size_t>((rows - 1) * kTilePackets + (end - begin) / kWidth - 1)](tile);
  }

  // The first rows of tiles each bring their share of the next block of B into the cache. Without
  // it one core waits for weights a tenth of the time.
  void fetch_ahead(std::int64_t t, std::int64_t part, std::int64_t k, std::int64_t inner,
                   Tile& tile) const {
    const std::int64_t share = inner / kFetchEvery;
    const std::int64_t next = k + inner + part * share;
    const bool packed = b_stride_[t] != m_.b_stride && !m_.b_transposed;
    if (packed && part < kFetchEvery && next + share <= m_.inner) {
      tile.ahead = m_.b + next * m_.b_stride + j_ + begin_[t];
      tile.ahead_stride = m_.b_stride;
    } else {
      tile.ahead = tile.b;  // costs nothing: it is there already
      tile.ahead_stride = 0;
    }
  }

  const Product& m_;
  std::int64_t j_, columns_, tiles_ = 0, row_parts_ = 0;
  float* scratch_;
  std::int64_t begin_[kPieceTiles + 1] = {};  // the tiles' first columns
  const float* b_[kPieceTiles] = {};
  std::int64_t b_stride_[kPieceTiles] = {};
};

// One tile wide, one block deep, and B read where it lies: the products of attention, so small that
// planning a panel would take as long as they do.
bool is_narrow(const Product& m) {
  return !m.b_transposed && m.columns % kWidth == 0 && m.columns <= kTilePackets * kWidth &&
         m.columns > 0 && m.inner <= kBlock && m.inner > 0 &&
         (m.rows <= rows_of_tile(m.columns / kWidth) || m.b_stride <= kDenseStride);
}

void multiply_narrow(const Product& m) {
  Tile tile;
  tile.a_stride = m.a_transposed ? 1 : m.a_stride;
  tile.a_step = m.a_transposed ? m.a_stride : 1;
  tile.a = m.a;
  tile.b = tile.ahead = m.b;
  tile.b_stride = m.b_stride;
  tile.ahead_stride = 0;
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
    kTiles[(n - 1) * kTilePackets + static_cast<unsigned>(packets) - 1](tile);
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

void multiply(const Product& m, float* scratch) {
  if (m.rows <= 0) return;
  if (is_narrow(m)) return multiply_narrow(m);
  for (std::int64_t j = 0; j < m.columns; j += kPanelColumns) {
    Panel panel(m, j, std::min(kPanelColumns, m.columns - j), scratch);
    for (std::int64_t i = 0; i < sum_parts(m.inner); ++i) {
      const std::int64_t k = sum_part_begin(m.inner, i);
      panel.add_block(k, sum_part_begin(m.inner, i + 1) - k);
    }
  }
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
