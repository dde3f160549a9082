// Products of one row, as one more token asks for: nothing of B is read twice, so that they take as
// long as reading B does. Cells are summed in the order in which tiles sum them.
#include <algorithm>
#include <array>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/products/panel.h"
#include "core/backends/cpu/simd.h"

namespace headlight::kernels {
namespace {

using namespace simd;

constexpr int kTogether = 8;           // rows of B
constexpr std::int64_t kAhead = 6144;  // floats of B that are fetched before they are needed
// Columns whose sums stay in the first-level cache.
constexpr std::int64_t kStripe = 4096;
static_assert(kStripe <= kScratchFloats);

// What the sum of part i becomes in C.
template <class Extent>
void finish(const Product& m, std::int64_t i, std::int64_t column, Packet sum, Extent extent) {
  float* c = m.c + column;
  if (i > 0 || (m.adds && !m.continues)) {
    sum = padd(load(c, extent), sum);
  } else if (m.bias) {
    sum = padd(sum, load(m.bias + column, extent));
  }
  store(c, sum, extent);
}

// What part i begins with.
template <class Extent>
Packet start(const Product& m, std::int64_t column, Extent extent) {
  return m.continues ? load(m.c + column, extent) : all(0.0f);
}

// sums += the terms of `count` rows of B from row k on.
template <int count>
void add_rows(const Product& m, std::int64_t k, std::int64_t begin, std::int64_t columns,
              float* sums) {
  const float* b = m.b + k * m.b_stride + begin;
  const std::int64_t ahead = parts_of(kAhead, count * columns) * count * m.b_stride;
  const std::int64_t step = m.a_transposed ? m.a_stride : 1;
  Packet x[count];
  for (int i = 0; i < count; ++i) x[i] = all(m.a[(k + i) * step]);
  for_packets(columns, [&](std::int64_t c, auto extent) {
    Packet sum = load(sums + c, Full{});
    for (int i = 0; i < count; ++i) {
      const float* cells = b + i * m.b_stride + c;
      __builtin_prefetch(cells + ahead, 0, 2);
      sum = pmadd(x[i], load(cells, extent), sum);
    }
    store(sums + c, sum, Full{});
  });
}

// Few columns, in whole packets: their sums stay in registers.
template <int packets>
void multiply_few_columns_of(const Product& m, std::int64_t part) {
  const std::int64_t step = m.a_transposed ? m.a_stride : 1;
  std::int64_t k = sum_part_begin(m.inner, part);
  const std::int64_t end = sum_part_begin(m.inner, part + 1);
  const std::int64_t ahead = parts_of(kAhead, m.columns) * m.b_stride;
  Packet sum[packets];
  for (int p = 0; p < packets; ++p) sum[p] = start(m, p * kWidth, Full{});
  for (const float* b = m.b + k * m.b_stride; k < end; ++k, b += m.b_stride) {
    const Packet x = all(m.a[k * step]);
    for (int p = 0; p < packets; ++p) {
      __builtin_prefetch(b + ahead + p * kWidth, 0, 2);
      sum[p] = pmadd(x, load(b + p * kWidth, Full{}), sum[p]);
    }
  }
  for (int p = 0; p < packets; ++p) finish(m, part, p * kWidth, sum[p], Full{});
}

// At [packets - 1].
constexpr std::array kFewColumns = {multiply_few_columns_of<1>, multiply_few_columns_of<2>,
                                    multiply_few_columns_of<3>, multiply_few_columns_of<4>,
                                    multiply_few_columns_of<5>, multiply_few_columns_of<6>,
                                    multiply_few_columns_of<7>, multiply_few_columns_of<8>};

void multiply_rows_of(const Product& m, std::int64_t part, float* sums) {
  const std::int64_t end = sum_part_begin(m.inner, part + 1);
  for (std::int64_t j = 0; j < m.columns; j += kStripe) {
    const std::int64_t columns = std::min(kStripe, m.columns - j);
    for_packets(columns, [&](std::int64_t c, auto extent) {
      store(sums + c, start(m, j + c, extent), Full{});
    });
    std::int64_t k = sum_part_begin(m.inner, part);
    for (; k + kTogether <= end; k += kTogether) add_rows<kTogether>(m, k, j, columns, sums);
    for (; k < end; ++k) add_rows<1>(m, k, j, columns, sums);
    for_packets(columns, [&](std::int64_t c, auto extent) {
      finish(m, part, j + c, load(sums + c, Full{}), extent);
    });
  }
}

// The same with B transposed: squares of it are turned in registers.
template <class Extent>
void multiply_columns_of(const Product& m, std::int64_t j, std::int64_t part, Extent extent) {
  const std::int64_t step = m.a_transposed ? m.a_stride : 1;
  const std::int64_t last = std::min<std::int64_t>(kWidth, m.columns - j) - 1;
  const std::int64_t end = sum_part_begin(m.inner, part + 1);
  Packet sum = start(m, j, extent);
  for (std::int64_t k = sum_part_begin(m.inner, part); k < end; k += kWidth) {
    const auto count = static_cast<int>(std::min<std::int64_t>(kWidth, end - k));
    Square square;
    for (int s = 0; s < kWidth; ++s) {
      // Past the last column: anything.
      const float* cells = m.b + (j + std::min<std::int64_t>(s, last)) * m.b_stride + k;
      square.packet[s] = count == kWidth ? load(cells, Full{}) : load(cells, Part{count});
      __builtin_prefetch(cells + kWidth * m.b_stride, 0, 2);
    }
    packet::ptranspose(square);
    for (int s = 0; s < count; ++s) sum = pmadd(all(m.a[(k + s) * step]), square.packet[s], sum);
  }
  finish(m, part, j, sum, extent);
}

}  // namespace

void multiply_row(const Product& m, float* scratch) {
  const std::int64_t parts = sum_parts(m.inner);
  if (!m.b_transposed) {
    const bool few = m.columns % kWidth == 0 && m.columns <= std::ssize(kFewColumns) * kWidth;
    for (std::int64_t part = 0; part < parts; ++part) {
      if (few) {
        kFewColumns[static_cast<std::size_t>(m.columns / kWidth - 1)](m, part);
      } else {
        multiply_rows_of(m, part, scratch);
      }
    }
    return;
  }
  for_packets(m.columns, [&](std::int64_t j, auto extent) {
    for (std::int64_t part = 0; part < parts; ++part) multiply_columns_of(m, j, part, extent);
  });
}

}  // namespace headlight::kernels
