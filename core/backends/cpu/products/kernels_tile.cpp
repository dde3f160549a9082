#include <utility>

#include "core/backends/cpu/products/tile.h"

namespace headlight::kernels {
namespace {

using namespace simd;

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

template <int rows, int packets, bool packs>
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
  float* packed = t.packed;
  const float* ahead = t.ahead.row;
  std::int64_t fetch = t.ahead.lines == 0 ? -1 : 0;
  for (std::int64_t k = 0; k < t.inner; ++k, a += t.a_step, b += t.b_stride) {
    if (k == fetch) {
      for (int i = 0; i < t.ahead.lines; ++i) __builtin_prefetch(ahead + i * kLineFloats, 0, 2);
      ahead += t.ahead.stride;
      fetch += t.ahead.every;
    }
    Packet column[packets];
    HEADLIGHT_UNROLLED for (int p = 0; p < packets; ++p) column[p] = load(b + p * kWidth, Full{});
    if constexpr (packs) {
      HEADLIGHT_UNROLLED for (int p = 0; p < packets; ++p) {
        store(packed + p * kWidth, column[p], Full{});
      }
      packed += packets * kWidth;
    }
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

template <int rows, int packets, bool packs>
constexpr TileFunction tile_function() {
  if constexpr (rows <= rows_of_tile(packets)) {
    return multiply_tile<rows, packets, packs>;
  } else {
    return nullptr;
  }
}

template <bool packs, int... sizes>
constexpr TileTable make_tile_table(std::integer_sequence<int, sizes...>) {
  return {tile_function<sizes / kTilePackets + 1, sizes % kTilePackets + 1, packs>()...};
}
using TileSizes = std::make_integer_sequence<int, kMaxRows * kTilePackets>;

}  // namespace

constexpr TileTable kTiles = make_tile_table<false>(TileSizes{});
constexpr TileTable kPackingTiles = make_tile_table<true>(TileSizes{});

}  // namespace headlight::kernels
