// What the tests of training on the graphics card share: the same small model on both sides, and
// how far apart they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "app/gl/gl_trainer.h"
#include "core/error.h"
#include "core/model/init.h"
#include "core/random.h"
#include "core/train/trainer.h"
#include "tests/normalised_error.h"
#include "tests/test_gl_backend_support.h"

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

inline TrainerOptions options_for(double dropout = 0) {
  TrainerOptions options;
  options.schedule.peak = 0.01;
  options.dropout = dropout;
  options.clip = 1;
  return options;
}

/// Rows of lengths 2 to all, other ones for each `number`; what follows a token is easy to learn.
inline TokenBatch batch_for(const RunShape& shape, const Config& c, std::int64_t rows,
                            std::uint64_t number) {
  const auto draw = [&](std::uint64_t i, std::int64_t n) {
    return static_cast<int>(scatter(1000 * number + i) % static_cast<std::uint64_t>(n));
  };
  const bool classes = c.form == ModelForm::kClasses;
  TokenBatch b{rows, shape.positions, {}, {}};
  b.sources = shape.source;
  const auto vocab = static_cast<int>(shape.vocab);
  for (std::uint64_t r = 0; r < static_cast<std::uint64_t>(rows); ++r) {
    int length = static_cast<int>(shape.positions);
    if (shape.padded) length = 2 + draw(500 + r, shape.positions - 1);
    b.lengths.push_back(length);
    if (b.sources > 0) b.source_lengths.push_back(1 + draw(700 + r, b.sources));
    for (int t = 0; t < static_cast<int>(b.positions); ++t) {
      b.tokens.push_back(draw(20 * r + static_cast<std::uint64_t>(t), vocab));
      if (!classes) b.targets.push_back(t < length ? (b.tokens.back() + 3) % vocab : -1);
    }
    if (classes) b.targets.push_back(b.tokens[20 * r % b.tokens.size()] % 4);
    for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(b.sources); ++t)
      b.source.push_back(draw(400 + 10 * r + t, vocab));
  }
  return b;
}

inline RunShape shape_for(const Config& c) {
  RunShape shape{.batch = 1, .positions = 6, .vocab = 9, .padded = c.form != ModelForm::kTokens};
  if (c.form == ModelForm::kClasses) shape.classes = 4;
  if (c.form == ModelForm::kTranslate) shape.source = 7;
  return shape;
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
    return batch_for(shape, config, rows, number);
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
  CHECK(got.gradient_norm == doctest::Approx(expected.gradient_norm).epsilon(limit));
}

inline void check_evaluation(const Evaluation& got, const Evaluation& expected) {
  CHECK(got.loss == doctest::Approx(expected.loss).epsilon(kRelative));
  CHECK(got.counted == expected.counted);
  CHECK(got.correct == expected.correct);
  CHECK(got.rows == expected.rows);
  CHECK(got.rows_correct == expected.rows_correct);
}

template <class F>
std::string problem(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool has(const std::string& text, const std::string& words) {
  CAPTURE(text);
  return text.find(words) != std::string::npos;
}

}  // namespace headlight
