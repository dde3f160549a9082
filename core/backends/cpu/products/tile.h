// Register tiles: a few rows and packets of C whose sums stay in registers while a block of the
// summed axis runs past them. Only kernels_*.cpp should include it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/simd.h"

namespace headlight::kernels {

// A tile wants rows · packets sums, one B register for each packet, and one for A. Narrow tiles
// have more rows: fewer sums than 24 (12 where there are 16 registers) would wait for each other.
inline constexpr bool kManyRegisters = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32;
inline constexpr int kTilePackets = 3;
inline constexpr int kMaxRows = kManyRegisters ? 16 : 12;
constexpr int rows_of_tile(std::int64_t packets) {
  return std::min(kMaxRows, (kManyRegisters ? 24 : 12) / static_cast<int>(packets));
}

// Memory to bring into the caches while a tile is computed: so many cache lines of a row, each time
// after so many steps of the summed axis.
struct Ahead {
  const float* row = nullptr;
  std::int64_t stride = 0;
  int lines = 0, every = 0;
};

inline constexpr int kLineFloats = 16;  // of a cache line

struct Tile {
  const float* a;
  std::int64_t a_stride, a_step;  // from row to row, along the summed axis
  const float* b;
  std::int64_t b_stride;
  const float* bias;  // null when there is none, or when this is not the first block
  float* c;
  std::int64_t c_stride;
  std::int64_t inner;
  float* packed;  // where B's rows are copied to meanwhile, one after the other
  Ahead ahead;
  bool first;      // C is written, not added to
  bool continues;  // the sums begin with C
  int last_count;  // columns of the last packet that are inside C
};

using TileFunction = void (*)(const Tile&);
using TileTable = std::array<TileFunction, static_cast<std::size_t>(kMaxRows* kTilePackets)>;
/// One function for each size of tile, at [(rows - 1) · kTilePackets + packets - 1]; null where a
/// tile would want too many registers. The second kind copies B to Tile::packed on its way.
extern const TileTable kTiles, kPackingTiles;

inline std::size_t tile_place(std::int64_t rows, std::int64_t packets) {
  return static_cast<std::size_t>((rows - 1) * kTilePackets + packets - 1);
}

/// n things in `parts` parts as even as can be: where part i begins.
constexpr std::int64_t part_begin(std::int64_t n, std::int64_t parts, std::int64_t i) {
  return n / parts * i + std::min(i, n % parts);
}

/// Parts of `most` things.
constexpr std::int64_t parts_of(std::int64_t n, std::int64_t most) { return (n + most - 1) / most; }

}  // namespace headlight::kernels
