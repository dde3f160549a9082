// The fast backend: cuts each operation into pieces, and gives them to threads where that pays.
// How a piece is computed is in kernels.h. The pieces depend on shapes alone, every cell is
// computed whole by one piece and its sums run in a fixed order, so any number of threads gives the
// same bits.
#include <algorithm>
#include <cstring>

#include "core/backends/backend.h"
#include "core/backends/cpu/backward_calls.h"
#include "core/backends/cpu/choice/instruction_sets.h"
#include "core/backends/cpu/experts/expert_calls.h"
#include "core/backends/cpu/heads/fused_calls.h"
#include "core/backends/cpu/heads/head_calls.h"
#include "core/backends/cpu/mixers/mixers.h"
#include "core/backends/cpu/numbers/number_calls.h"
#include "core/backends/cpu/pieces.h"

namespace headlight {
namespace {

using cpu::Call;
using cpu::parts_of;

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads, std::shared_ptr<const Fusion> fusion = nullptr)
      : fusion_(std::move(fusion)),
        pieces_(threads),
        attention_(angles_),
        distances_(pieces_),
        fused_(pieces_),
        backward_(pieces_, fusion_.get(), attention_, fused_, angles_, distances_) {}

  std::string_view name() const override { return "cpu"; }
  bool supports(const Program&, const OpCall&) const override { return true; }
  bool runs_parts() const override { return !fusion_; }
  void set_backward_follows(bool follows) override { keeps_slopes_ = follows; }

  void run(const Program& program, std::span<const OpCall> calls,
           std::span<float* const> memory) override {
    if (fusion_) attention_.begin_run(program, *fusion_, memory);
    fused_.begin_run();
    run_more(program, calls, memory);
  }

  void run_more(const Program& program, std::span<const OpCall> calls,
                std::span<float* const> memory) override {
    const FlushDenormals flush;
    pieces_.begin_run([&] {
      double work = 0;
      for (const OpCall& call : calls) work += cpu::work_of(Call(program, call, {}));
      return work;
    });
    for (const OpCall& call : calls) {
      if (fusion_ && run_fused(program, call, memory)) continue;
      run_call(Call(program, call, memory));
    }
  }

  void run_backward(const Program& program, std::span<const BackwardCall> calls,
                    std::span<float* const> memory, std::span<float* const> gradients) override {
    const FlushDenormals flush;
    backward_.run(program, calls, memory, gradients);
  }

  BlockCount blocks() const override {
    BlockCount all = attention_.count();
    return all += fused_.count();
  }

 private:
  // False for a call that stands alone.
  bool run_fused(const Program& program, const OpCall& call, std::span<float* const> memory) {
    if (fusion_->is_between(call.out)) return true;
    if (const FusedAttention* attention = fusion_->attention(call.out)) {
      attention_.run(program, *attention, memory);
      return true;
    }
    if (!keeps_slopes_ || !fusion_->keeps_slope(call.out)) return false;
    const Call c(program, call, memory);
    float* x = memory[static_cast<std::size_t>(call.in[0])];
    if (call.op == Op::kGelu) {
      kernels::gelu_with_slope(x, c.out, c.cells());
    } else if (call.op == Op::kSilu) {
      kernels::silu_with_slope(x, c.out, c.cells());
    } else {
      kernels::gelu_tanh_with_slope(x, c.out, c.cells());
    }
    return true;
  }

  void run_call(const Call& c) {
    if (c.cells() == 0) return;
    pieces_.begin_call([&] { return cpu::work_of(c); });
    switch (c.call.op) {
      case Op::kLinear:
        return pieces_.products(cpu::linear_product(c));
      case Op::kLinearTransposed:
        return pieces_.products(cpu::linear_transposed_product(c));
      case Op::kProject:
        return project(c);
      case Op::kScores:
        return pieces_.products(cpu::scores_product(c));
      case Op::kWeightedSum:
        return pieces_.products(cpu::weighted_sum_product(c));
      case Op::kFocusScores:
        return pieces_.products(cpu::focus_scores_product(c));
      case Op::kAdditiveScores:
        return additive_scores(c);
      case Op::kAdd:
      case Op::kScale:
      case Op::kRelu:
      case Op::kGelu:
      case Op::kGeluTanh:
      case Op::kSilu:
      case Op::kTanh:
      case Op::kDropout:
      case Op::kMultiply:
        return cell_by_cell(c);
      case Op::kMask:
      case Op::kSoftmax:
        return row_by_row(c);
      case Op::kLayerNorm:
      case Op::kRmsNorm:
        return layer_norm(c);
      case Op::kRotary:
        return rotary(c);
      case Op::kEmbed:
      case Op::kLearnedPosition:
      case Op::kSplitHeads:
      case Op::kConcatHeads:
        return move_rows(c);
      case Op::kSinusoid:
        return sinusoid(c);
      case Op::kCrossEntropy:
        return cross_entropy(c);
      case Op::kMeanPool:
      case Op::kConcatTokens:
        return pool(c);
      case Op::kFociPenalty:
        return foci_penalty(c);
      case Op::kAlibi:
      case Op::kDistanceBias:
      case Op::kDistanceSinusoid:
      case Op::kRelativeScores:
      case Op::kRelativeSum:
      case Op::kShiftHeads:
        return distances_.run(c);
      case Op::kRecurrence:
      case Op::kGru:
      case Op::kConvolution:
        return cpu::run_mixer(pieces_, c, mixing_);
      case Op::kExpertLinear:
      case Op::kTopExperts:
      case Op::kMix:
      case Op::kLoadBalance:
        return cpu::run_experts(pieces_, c);
      case Op::kConcatRows:
        return concat_rows(c);
      case Op::kNumber:
      case Op::kMixtureLogits:
        return cpu::run_numbers(pieces_, c);
      case Op::kAppendRow:
      case Op::kMaskHeads:
      case Op::kMeanHeads:
        return cpu::run_heads(pieces_, c);
      case Op::kFusedAttention:
        return fused_.run(c);
    }
  }

