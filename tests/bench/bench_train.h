// Speed and memory of training, measured: printed by `headlight bench train` and `bench forward`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

enum class BenchPass { kTrain, kForward };

/// A model that is measured, and the rows of a step.
struct BenchModel {
  const char* name;  // "tiny", "toy", "small"
  int vocab, d_model, heads, layers, positions, batch;
  double asked;  // the share aimed at
};

/// One model, measured. Rates are medians of all rounds.
struct TrainRate {
  BenchModel model;
  std::int64_t parameters = 0;
  double tokens_per_second = 0;
  /// Floating-point operations that the products of the model need, over those that the large
  /// product beside it does in the same time: the median of all rounds, and the middle half of
  /// them.
  double share = 0, share_low = 0, share_high = 0;
  double product_gflops = 0;  // the rate of the large product
  double peak_gflops = 0;     // the machine's multiply-add peak on the same threads
  double peak_share = 0;      // the same operations over those of the peak: the median
  /// Bytes that the trainer holds; and weights, gradients, moments, and the activations kept for
  /// the shards under way.
  double bytes_held = 0, bytes_needed = 0;
};

/// Pre-norm models with GELU, causal masks, learned positions and biases; AdamW. In each round a
/// 2048 × 2048 × 2048 product, a loop of multiply-adds and training take turns, so that whatever
/// else the machine does slows both alike; a round's share is its training rate over the mean rate
/// of the products right before and after it; likewise of the peak. Takes some ten seconds. `only`:
/// one of the models by name; empty: all.
std::vector<TrainRate> bench_train(BenchPass, int threads, int rounds = 11,
                                   std::string_view only = {});
/// The names of the models.
std::vector<std::string> bench_models();

/// As a table, and as JSON.
std::string as_table(BenchPass, int threads, const std::vector<TrainRate>&);
std::string as_json(BenchPass, int threads, const std::vector<TrainRate>&);

}  // namespace headlight
