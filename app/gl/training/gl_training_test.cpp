#include "app/gl/training/gl_training_test.h"

#include <algorithm>

#include "app/gl/training/gl_trainer.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/check/compare.h"
#include "core/model/init.h"
#include "core/train/trainer.h"

namespace headlight {
namespace {

constexpr std::int64_t kRows = 3, kVocab = 11;

struct Trial {
  OptimizerKind optimizer{};
  double momentum = 0;
  int heads = 1;
  bool is_llama = false;  // RMS norm, gates, rotary positions, shared heads
};
// Heads of 24 and of 48 features: attention has a program for each (AttentionTiles::short_width).
constexpr Trial kTrials[] = {{OptimizerKind::kSgd, 0, 2},
                             {OptimizerKind::kSgd, 0.9, 1},
                             {OptimizerKind::kAdam, 0, 2},
                             {OptimizerKind::kAdamW, 0, 1},
                             {OptimizerKind::kAdamW, 0, 2, true}};

// Without biases: that of the keys has a gradient of nothing but rounding, of which Adam makes as
// much as of any other.
Config config_for(const Trial& trial) {
  Config c;
  c.layers = 1;
  c.heads = trial.heads;
  c.d_model = 48;
  c.positions = PositionKind::kLearned;
  c.mask.kind = MaskKind::kCausal;
  c.bias = false;
  if (!trial.is_llama) return c;
  c.norm = NormKind::kRms;
  c.activation = Activation::kSwiglu;
  c.positions = PositionKind::kRotary;
  c.rotary_width = 16;
  c.kv_heads = 1;
  return c;
}

TrainerOptions options_for(const Trial& trial) {
  TrainerOptions options;
  options.optimizer = default_options(trial.optimizer);
  options.optimizer.momentum = trial.momentum;
  options.optimizer.epsilon = 1e-4;  // gradients that are next to nothing decide less
  options.schedule.peak = 0.01;
  options.dropout = 0.2;
  options.clip = 0.5;
  return options;
}

// Rows of several lengths, the longest of which is longer than a tile.
TokenBatch batch_for(const RunShape& shape, std::uint64_t number) {
  TokenBatch b{kRows, shape.positions, {}, {}};
  for (std::int64_t r = 0; r < kRows; ++r) {
    const std::int64_t length = std::max<std::int64_t>(1, shape.positions - 7 * r);
    b.lengths.push_back(static_cast<int>(length));
    for (std::int64_t t = 0; t < shape.positions; ++t) {
      const std::uint64_t bits =
          scatter(1000 * number + static_cast<std::uint64_t>(r * shape.positions + t));
      b.tokens.push_back(static_cast<int>(bits % kVocab));
      b.targets.push_back(t < length ? (b.tokens.back() + 3) % static_cast<int>(kVocab) : -1);
    }
  }
  return b;
}

std::vector<float> gradients_of(const Learner& learner) {
  std::vector<float> all;
  for (std::size_t p = 0; p < learner.parameters().size(); ++p) {
    const std::span<const float> one = learner.gradient(p);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::vector<float> changes_of(const Learner& learner, std::span<const Tensor> start) {
  std::vector<float> all;
  const std::span<const Tensor> now = learner.parameters();
  for (std::size_t p = 0; p < now.size(); ++p) {
    // A learner has them in the program's order, which need not be that of the start.
    const auto before = std::find_if(start.begin(), start.end(),
                                     [&](const Tensor& t) { return t.name == now[p].name; });
    for (std::size_t i = 0; i < now[p].data.size(); ++i)
      all.push_back(now[p].data[i] - before->data[i]);
  }
  return all;
}

double error_of(const Trial& trial, GlBackend& gl) {
  const Config config = config_for(trial);
  const RunShape shape{.batch = 1,
                       .positions = gl.kernel_table().attention.tile() + 5,
                       .vocab = kVocab,
                       .padded = true};
  const std::vector<Tensor> start =
      initial_parameters(build_program(config, shape), Init::kGlorot, 5);
  const TrainerOptions options = options_for(trial);
  Trainer here(config, shape, start, options);
  // The caller keeps the backend.
  GlTrainer there(config, shape, start, options, {std::shared_ptr<void>(), &gl});
  const TokenBatch first = batch_for(shape, 1), second = batch_for(shape, 2);
  here.step(first);
  there.step(first);
  const double error = difference(gradients_of(there), gradients_of(here)).error;
  here.step(second);
  there.step(second);
  return std::max(error, difference(changes_of(there, start), changes_of(here, start)).error);
}

}  // namespace

int training_trials() { return static_cast<int>(std::size(kTrials)); }

void try_training(GlBackend& gl, int number, std::vector<GlTrainingFailure>& failures) {
  const Trial& trial = kTrials[number];
  const double limit = is_software_renderer(gl.device().renderer) ? 1e-9 : 1e-7;
  GlTrainingFailure failure{trial.optimizer, 0, limit, {}};
  try {
    failure.error = error_of(trial, gl);
    if (failure.error <= limit) return;
  } catch (const Error& error) {
    const std::string& id = error.message().id;
    if (id == "gpu.lost" || id == "gpu.memory") throw;
    failure.message = error.message();
  }
  const bool known = !failures.empty() && failures.back().optimizer == trial.optimizer;
  if (!known) failures.push_back(std::move(failure));
}

std::vector<GlTrainingFailure> test_training(GlBackend& gl) {
  std::vector<GlTrainingFailure> failures;
  for (int trial = 0; trial < training_trials(); ++trial) try_training(gl, trial, failures);
  return failures;
}

}  // namespace headlight
