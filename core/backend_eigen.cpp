// The fast backend: cuts each operation into pieces, and gives them to threads where that pays.
// How a piece is computed is in eigen_kernels.h. The pieces depend on shapes alone, every cell is
// computed whole by one piece and its sums run in a fixed order, so any number of threads gives the
// same bits.
#include <algorithm>
#include <cstring>

#include "core/backend.h"
#include "core/backend_eigen_call.h"
#include "core/thread_pool.h"

namespace headlight {
namespace {

using eigen::Call;
using eigen::ProductSeries;
using kernels::Product;

constexpr double kRunWorkToShare = 2e7;   // below it a run would end before the others are awake
constexpr double kCallWorkToShare = 5e5;  // below it a call ends before the others have noticed
constexpr std::int64_t kPieceCells = 8192;
constexpr std::int64_t kPiecesWanted = 16;

std::int64_t parts_of(std::int64_t n, std::int64_t most) { return (n + most - 1) / most; }

class EigenBackend final : public Backend {
 public:
  explicit EigenBackend(int threads)
      : pool_(threads),
        scratch_(static_cast<std::size_t>(pool_.threads() * kernels::kScratchFloats)) {}

  std::string_view name() const override { return "eigen"; }
  bool supports(const Program&, const OpCall&) const override { return true; }

  void run(const Program& program, std::span<const OpCall> calls,
           std::span<float* const> memory) override {
    const FlushDenormals flush;
    double work = 0;
    for (const OpCall& call : calls) work += eigen::work_of(Call(program, call, {}));
    share_run_ = work >= kRunWorkToShare;
    for (const OpCall& call : calls) run_call(Call(program, call, memory));
  }

 private:
  void run_call(const Call& c) {
    if (c.cells() == 0) return;
    share_call_ = share_run_ && eigen::work_of(c) >= kCallWorkToShare;
    switch (c.call.op) {
      case Op::kLinear:
        return products(eigen::linear_product(c));
      case Op::kProject:
        return products(eigen::project_product(c));
      case Op::kScores:
        return products(eigen::scores_product(c));
      case Op::kWeightedSum:
        return products(eigen::weighted_sum_product(c));
      case Op::kAdditiveScores:
        return additive_scores(c);
      case Op::kAdd:
      case Op::kScale:
      case Op::kRelu:
      case Op::kGelu:
      case Op::kGeluTanh:
        return cell_by_cell(c);
      case Op::kMask:
      case Op::kSoftmax:
      case Op::kLayerNorm:
        return row_by_row(c);
      case Op::kEmbed:
      case Op::kLearnedPosition:
      case Op::kSplitHeads:
      case Op::kConcatHeads:
        return move_rows(c);
      case Op::kSinusoid:
        return sinusoid(c);
    }
  }

  // Calls f(piece, scratch) for each piece.
  template <class F>
  void for_pieces(std::int64_t pieces, F&& f) {
    if (share_call_) {
      pool_.parallel_for(pieces, [&](std::int64_t piece, int worker) {
        f(piece, scratch_.data() + worker * kernels::kScratchFloats);
      });
    } else {
      for (std::int64_t piece = 0; piece < pieces; ++piece) f(piece, scratch_.data());
    }
  }

  // Calls f(begin, end) for stretches of n things of `cells` cells each.
  template <class F>
  void for_stretches(std::int64_t n, std::int64_t cells, F&& f) {
    const std::int64_t length = std::max<std::int64_t>(1, kPieceCells / cells);
    for_pieces(parts_of(n, length), [&](std::int64_t piece, float*) {
      f(piece * length, std::min(n, (piece + 1) * length));
    });
  }

  void products(const ProductSeries& series) {
    const Product& m = series.first;
    const std::int64_t row_parts = parts_of(m.rows, kernels::kPieceRows);
    const std::int64_t rows = parts_of(m.rows, row_parts);
    // As many tiles side by side as leave pieces enough for some threads.
    const std::int64_t tiles = parts_of(m.columns, kernels::kTileColumns);
    const std::int64_t together = std::clamp<std::int64_t>(
        tiles * row_parts * series.count / kPiecesWanted, 1, kernels::kPieceTiles);
    const std::int64_t packets = parts_of(m.columns, kernels::kPacketColumns);
    const std::int64_t column_parts = parts_of(tiles, together);
    const std::int64_t columns = parts_of(packets, column_parts) * kernels::kPacketColumns;
    for_pieces(series.count * row_parts * column_parts, [&](std::int64_t piece, float* scratch) {
      const std::int64_t row = piece / column_parts % row_parts * rows;
      const std::int64_t column = piece % column_parts * columns;
      Product part = series.at(piece / (column_parts * row_parts));
      part.a += row * m.a_stride;
      part.b += m.b_transposed ? column * m.b_stride : column;
      if (part.bias) part.bias += column;
      part.c += row * m.c_stride + column;
      part.rows = std::min(rows, m.rows - row);
      part.columns = std::min(columns, m.columns - column);
      if (part.rows > 0 && part.columns > 0) kernels::multiply(part, scratch);
    });
  }

