// Back through recurrent layers, from the last step to the first, and through convolutions.
#include <algorithm>

#include "core/backends/cpu/mixers/kernels_gates.h"
#include "core/backends/cpu/mixers/mixers.h"

namespace headlight::cpu {

using kernels::Into;

namespace {

// What the way back through a recurrent layer needs, all rows of all texts: the states before (n),
// what came from them (gates · n), the gradients of that and of a (gates · n each); and for each
// text what the steps behind pass back, and the gradient of a state (n each).
struct Room {
  float *past, *sums, *d_sums, *d_a, *back, *d_state;

  Room(const RecurrentSizes& z, FloatBuffer& buffer) {
    const std::int64_t rows = z.batch * z.positions;
    past = grown(buffer, rows * (z.n + 3 * z.row) + 2 * z.batch * z.n);
    sums = past + rows * z.n;
    d_sums = sums + rows * z.row;
    d_a = z.gates == 3 ? d_sums + rows * z.row : d_sums;  // without gates they are the same
    back = d_sums + 2 * rows * z.row;
    d_state = back + z.batch * z.n;
  }
};

class StepsBack {
 public:
  StepsBack(const GradientCall& g, const Room& room, std::int64_t first, std::int64_t end,
            float* scratch)
      : g_(g), z_(g.c), room_(room), first_(first), end_(end), scratch_(scratch) {}

  void run() {
    std::fill_n(room_.back + first_ * z_.n, (end_ - first_) * z_.n, 0.0f);
    for (std::int64_t i = z_.positions - 1; i >= 0; --i) step(z_.row_of_step(i));
  }

 private:
  void step(std::int64_t t) {
    const std::int64_t n = z_.n;
    for (std::int64_t b = first_; b < end_; ++b) {
      const std::int64_t row = b * z_.positions + t;
      float *d = room_.d_state + b * n, *back = room_.back + b * n;
      kernels::add(g_.d_out + row * n, back, d, n);
      if (g_.c.in[2][row] == 0) {  // padding keeps the state
        std::fill_n(room_.d_sums + row * z_.row, z_.row, 0.0f);
        std::fill_n(room_.d_a + row * z_.row, z_.row, 0.0f);
        std::copy_n(d, n, back);
      } else if (z_.gates == 3) {
        const kernels::GruRow gates{g_.c.in[0] + row * z_.row, room_.sums + row * z_.row,
                                    room_.past + row * n, n};
        kernels::gru_row_backward(gates, d, room_.d_a + row * z_.row, room_.d_sums + row * z_.row,
                                  back);
      } else {
        kernels::tanh_slope_row(g_.c.out + row * n, d, room_.d_a + row * n, n);
        std::fill_n(back, n, 0.0f);
      }
    }
    if (z_.row_before(t) < 0) return;  // nobody asks for what is before the first
    kernels::multiply({.a = room_.d_sums + (first_ * z_.positions + t) * z_.row,
                       .a_stride = z_.positions * z_.row,
                       .b = g_.c.in[1],
                       .b_stride = z_.row,
                       .b_transposed = true,
                       .adds = true,
                       .c = room_.back + first_ * n,
                       .c_stride = n,
                       .rows = end_ - first_,
                       .columns = n,
                       .inner = z_.row},
                      scratch_);
  }

  const GradientCall& g_;
  const RecurrentSizes z_;
  const Room& room_;
  std::int64_t first_, end_;
  float* scratch_;
};

// The state before each row, and with gates what came from it: P · U + c.
void read_past(Pieces& pieces, const GradientCall& g, const Room& room) {
  const RecurrentSizes z(g.c);
  pieces.for_stretches(z.batch, z.positions * z.n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin * z.positions; row < end * z.positions; ++row) {
      const std::int64_t before = z.row_before(row % z.positions);
      float* to = room.past + row * z.n;
      if (before < 0)
        std::fill_n(to, z.n, 0.0f);
      else
        std::copy_n(g.c.out + (row / z.positions * z.positions + before) * z.n, z.n, to);
    }
  });
  if (z.gates != 3) return;
  pieces.products({{.a = room.past,
                    .a_stride = z.n,
                    .b = g.c.in[1],
                    .b_stride = z.row,
                    .bias = g.c.call.in.size() > 3 ? g.c.in[3] : nullptr,
                    .c = room.sums,
                    .c_stride = z.row,
                    .rows = z.batch * z.positions,
                    .columns = z.row,
                    .inner = z.n}});
}