  void project(const Call& c) {
    if (!cpu::joins_heads(c)) return pieces_.products(cpu::project_product(c));
    const auto cells = static_cast<std::size_t>(cell_count(c.axes[1]));
    if (joined_.size() < cells) joined_.resize(cells);
    kernels::join_heads(c.in[1], c.axes[1][0].size, c.axes[1][1].size, c.axes[1][2].size,
                        joined_.data());
    pieces_.products(cpu::joined_project_product(c, joined_.data()));
  }

  void additive_scores(const Call& c) {
    const std::int64_t heads = c.out_axes[1].size, queries = c.out_axes[2].size;
    const std::int64_t keys = c.out_axes[3].size, width = c.axes[0][3].size;
    const std::int64_t share = heads_per_kv(c.axes[0], c.axes[1]);
    constexpr std::int64_t kRows = 32;
    const std::int64_t row_parts = parts_of(queries, kRows);
    pieces_.for_pieces(
        c.out_axes[0].size * heads * row_parts, [&](std::int64_t piece, float* scratch) {
          const std::int64_t matrix = piece / row_parts, row = piece % row_parts * kRows;
          kernels::additive_scores({.q = c.in[0] + (matrix * queries + row) * width,
                                    .k = c.in[1] + matrix / share * keys * width,
                                    .v = c.in[2] + matrix % heads * width,
                                    .scores = c.out + (matrix * queries + row) * keys,
                                    .queries = std::min(kRows, queries - row),
                                    .keys = keys,
                                    .width = width},
                                   scratch);
        });
  }

  void cell_by_cell(const Call& c) {
    pieces_.for_stretches(c.cells(), 1, [&](std::int64_t begin, std::int64_t end) {
      const float* x = c.in[0] + begin;
      float* y = c.out + begin;
      const std::int64_t n = end - begin;
      switch (c.call.op) {
        case Op::kAdd:
          return kernels::add(x, c.in[1] + begin, y, n);
        case Op::kDropout:
        case Op::kMultiply:
          return kernels::multiply_cells(x, c.in[1] + begin, y, n);
        case Op::kScale:
          return kernels::scale(x, c.call.params.factor, y, n);
        case Op::kRelu:
          return kernels::relu(x, y, n);
        case Op::kGelu:
          return kernels::gelu(x, y, n);
        case Op::kSilu:
          return kernels::silu(x, y, n);
        case Op::kTanh:
          return kernels::tanh(x, c.call.params.factor, y, n);
        default:
          return kernels::gelu_tanh(x, y, n);
      }
    });
  }

