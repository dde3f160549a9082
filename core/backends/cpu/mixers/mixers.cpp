#include "core/backends/cpu/mixers/mixers.h"

#include <algorithm>

#include "core/backends/cpu/mixers/kernels_gates.h"
#include "core/ops/mixers/convolution.h"

namespace headlight::cpu {

float* grown(FloatBuffer& buffer, std::int64_t cells) {
  if (buffer.size() < static_cast<std::size_t>(cells))
    buffer.resize(static_cast<std::size_t>(cells));
  return buffer.data();
}

TapRows tap_rows(const Call& c, std::int64_t tap) {
  const std::int64_t positions = c.out_axes[1].size;
  const std::int64_t shift = window_shift(tap, c.axes[1][0].size, c.call.params);
  const std::int64_t first = std::max<std::int64_t>(0, -shift);
  const std::int64_t end = std::min(positions, positions - shift);
  return {first, std::max<std::int64_t>(0, end - first), first + shift};
}

namespace {

// Texts [first, end) through all steps. `sums` (texts, gates · n): what comes from the state
// before.
class Steps {
 public:
  Steps(const Call& c, std::int64_t first, std::int64_t end, float* sums, float* scratch)
      : c_(c), z_(c), first_(first), texts_(end - first), sums_(sums), scratch_(scratch) {}

  void run() {
    for (std::int64_t i = 0; i < z_.positions; ++i) step(z_.row_of_step(i));
  }

 private:
  float* state(std::int64_t b, std::int64_t t) const {
    return c_.out + ((first_ + b) * z_.positions + t) * z_.n;
  }

  void step(std::int64_t t) {
    const std::int64_t before = z_.row_before(t);
    const bool gru = z_.gates == 3, biased = gru && c_.call.in.size() > 3;
    for (std::int64_t b = 0; b < texts_; ++b) {
      const float* a = c_.in[0] + ((first_ + b) * z_.positions + t) * z_.row;
      float* sum = sums_ + b * z_.row;
      if (gru && !biased)
        std::fill_n(sum, z_.row, 0.0f);
      else
        std::copy_n(gru ? c_.in[3] : a, z_.row, sum);
    }
    if (before >= 0)
      kernels::multiply({.a = state(0, before),
                         .a_stride = z_.positions * z_.n,
                         .b = c_.in[1],
                         .b_stride = z_.row,
                         .adds = true,
                         .c = sums_,
                         .c_stride = z_.row,
                         .rows = texts_,
                         .columns = z_.row,
                         .inner = z_.n},
                        scratch_);
    for (std::int64_t b = 0; b < texts_; ++b) finish(b, t, before);
  }

  void finish(std::int64_t b, std::int64_t t, std::int64_t before) {
    const float* past = before >= 0 ? state(b, before) : nullptr;
    float *to = state(b, t), *sum = sums_ + b * z_.row;
    const std::int64_t row = (first_ + b) * z_.positions + t;
    if (c_.in[2][row] == 0) {  // padding keeps the state
      if (past)
        std::copy_n(past, z_.n, to);
      else
        std::fill_n(to, z_.n, 0.0f);
    } else if (z_.gates == 3) {
      kernels::gru_row({c_.in[0] + row * z_.row, sum, past, z_.n}, to);
    } else {
      kernels::tanh_row(sum, z_.n);
      std::copy_n(sum, z_.n, to);
    }
  }

  const Call& c_;
  const RecurrentSizes z_;
  std::int64_t first_, texts_;
  float *sums_, *scratch_;
};

void recurrent(Pieces& pieces, const Call& c, FloatBuffer& buffer) {
  const RecurrentSizes z(c);
  float* sums = grown(buffer, z.batch * z.row);
  pieces.for_pieces(parts_of(z.batch, kTextsOfPiece), [&](std::int64_t piece, float* scratch) {
    const std::int64_t first = piece * kTextsOfPiece;
    Steps(c, first, std::min(z.batch, first + kTextsOfPiece), sums + first * z.row, scratch).run();
  });
}

// Y = b + Σ_k X shifted · W_k, for each text.
void convolution(Pieces& pieces, const Call& c, FloatBuffer& buffer) {
  const std::int64_t batch = c.out_axes[0].size, positions = c.out_axes[1].size;
  const std::int64_t inner = c.axes[0][2].size, columns = c.out_axes[2].size;
  float* x = grown(buffer, batch * positions * inner);
  pieces.for_stretches(batch, positions * inner, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * positions;
    kernels::keep_present(c.in[0] + at * inner, c.in[2] + at, (end - begin) * positions, inner,
                          x + at * inner);
    for (std::int64_t row = at; row < end * positions; ++row) {
      if (c.call.in.size() > 3)
        std::copy_n(c.in[3], columns, c.out + row * columns);
      else
        std::fill_n(c.out + row * columns, columns, 0.0f);
    }
  });
  for (std::int64_t tap = 0; tap < c.axes[1][0].size; ++tap) {
    const TapRows rows = tap_rows(c, tap);
    if (rows.count == 0) continue;
    pieces.products({{.a = x + rows.read * inner,
                      .a_stride = inner,
                      .b = c.in[1] + tap * inner * columns,
                      .b_stride = columns,
                      .adds = true,
                      .c = c.out + rows.first * columns,
                      .c_stride = columns,
                      .rows = rows.count,
                      .columns = columns,
                      .inner = inner},
                     batch,
                     positions * inner,
                     0,
                     0,
                     positions * columns});
  }
}

}  // namespace

void run_mixer(Pieces& pieces, const Call& c, FloatBuffer& buffer) {
  if (c.call.op == Op::kConvolution) return convolution(pieces, c, buffer);
  recurrent(pieces, c, buffer);
}

}  // namespace headlight::cpu
