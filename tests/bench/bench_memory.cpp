#include "tests/bench/bench_memory.h"

#include <memory>
#include <string>

#include "core/base/random.h"
#include "core/model/init.h"
#include "core/train/trainer.h"
#include "tests/bench/eigen_product.h"
#include "tests/bench/median.h"

namespace headlight {
namespace {

constexpr int kVocab = 96, kPositions = 128, kRows = 16;

std::unique_ptr<Trainer> trainer_of(bool checkpointing, int threads) {
  Config config;
  config.layers = 8;
  config.heads = 4;
  config.d_model = 128;
  config.positions = PositionKind::kLearned;
  config.mask.kind = MaskKind::kCausal;
  TrainerOptions options;
  options.threads = threads;
  options.checkpointing = checkpointing;
  const Program program = build_program(config, {1, kPositions, kVocab});
  return std::make_unique<Trainer>(config, kVocab, kPositions,
                                   initial_parameters(program, Init::kNormal, 1), options);
}

TokenBatch random_rows() {
  TokenBatch batch{kRows, kPositions, {}, {}};
  for (std::uint64_t i = 0; i < kRows * kPositions; ++i) {
    batch.tokens.push_back(static_cast<int>(scatter(i) % kVocab));
    batch.targets.push_back(static_cast<int>(scatter(i + 1) % kVocab));
  }
  return batch;
}

}  // namespace

std::vector<BenchRow> bench_memory(int threads, int rounds) {
  const auto keeps = trainer_of(false, threads), again = trainer_of(true, threads);
  const TokenBatch batch = random_rows();
  std::vector<double> kept_times, again_times, ratios;
  keeps->step(batch);
  again->step(batch);
  for (int round = 0; round < rounds; ++round) {
    kept_times.push_back(seconds([&] { keeps->step(batch); }));
    again_times.push_back(seconds([&] { again->step(batch); }));
    ratios.push_back(again_times.back() / kept_times.back());
  }
  const double kept = static_cast<double>(keeps->activation_bytes()) * 1e-6;
  const double left = static_cast<double>(again->activation_bytes()) * 1e-6;
  const std::string on = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  return {{"8 layers, width 128, 16 rows of 128 tokens", median(kept_times) * 1e3, "ms", 0,
           "a step on " + on + ", activations kept"},
          {"", kept, "MB", 0, "of activations"},
          {"with gradient checkpointing", median(again_times) * 1e3, "ms", 0, "a step"},
          {"", 100 * (median(ratios) - 1), "% more", 35, "at most; median of the rounds"},
          {"", left, "MB", 0, "of activations"},
          {"", 100 * (1 - left / kept), "% less", 50, "at least"}};
}

}  // namespace headlight
