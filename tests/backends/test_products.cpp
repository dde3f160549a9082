// The processor's products by themselves: every way to compute one against sums in double, at all
// remainders of tiles, packets, blocks and chunks, and cut anywhere to the same bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/backends/cpu/kernels.h"
#include "core/base/random.h"
#include "core/base/tensor.h"

namespace headlight {
namespace {

using kernels::Product;

struct Shape {
  std::int64_t rows, columns, inner;
  bool a_transposed = false, b_transposed = false, bias = false, adds = false, continues = false;
};

// A product with memory of its own; rows lie a little further apart than they are long, and what
// lies between and behind them is not C's.
struct Case {
  static constexpr float kNotMine = 12345.0f;
  Shape shape;
  FloatBuffer a, b, bias, before, c, scratch;
  Product product;

  explicit Case(const Shape& s, std::int64_t gap = 3) : shape(s) {
    const std::int64_t a_rows = s.a_transposed ? s.inner : s.rows;
    const std::int64_t b_rows = s.b_transposed ? s.columns : s.inner;
    product.a_stride = (s.a_transposed ? s.rows : s.inner) + gap;
    product.b_stride = (s.b_transposed ? s.inner : s.columns) + gap;
    product.c_stride = s.columns + gap;
    fill(a, a_rows * product.a_stride, 1);
    fill(b, b_rows * product.b_stride, 2);
    fill(bias, s.columns, 3);
    fill(before, s.rows * product.c_stride, 4);
    for (std::int64_t i = 0; i < s.rows * product.c_stride; ++i) {
      if (i % product.c_stride >= s.columns) before[static_cast<std::size_t>(i)] = kNotMine;
    }
    scratch.resize(static_cast<std::size_t>(kernels::kScratchFloats));
    product.a = a.data();
    product.b = b.data();
    product.a_transposed = s.a_transposed;
    product.b_transposed = s.b_transposed;
    product.adds = s.adds;
    product.continues = s.continues;
    product.bias = s.bias ? bias.data() : nullptr;
    product.rows = s.rows;
    product.columns = s.columns;
    product.inner = s.inner;
    start();
  }

  void start() {
    c = before;
    product.c = c.data();
  }

  static void fill(FloatBuffer& cells, std::int64_t n, std::uint64_t seed) {
    cells.resize(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < cells.size(); ++i)
      cells[i] = static_cast<float>(scatter(i * 8 + seed) % 2001) * 0.001f - 1.0f;
  }

  double expected(std::int64_t r, std::int64_t j) const {
    const Product& m = product;
    const auto at = [](const FloatBuffer& x, std::int64_t i) {
      return static_cast<double>(x[static_cast<std::size_t>(i)]);
    };
    double sum = m.adds || m.continues ? at(before, r * m.c_stride + j) : 0.0;
    if (m.bias && (!m.adds || m.continues)) sum += at(bias, j);
    for (std::int64_t k = 0; k < m.inner; ++k) {
      sum += at(a, m.a_transposed ? k * m.a_stride + r : r * m.a_stride + k) *
             at(b, m.b_transposed ? j * m.b_stride + k : k * m.b_stride + j);
    }
    return sum;
  }

  // Every cell of a small product, some of a large one.
  bool is_right() const {
    const double slack = 3e-7 * (std::sqrt(static_cast<double>(shape.inner)) * 6 + 8);
    const std::int64_t cells = shape.rows * shape.columns,
                       step = std::max<std::int64_t>(1, cells / 4000);
    for (std::int64_t i = 0; i < cells; i += step) {
      const std::int64_t r = i / shape.columns, j = i % shape.columns;
      const float got = c[static_cast<std::size_t>(r * product.c_stride + j)];
      if (!(std::abs(static_cast<double>(got) - expected(r, j)) <= slack)) return false;
    }
    for (std::int64_t i = 0; i < shape.rows * product.c_stride; ++i) {
      const bool mine = i % product.c_stride < shape.columns;
      if (!mine && c[static_cast<std::size_t>(i)] != kNotMine) return false;
    }
    return true;
  }

  // The same in four pieces.
  void multiply_cut(std::int64_t row, std::int64_t column) {
    for (const bool lower : {false, true}) {
      for (const bool right : {false, true}) {
        const std::int64_t r = lower ? row : 0, j = right ? column : 0;
        Product part = product;
        part.a += part.a_transposed ? r : r * part.a_stride;
        part.b += part.b_transposed ? j * part.b_stride : j;
        if (part.bias) part.bias += j;
        part.c += r * part.c_stride + j;
        part.rows = lower ? shape.rows - row : row;
        part.columns = right ? shape.columns - column : column;
        if (part.rows > 0 && part.columns > 0) kernels::multiply(part, scratch.data());
      }
    }
  }
};

void check(const Shape& s, std::int64_t gap = 3) {
  CAPTURE(s.rows);
  CAPTURE(s.columns);
  CAPTURE(s.inner);
  CAPTURE(s.a_transposed);
  CAPTURE(s.b_transposed);
  CAPTURE(s.bias);
  CAPTURE(s.adds);
  CAPTURE(s.continues);
  Case whole(s, gap);
  kernels::multiply(whole.product, whole.scratch.data());
  CHECK(whole.is_right());
  const FloatBuffer bits = whole.c;
  whole.start();
  const auto cut = static_cast<std::uint64_t>(s.rows * 31 + s.columns * 7 + s.inner);
  whole.multiply_cut(
      static_cast<std::int64_t>(scatter(cut) % static_cast<std::uint64_t>(s.rows)),
      static_cast<std::int64_t>(scatter(cut + 1) % static_cast<std::uint64_t>(s.columns)));
  CHECK(std::ranges::equal(bits, whole.c));
}

}  // namespace

TEST_CASE("products: every size of a tile and its remainders, all layouts") {
  for (const std::int64_t rows : {1, 2, 3, 5, 7, 8, 11, 12, 13, 16, 17, 33}) {
    for (const std::int64_t columns :
         {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 65, 95, 97}) {
      for (const std::int64_t inner : {1, 2, 7, 8, 9, 31, 64, 191, 192, 193}) {
        for (const int layout : {0, 1, 2, 3}) {
          check({rows, columns, inner, (layout & 1) != 0, (layout & 2) != 0});
        }
      }
    }
  }
}

TEST_CASE("products: bias, and what C holds already") {
  for (const std::int64_t rows : {1, 4, 12, 40}) {
    for (const std::int64_t columns : {5, 16, 48, 130}) {
      for (const std::int64_t inner : {3, 64, 192, 400}) {
        for (const bool turned : {false, true}) {
          for (const int kind : {0, 1, 2, 3}) {
            Shape s{rows, columns, inner, false, turned};
            s.bias = kind == 0 || kind == 3;
            s.adds = kind == 1;
            s.continues = kind >= 2 && kernels::sum_parts(inner) == 1;
            check(s);
          }
        }
      }
    }
  }
}

TEST_CASE("products: large ones, more than a panel, a chunk and a block of everything") {
  for (const bool b_transposed : {false, true}) {
    for (const bool a_transposed : {false, true}) {
      check({300, 250, 500, a_transposed, b_transposed});
      check({64, 1100, 400, a_transposed, b_transposed});
      check({1, 9000, 300, a_transposed, b_transposed});
      check({1, 700, 3000, a_transposed, b_transposed});
    }
    check({700, 200, 1024, false, b_transposed}, 0);
    check({513, 193, 385, false, b_transposed}, 127);
  }
}

}  // namespace headlight
