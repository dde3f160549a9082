// Products cut into panels: some columns of C, and one block of the summed axis after the other. B
// is copied into the order in which the tiles read it, once for each block, so that weights stream
// from memory exactly once for all rows of a call. Only kernels_*.cpp should include it.
#pragma once

#include "core/backends/cpu/products/tile.h"

namespace headlight::kernels {

inline constexpr std::int64_t kPanelColumns = kPieceTiles * kTilePackets * simd::kWidth;
// Summed cells in a block: a packed tile (36 kB with AVX-512) and the rows of A that meet it (6 kB)
// fit into a first-level cache of 48 kB. Each block's sum is added to C on its own, which also
// keeps rounding errors small when thousands are summed. 128 and 256 measured 2 to 4 % slower.
inline constexpr std::int64_t kBlock = 192;
// A block of B of no more cells is read where it lies: a first-level cache holds it beside the rows
// of A.
inline constexpr std::int64_t kDenseCells = 8192;
// Rows whose cells of a block stay in the second-level cache beside a panel of B.
inline constexpr std::int64_t kChunkRows = 256;
/// Floats of scratch memory that a panel takes.
inline constexpr std::int64_t kPanelScratch = kBlock * kPanelColumns;
static_assert(kPanelScratch <= kScratchFloats);

/// Any product, by panels.
void multiply_panels(const Product&, float* scratch);
/// Products of one row.
void multiply_row(const Product&, float* scratch);

/// Copies rows [k, k + inner) of columns [j, j + columns) of B, which is transposed, so that they
/// lie in rows of `width`; columns past the end become 0. By squares of packets.
void pack_columns(const Product&, std::int64_t k, std::int64_t inner, std::int64_t j,
                  std::int64_t columns, std::int64_t width, float* out);

/// With B transposed, few rows of A and many of B, turning A costs less than turning B: Cᵀ = B · Aᵀ
/// is computed by chunks of B, each turned back. Sums run in the same order, so bits are the same.
bool is_turned(const Product&);
void multiply_turned(const Product&, float* scratch);
/// Columns worth one call of multiply_turned().
std::int64_t turned_columns(const Product&);

}  // namespace headlight::kernels
