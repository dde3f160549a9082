#include "tests/bench/bench_sparse.h"

#include <cstdio>
#include <string>

#include "core/autodiff/backward.h"
#include "core/base/random.h"
#include "core/train/data/batch_inputs.h"
#include "tests/bench/eigen_product.h"
#include "tests/bench/median.h"

namespace headlight {
namespace {

constexpr int kTokens = 1024;

Config config_of(MaskKind mask) {
  Config config;
  config.layers = 1;
  config.heads = 4;
  config.d_model = 128;
  config.block = BlockKind::kAttention;
  config.mask.kind = mask;
  config.mask.causal = mask == MaskKind::kLocal || mask == MaskKind::kStrided;
  config.mask.window = config.mask.stride = 64;
  return config;
}

// The calls of a program's attention, forward and backward, with memory of their own.
class Attention {
 public:
  Attention(const Config& config, ForbiddenBlocks forbidden)
      : program_(std::make_shared<const Program>(build_training_program(config, {1, kTokens, 8}))),
        fusion_(std::make_shared<const Fusion>(*program_, FusedBy::kProcessor, forbidden)),
        backend_(make_fusing_backend(fusion_)),
        backward_(program_, KeptGradients::kParameters, fusion_) {
    const auto& tensors = program_->tensors;
    cells_.resize(tensors.size());
    for (std::size_t id = 0; id < tensors.size(); ++id) {
      if (tensors[id].kind == TensorKind::kAlias) continue;
      cells_[id].resize(static_cast<std::size_t>(cell_count(tensors[id].axes)));
      for (std::size_t i = 0; i < cells_[id].size(); ++i)
        cells_[id][i] = bell(hash_text(tensors[id].name), i);
    }
    for (std::size_t id = 0; id < tensors.size(); ++id)
      memory_.push_back(cells_[place(program_->resolve(static_cast<TensorId>(id)))].data());
    fill_own_mask(*program_, memory_);
    const FusedAttention& a = fusion_->attentions()[0];
    first_ = a.first_call;
    last_ = a.last_call;
    for (const BackwardCall& step : backward_.calls()) {
      if (step.call >= first_ && step.call <= last_) steps_.push_back(step);
    }
    run();
  }

  double seconds_of_run() {
    return seconds([&] { run(); });
  }
  BlockCount blocks() const { return backend_->blocks(); }

 private:
  void run() {
    const auto count = static_cast<std::size_t>(last_ - first_ + 1);
    backend_->run(*program_, std::span(program_->calls).subspan(place(first_), count), memory_);
    backend_->run_backward(*program_, steps_, memory_, backward_.gradients());
  }

  std::shared_ptr<const Program> program_;
  std::shared_ptr<const Fusion> fusion_;
  std::unique_ptr<Backend> backend_;
  Backward backward_;
  std::vector<FloatBuffer> cells_;
  std::vector<float*> memory_;
  int first_ = 0, last_ = 0;
  std::vector<BackwardCall> steps_;
};

void measure(MaskKind mask, const char* name, double asked, std::vector<BenchRow>& rows) {
  Attention skips(config_of(mask), ForbiddenBlocks::kSkipped);
  Attention computes(config_of(mask), ForbiddenBlocks::kComputed);
  std::vector<double> short_times, long_times;
  constexpr int kRounds = 15;
  for (int round = 0; round < kRounds; ++round) {
    long_times.push_back(computes.seconds_of_run());
    for (int i = 0; i < 3; ++i) short_times.push_back(skips.seconds_of_run());
  }
  const BlockCount blocks = skips.blocks();
  char note[128];
  std::snprintf(note, sizeof note, "%lld of %lld blocks of 16 x 16 scores are computed",
                static_cast<long long>(blocks.computed), static_cast<long long>(blocks.all));
  rows.push_back({std::string("attention over 1024 tokens, ") + name, median(short_times) * 1e3,
                  "ms", 0, note});
  rows.push_back({"", median(long_times) * 1e3, "ms", 0, "the forbidden blocks computed as well"});
  rows.push_back({"", median(long_times) / median(short_times), "times", asked,
                  asked > 0 ? "at least; forward and backward on 1 thread" : ""});
}

}  // namespace

std::vector<BenchRow> bench_sparse() {
  std::vector<BenchRow> rows;
  measure(MaskKind::kLocal, "local window of 64", 3, rows);
  measure(MaskKind::kStrided, "strided by 64", 0, rows);
  measure(MaskKind::kCausal, "causal mask", 0, rows);
  return rows;
}

}  // namespace headlight