void recurrent_backward(Pieces& pieces, const GradientCall& g, FloatBuffer& buffer) {
  const RecurrentSizes z(g.c);
  const std::int64_t rows = z.batch * z.positions;
  const Room room(z, buffer);
  read_past(pieces, g, room);
  pieces.for_pieces(parts_of(z.batch, kTextsOfPiece), [&](std::int64_t piece, float* scratch) {
    const std::int64_t first = piece * kTextsOfPiece;
    StepsBack(g, room, first, std::min(z.batch, first + kTextsOfPiece), scratch).run();
  });
  if (g.d_in[0].cells)
    pieces.for_stretches(rows * z.row, 1, [&](std::int64_t begin, std::int64_t end) {
      kernels::pass_gradient(room.d_a + begin, g.d_in[0] + begin, end - begin);
    });
  if (g.d_in[1].cells)
    pieces.products({{.a = room.past,
                      .a_stride = z.n,
                      .b = room.d_sums,
                      .b_stride = z.row,
                      .a_transposed = true,
                      .adds = g.d_in[1].adds,
                      .c = g.d_in[1].cells,
                      .c_stride = z.row,
                      .rows = z.n,
                      .columns = z.row,
                      .inner = rows}});
  if (g.d_in[3].cells) kernels::column_sums(room.d_sums, rows, z.row, z.row, g.d_in[3]);
}

// dX shifted += dY · W_kᵀ and dW_k = Σ X shiftedᵀ · dY over the texts.
void convolution_backward(Pieces& pieces, const GradientCall& g, FloatBuffer& buffer) {
  const Call& c = g.c;
  const std::int64_t batch = c.out_axes[0].size, positions = c.out_axes[1].size;
  const std::int64_t inner = c.axes[0][2].size, columns = c.out_axes[2].size;
  const std::int64_t cells = batch * positions * inner;
  float *x = grown(buffer, 2 * cells), *d_x = x + cells;
  kernels::keep_present(c.in[0], c.in[2], batch * positions, inner, x);
  std::fill_n(d_x, cells, 0.0f);
  for (std::int64_t tap = 0; tap < c.axes[1][0].size; ++tap) {
    const TapRows rows = tap_rows(c, tap);
    const float* dy = g.d_out + rows.first * columns;
    if (rows.count > 0 && g.d_in[0].cells)
      pieces.products({{.a = dy,
                        .a_stride = columns,
                        .b = c.in[1] + tap * inner * columns,
                        .b_stride = columns,
                        .b_transposed = true,
                        .adds = true,
                        .c = d_x + rows.read * inner,
                        .c_stride = inner,
                        .rows = rows.count,
                        .columns = inner,
                        .inner = columns},
                       batch,
                       positions * columns,
                       0,
                       0,
                       positions * inner});
    if (!g.d_in[1].cells) continue;
    const Into d_w = g.d_in[1] + tap * inner * columns;
    if (rows.count == 0 && !d_w.adds) std::fill_n(d_w.cells, inner * columns, 0.0f);
    for (std::int64_t b = 0; rows.count > 0 && b < batch; ++b)
      pieces.products({{.a = x + (b * positions + rows.read) * inner,
                        .a_stride = inner,
                        .b = dy + b * positions * columns,
                        .b_stride = columns,
                        .a_transposed = true,
                        .adds = d_w.adds || b > 0,
                        .c = d_w.cells,
                        .c_stride = columns,
                        .rows = inner,
                        .columns = columns,
                        .inner = rows.count}});
  }
  if (g.d_in[0].cells)
    kernels::keep_present_backward(d_x, c.in[2], batch * positions, inner, g.d_in[0]);
}

}  // namespace

void run_mixer_backward(Pieces& pieces, const GradientCall& g, FloatBuffer& buffer) {
  if (g.c.call.op == Op::kConvolution) return convolution_backward(pieces, g, buffer);
  recurrent_backward(pieces, g, buffer);
}

}  // namespace headlight::cpu
