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

struct Way {
  const char* name;
  bool checkpointing = false;
  NumberFormat storage = NumberFormat::kFloat32;
  double most_time = 0;  // % more than with all of it kept; 0: any
};

constexpr Way kWays[] = {
    {"with gradient checkpointing", true, NumberFormat::kFloat32, 35},
    {"kept in float16", false, NumberFormat::kFloat16},
    {"kept in bfloat16", false, NumberFormat::kBfloat16},
    {"kept in bfloat16, with gradient checkpointing", true, NumberFormat::kBfloat16}};

std::unique_ptr<Trainer> trainer_of(const Way& way, int threads) {
  Config config;
  config.layers = 8;
  config.heads = 4;
  config.d_model = 128;
  config.positions = PositionKind::kLearned;
  config.mask.kind = MaskKind::kCausal;
  TrainerOptions options;
  options.threads = threads;
  options.checkpointing = way.checkpointing;
  options.storage = way.storage;
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
  const auto keeps = trainer_of({"kept"}, threads);
  std::vector<std::unique_ptr<Trainer>> others;
  for (const Way& way : kWays) others.push_back(trainer_of(way, threads));
  const TokenBatch batch = random_rows();
  keeps->step(batch);
  for (const auto& other : others) other->step(batch);
  std::vector<double> kept_times;
  std::vector<std::vector<double>> times(others.size()), ratios(others.size());
  for (int round = 0; round < rounds; ++round) {
    kept_times.push_back(seconds([&] { keeps->step(batch); }));
    for (std::size_t i = 0; i < others.size(); ++i) {
      times[i].push_back(seconds([&] { others[i]->step(batch); }));
      ratios[i].push_back(times[i].back() / kept_times.back());
    }
  }
  const double kept = static_cast<double>(keeps->activation_bytes()) * 1e-6;
  const std::string on = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  std::vector<BenchRow> rows = {
      {"8 layers, width 128, 16 rows of 128 tokens", median(kept_times) * 1e3, "ms", 0,
       "a step on " + on + ", activations kept"},
      {"", kept, "MB", 0, "of activations"}};
  for (std::size_t i = 0; i < others.size(); ++i) {
    const double left = static_cast<double>(others[i]->activation_bytes()) * 1e-6;
    rows.push_back({kWays[i].name, median(times[i]) * 1e3, "ms", 0, "a step"});
    rows.push_back({"", 100 * (median(ratios[i]) - 1), "% more", kWays[i].most_time,
                    "at most; median of the rounds"});
    rows.push_back({"", left, "MB", 0, "of activations"});
    rows.push_back({"", 100 * (1 - left / kept), "% less", 50, "at least"});
  }
  return rows;
}

}  // namespace headlight