  void additive_scores(const Call& c) {
    const std::int64_t heads = c.out_axes[1].size, queries = c.out_axes[2].size;
    const std::int64_t keys = c.out_axes[3].size, width = c.axes[0][3].size;
    constexpr std::int64_t kRows = 32;
    const std::int64_t row_parts = parts_of(queries, kRows);
    for_pieces(c.out_axes[0].size * heads * row_parts, [&](std::int64_t piece, float* scratch) {
      const std::int64_t matrix = piece / row_parts, row = piece % row_parts * kRows;
      kernels::additive_scores({.q = c.in[0] + (matrix * queries + row) * width,
                                .k = c.in[1] + matrix * keys * width,
                                .v = c.in[2] + matrix % heads * width,
                                .scores = c.out + (matrix * queries + row) * keys,
                                .queries = std::min(kRows, queries - row),
                                .keys = keys,
                                .width = width},
                               scratch);
    });
  }

  void cell_by_cell(const Call& c) {
    for_stretches(c.cells(), 1, [&](std::int64_t begin, std::int64_t end) {
      const float* x = c.in[0] + begin;
      float* y = c.out + begin;
      const std::int64_t n = end - begin;
      switch (c.call.op) {
        case Op::kAdd:
          return kernels::add(x, c.in[1] + begin, y, n);
        case Op::kScale:
          return kernels::scale(x, c.call.params.factor, y, n);
        case Op::kRelu:
          return kernels::relu(x, y, n);
        case Op::kGelu:
          return kernels::gelu(x, y, n);
        default:
          return kernels::gelu_tanh(x, y, n);
      }
    });
  }

  void row_by_row(const Call& c) {
    const auto [rows, n] = as_rows(c.out_axes);
    const std::int64_t length = n;
    for_stretches(rows, length, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* x = c.in[0] + row * length;
        float* y = c.out + row * length;
        if (c.call.op == Op::kSoftmax) {
          kernels::softmax_row(x, c.call.params.temperature, y, length);
        } else if (c.call.op == Op::kLayerNorm) {
          kernels::layer_norm_row(x, c.in[1], c.bias(), c.call.params.epsilon, y, length);
        } else {
          kernels::mask(x, c.in[1] + mask_row(c, row) * length, y, length);
        }
      }
    });
  }

  // scores (batch, head, query, key): which row of the mask (batch, query, key) belongs to a row
  static std::int64_t mask_row(const Call& c, std::int64_t row) {
    const std::int64_t heads = c.out_axes[1].size, queries = c.out_axes[2].size;
    return row / (heads * queries) * queries + row % queries;
  }

  // Operations that compute nothing: every row of the result is a row found elsewhere.
  void move_rows(const Call& c) {
    const bool joins = c.call.op == Op::kConcatHeads;
    const std::int64_t width = joins ? c.axes[0][3].size : c.out_axes.back().size;
    const std::int64_t rows = c.cells() / width;
    for_stretches(rows, width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::memcpy(c.out + row * width, source_row(c, row, width),
                    static_cast<std::size_t>(width) * sizeof(float));
      }
    });
  }

  static const float* source_row(const Call& c, std::int64_t row, std::int64_t width) {
    const std::int64_t positions = c.axes[0][c.call.op == Op::kConcatHeads ? 2 : 1].size;
    switch (c.call.op) {
      case Op::kEmbed:
        return c.in[1] + static_cast<std::int64_t>(c.in[0][row]) * width;
      case Op::kLearnedPosition:
        return c.in[1] + row % positions * width;
      case Op::kSplitHeads: {  // row (batch, head, position) lies at (batch, position, head)
        const std::int64_t heads = c.out_axes[1].size, t = row % positions;
        const std::int64_t h = row / positions % heads, b = row / (positions * heads);
        return c.in[0] + ((b * positions + t) * heads + h) * width;
      }
      default: {  // kConcatHeads, the other way round
        const std::int64_t heads = c.axes[0][1].size, h = row % heads;
        const std::int64_t t = row / heads % positions, b = row / (positions * heads);
        return c.in[0] + ((b * heads + h) * positions + t) * width;
      }
    }
  }

  void sinusoid(const Call& c) {
    const std::int64_t positions = c.out_axes[1].size, width = c.out_axes[2].size;
    constexpr std::int64_t kRows = 32;
    const std::int64_t row_parts = parts_of(positions, kRows);
    for_pieces(c.out_axes[0].size * row_parts, [&](std::int64_t piece, float*) {
      const std::int64_t first = piece % row_parts * kRows;
      const std::int64_t row = piece / row_parts * positions + first;
      kernels::sinusoid_rows(first, std::min(kRows, positions - first), width, c.out + row * width);
    });
  }

  ThreadPool pool_;
  FloatBuffer scratch_;
  bool share_run_ = false, share_call_ = false;
};

}  // namespace

std::unique_ptr<Backend> make_eigen_backend(int threads) {
  return std::make_unique<EigenBackend>(threads);
}

}  // namespace headlight
