// The small classifiers of the lab of pooling: each way to make one row of all words' rows, without
// a layer of attention and with one, for judgements without "not" and with it.
#pragma once

#include <array>

#include "core/lab/lab_training.h"

namespace headlight {

struct PoolWay {
  const char* id;
  PoolKind kind;
};
inline constexpr std::array<PoolWay, 5> kPoolWays = {{{"mean", PoolKind::kMean},
                                                      {"last", PoolKind::kLast},
                                                      {"first", PoolKind::kFirst},
                                                      {"vector", PoolKind::kVector},
                                                      {"foci", PoolKind::kFoci}}};

/// Judgements without "not", where one word decides, or all, where it turns others round; a model
/// of no layer or of one.
struct PoolSetting {
  bool negated = false;
  int layers = 0;
};

/// Of the generated task "sentiment".
std::shared_ptr<const Task> opinions(bool negated);
/// All of them, for LabRun::trained().
std::vector<Tensor> train_pools(LabRun&);
/// What their curves and weights are kept as: "plain.0.mean".
std::string pool_name(const PoolWay&, const PoolSetting&);
/// One of them.
std::shared_ptr<const Model> pool_model(const PoolWay&, const PoolSetting&,
                                        std::span<const Tensor> kept);

}  // namespace headlight
