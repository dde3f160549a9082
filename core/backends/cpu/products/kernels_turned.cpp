#include <algorithm>

#include "core/backends/cpu/products/panel.h"

namespace headlight::kernels {
namespace {

using namespace simd;

constexpr std::int64_t kTurnedRows = 128;  // no product of more rows is turned
constexpr std::int64_t kTurnedCells = kTurnedRows * kChunkRows;  // of C, behind the panel's
static_assert(kPanelScratch + kTurnedCells <= kScratchFloats);

std::int64_t turned_stride(const Product& m) { return parts_of(m.rows, kWidth) * kWidth; }

// Columns [j, j + columns) of C from `turned`, in whose rows they lie.
void turn_back(const float* turned, std::int64_t stride, const Product& m, std::int64_t j,
               std::int64_t columns) {
  for (std::int64_t i = 0; i < m.rows; i += kWidth) {
    for_packets(columns, [&](std::int64_t c, auto extent) {
      Square square;
      for (int s = 0; s < kWidth; ++s) {
        const std::int64_t row = std::min(c + s, columns - 1);  // past the end: anything
        square.packet[s] = load(turned + row * stride + i, Full{});
      }
      packet::ptranspose(square);
      const std::int64_t count = std::min<std::int64_t>(kWidth, m.rows - i);
      for (int s = 0; s < count; ++s) {
        store(m.c + (i + s) * m.c_stride + j + c, square.packet[s], extent);
      }
    });
  }
}

}  // namespace

bool is_turned(const Product& m) {
  return m.b_transposed && !m.a_transposed && !m.bias && !m.adds && !m.continues &&
         m.rows <= kTurnedRows && m.columns >= 2 * m.rows;
}

std::int64_t turned_columns(const Product& m) { return kTurnedCells / turned_stride(m); }

void multiply_turned(const Product& m, float* scratch) {
  float* c = scratch + kPanelScratch;
  const std::int64_t stride = turned_stride(m);
  const std::int64_t chunk = turned_columns(m);
  for (std::int64_t j = 0; j < m.columns; j += chunk) {
    const std::int64_t columns = std::min(chunk, m.columns - j);
    Product part;
    part.a = m.b + j * m.b_stride;
    part.a_stride = m.b_stride;
    part.b = m.a;
    part.b_stride = m.a_stride;
    part.b_transposed = true;
    part.c = c;
    part.c_stride = stride;
    part.rows = columns;
    part.columns = m.rows;
    part.inner = m.inner;
    multiply_panels(part, scratch);
    turn_back(c, stride, m, j, columns);
  }
}

}  // namespace headlight::kernels
