// What the tests of training on the graphics card share: the same small model on both sides, and
// how far apart they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "app/gl/training/gl_trainer.h"
#include "core/model/init.h"
#include "core/train/trainer.h"
#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/error_text.h"
#include "tests/support/normalised_error.h"
#include "tests/support/trainer_cases.h"

namespace headlight {

inline constexpr double kRelative = 1e-5;

/// The tests' backend, which is never destroyed.
inline std::shared_ptr<GlBackend> shared() {
  return {std::shared_ptr<void>(), &test::shared_backend()};
}

inline Config small_config(ModelForm form = ModelForm::kTokens) {
  Config c;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 16;
  c.positions = PositionKind::kLearned;
  c.form = form;
  c.mask.kind = form == ModelForm::kClasses ? MaskKind::kNone : MaskKind::kCausal;
  return c;
}

/// With the mechanisms of LLaMA: RMS norm, gates, rotary positions, heads that share others.
inline Config llama_config(ModelForm form = ModelForm::kTokens) {
  Config c = small_config(form);
  c.norm = NormKind::kRms;
  c.activation = Activation::kSwiglu;
  c.positions = PositionKind::kRotary;
  c.rotary = form == ModelForm::kTokens ? RotaryPairs::kHalf : RotaryPairs::kInterleaved;
  c.heads = 4;
  c.kv_heads = 2;
  c.d_head = 6;  // of which a part turns
  c.rotary_width = 4;
  c.bias = false;
  return c;
}

inline TrainerOptions options_for(double dropout = 0) {
  TrainerOptions options;
  options.schedule.peak = 0.01;
  options.dropout = dropout;
  options.clip = 1;
  return options;
}

inline RunShape shape_for(const Config& c) {
  return shape_for(c.form, c.form != ModelForm::kTokens);
}

/// A model on both sides.
struct Pair {
  Pair(const Config& c, const TrainerOptions& options,
       std::shared_ptr<GlBackend> backend = shared())
      : config(c), shape(shape_for(c)) {
    std::vector<Tensor> start = initial_parameters(build_program(c, shape), Init::kGlorot, 5);
    here = std::make_unique<Trainer>(c, shape, start, options);
    there = std::make_unique<GlTrainer>(c, shape, std::move(start), options, std::move(backend));
  }
  TokenBatch batch(std::int64_t rows, std::uint64_t number) const {
    return batch_for(config, shape, rows, number);
  }
  Config config;
  RunShape shape;
  std::unique_ptr<Trainer> here;
  std::unique_ptr<GlTrainer> there;
};

/// Of scores q · k the keys' bias has no gradient but what rounding leaves, of which Adam makes as
/// much as of any other.
inline bool is_noise(std::string_view name) { return name.find("attn.b_K") != name.npos; }

/// W_K of this b_K.
inline std::size_t key_weights(std::span<const Tensor> parameters, std::size_t bias) {
  std::string name = parameters[bias].name;
  name.replace(name.find("b_K"), 3, "W_K");
  std::size_t p = 0;
  while (parameters[p].name != name) ++p;
  return p;
}

inline double worst_gradient(const Learner& got, const Learner& expected) {
  const std::span<const Tensor> parameters = expected.parameters();
  double all = 0;
  std::int64_t cells = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const auto gradient = expected.gradient(p);
    all += rms(gradient) * rms(gradient) * static_cast<double>(gradient.size());
    cells += static_cast<std::int64_t>(gradient.size());
  }
  // Below this a gradient is what rounding left (test_gradients_model.cpp).
  const double least = 1e-3 * std::sqrt(all / static_cast<double>(cells));
  double worst = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::size_t key = is_noise(parameters[p].name) ? key_weights(parameters, p) : p;
    const double size = key == p ? least : std::max(least, rms(expected.gradient(key)));
    worst = std::max(worst, normalised_error(got.gradient(p), expected.gradient(p), size));
  }
  return worst;
}

inline double worst_weight(const Learner& got, const Learner& expected) {
  double worst = 0;
  for (std::size_t p = 0; p < expected.parameters().size(); ++p) {
    const Tensor &one = got.parameters()[p], &other = expected.parameters()[p];
    if (is_noise(other.name)) continue;
    worst = std::max(worst, normalised_error(one.data, other.data, 1e-3));
  }
  return worst;
}

inline void check_step(const TrainStep& got, const TrainStep& expected, double limit = kRelative) {
  CHECK(got.step == expected.step);
  CHECK(got.counted == expected.counted);
  CHECK(got.learning_rate == expected.learning_rate);
  CHECK(got.loss == doctest::Approx(expected.loss).epsilon(limit));
  CHECK(got.hidden_loss == doctest::Approx(expected.hidden_loss).epsilon(limit));
  CHECK(got.gradient_norm == doctest::Approx(expected.gradient_norm).epsilon(limit));
}

inline void check_evaluation(const Evaluation& got, const Evaluation& expected) {
  CHECK(got.loss == doctest::Approx(expected.loss).epsilon(kRelative));
  CHECK(got.counted == expected.counted);
  CHECK(got.hidden.loss == doctest::Approx(expected.hidden.loss).epsilon(kRelative));
  CHECK(got.hidden.counted == expected.hidden.counted);
  CHECK(got.hidden.correct == expected.hidden.correct);
  CHECK(got.correct == expected.correct);
  CHECK(got.rows == expected.rows);
  CHECK(got.rows_correct == expected.rows_correct);
}

}  // namespace headlight