  void row_by_row(const Call& c) {
    const auto [rows, n] = as_rows(c.out_axes);
    const std::int64_t length = n;
    pieces_.for_stretches(rows, length, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* x = c.in[0] + row * length;
        float* y = c.out + row * length;
        if (c.call.op == Op::kSoftmax) {
          kernels::softmax_row(x, c.call.params.temperature, y, length);
        } else {
          kernels::mask(x, c.in[1] + cpu::mask_row(c, row) * length, y, length);
        }
      }
    });
  }

  void layer_norm(const Call& c) {
    const std::int64_t n = as_rows(c.out_axes).columns;
    pieces_.for_stretches(c.cells() / n, n, [&](std::int64_t begin, std::int64_t end) {
      kernels::layer_norm({.x = c.in[0] + begin * n,
                           .weight = c.in[1],
                           .bias = c.bias(),
                           .epsilon = c.call.params.epsilon,
                           .centred = c.call.op == Op::kLayerNorm,
                           .y = c.out + begin * n,
                           .rows = end - begin,
                           .n = n});
    });
  }

  void rotary(const Call& c) {
    const std::int64_t positions = c.out_axes[2].size, width = c.out_axes[3].size;
    const std::int64_t first = c.call.params.offset;
    const kernels::Rotary turn = angles_.of(c.call.params, first + positions, width);
    pieces_.for_stretches(c.cells() / width, width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        kernels::rotate_row(turn, first + row % positions, c.in[0] + row * width,
                            {c.out + row * width, false});
      }
    });
  }

  void cross_entropy(const Call& c) {
    const std::int64_t vocab = c.axes[0].back().size;
    pieces_.for_stretches(c.cells(), vocab, [&](std::int64_t begin, std::int64_t end) {
      kernels::cross_entropy(c.in[0] + begin * vocab, c.in[1] + begin, c.out + begin, end - begin,
                             vocab);
    });
  }

  void pool(const Call& c) {
    const std::int64_t positions = c.axes[0][1].size, width = c.axes[0][2].size;
    const bool concat = c.call.op == Op::kConcatTokens;
    const auto kernel = concat ? kernels::keep_present : kernels::mean_pool;
    const std::int64_t row = c.out_axes[1].size;
    pieces_.for_stretches(c.axes[0][0].size, positions * width,
                          [&](std::int64_t begin, std::int64_t end) {
                            for (std::int64_t b = begin; b < end; ++b) {
                              kernel(c.in[0] + b * positions * width, c.in[1] + b * positions,
                                     positions, width, c.out + b * row);
                            }
                          });
  }

  void foci_penalty(const Call& c) {
    const std::int64_t foci = c.axes[0][3].size, cells = c.axes[0][1].size * foci * foci;
    for (std::int64_t b = 0; b < c.cells(); ++b) {
      c.out[b] = static_cast<float>(
          c.call.params.factor * kernels::distance_from_identity(c.in[0] + b * cells, foci, cells));
    }
  }

  // Operations that compute nothing: every row of the result is a row found elsewhere.
  void move_rows(const Call& c) {
    const std::int64_t width = cpu::moved_width(c);
    const float* source = c.in[static_cast<std::size_t>(cpu::moved_input(c))];
    const std::int64_t rows = c.cells() / width;
    pieces_.for_stretches(rows, width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        std::memcpy(c.out + row * width, source + cpu::source_row(c, row) * width,
                    static_cast<std::size_t>(width) * sizeof(float));
      }
    });
  }

  // Rows of the memory, then those of x: one piece for each batch item.
  void concat_rows(const Call& c) {
    const std::int64_t width = c.out_axes[2].size, item = c.out_axes[1].size * width;
    pieces_.for_stretches(c.out_axes[0].size, item, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        float* to = c.out + b * item;
        for (const std::size_t i : {0, 1}) {
          const std::int64_t cells = c.axes[i][1].size * width;
          to = std::copy_n(c.in[i] + b * cells, cells, to);
        }
      }
    });
  }

  void sinusoid(const Call& c) {
    const std::int64_t positions = c.out_axes[1].size, width = c.out_axes[2].size;
    const OpParams& params = c.call.params;
    const kernels::Waves waves{width, params.halves, params.to_end};
    constexpr std::int64_t kRows = 32;
    const std::int64_t row_parts = parts_of(positions, kRows);
    pieces_.for_pieces(c.out_axes[0].size * row_parts, [&](std::int64_t piece, float*) {
      const std::int64_t first = piece % row_parts * kRows;
      const std::int64_t row = piece / row_parts * positions + first;
      kernels::sinusoid_rows(params.offset + first, std::min(kRows, positions - first), waves,
                             c.out + row * width);
    });
  }

  std::shared_ptr<const Fusion> fusion_;
  bool keeps_slopes_ = true;
  cpu::Pieces pieces_;
  cpu::RotaryAngles angles_;
  cpu::AttentionRunner attention_;
  cpu::Distances distances_;
  cpu::FusedCalls fused_;
  cpu::BackwardPass backward_;
  FloatBuffer mixing_;  // of recurrent layers and convolutions
  FloatBuffer joined_;  // the weights of heads side by side
};

}  // namespace

// cmake/instruction_sets.cmake compiles this with other names, too.
#ifndef HEADLIGHT_CPU_BACKENDS
#define HEADLIGHT_CPU_BACKENDS kCpuBackends
#endif
#ifndef HEADLIGHT_INSTRUCTIONS
#define HEADLIGHT_INSTRUCTIONS "native"
#endif
constexpr CpuBackends HEADLIGHT_CPU_BACKENDS = {
    HEADLIGHT_INSTRUCTIONS,
    [](int threads) -> std::unique_ptr<Backend> { return std::make_unique<CpuBackend>(threads); },
    [](std::shared_ptr<const Fusion> fusion) -> std::unique_ptr<Backend> {
      return std::make_unique<CpuBackend>(1, std::move(fusion));
    }};

}  // namespace headlight
