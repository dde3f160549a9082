// Training's fused runs beside the runs that a person looks at: the same losses and gradients, no
// memory asked for, not more of it held than promised.
#include <doctest/doctest.h>

#include "core/graph/fusion.h"
#include "core/model/init.h"
#include "core/train/trainer.h"
#include "tests/support/allocations.h"
#include "tests/support/training_model.h"

namespace headlight::test_gradients_fused {
namespace {

/// The largest difference between a fused run and backward pass and the operations one by one, on
/// Eigen.
double fused_error(const Config& config, const RunShape& shape) {
  TrainingModel plain(config, shape), fused(config, shape);
  const auto cpu = make_cpu_backend(1);
  plain.run(*cpu);
  plain.run_backward(*cpu);
  const auto fusion = std::make_shared<const Fusion>(*fused.program);
  const auto fusing = make_fusing_backend(fusion);
  fused.run(*fusing);
  Backward pass(fused.program, KeptGradients::kParameters, fusion);
  pass.seed_loss(fused.memory, counted_targets(*fused.program, fused.memory));
  pass.run(*fusing, fused.memory);
  const TensorId logits = fused.program->require("logits");
  double worst = normalised_error(fused.cells(logits), plain.cells(logits), 0.01);
  for (const FusedAttention& a : fusion->attentions()) {
    const auto expected = plain.cells(a.pattern), got = fused.cells(a.pattern);
    // Blocks that the mask forbids are not written: see test_gradients_sparse.cpp.
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(got[i]) && expected[i] == 0) got[i] = 0;
    }
    worst = std::max(worst, normalised_error(got, expected, 0.01));
  }
  for (const TensorId id : fused.of_kind(TensorKind::kParameter)) {
    const auto got = pass.gradient(id).cells(), expected = plain.backward.gradient(id).cells();
    CAPTURE(fused.program->tensors[static_cast<std::size_t>(id)].name);
    // The keys' biases have no gradient but rounding: softmax does not see what all scores share.
    const double all = rms(plain.backward.parameters());
    const double least = fused.program->tensors[static_cast<std::size_t>(id)].name.ends_with(".b_K")
                             ? all
                             : 0.03 * all;
    const double error = normalised_error(got, expected, least);
    CHECK(error < 2e-5);
    worst = std::max(worst, error);
  }
  return worst;
}

Config small(MaskKind mask) {
  Config c;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 20;
  c.mask.kind = mask;
  c.mask.padding = {0, 3, 40};
  for (int i = 0; i < 64; ++i) {
    c.mask.forbidden.insert(2, i);               // a row with no key at all
    if (i >= 17) c.mask.forbidden.insert(i, 9);  // and a key that most may not look at
    for (int j = 30; j < 64 && i >= 16 && i < 48; ++j) c.mask.forbidden.insert(i, j);
    for (int j = 0; j < 64 && i >= 48; ++j) c.mask.forbidden.insert(i, j);  // a whole block
  }
  return c;
}

struct TrainingShape {
  const char* name;
  int vocab, d_model, heads, layers, positions, batch;
};
constexpr TrainingShape kShapes[] = {{"tiny", 32, 32, 2, 1, 16, 32},
                                     {"toy", 64, 64, 4, 2, 64, 32},
                                     {"small", 96, 128, 4, 4, 128, 16}};

std::unique_ptr<Trainer> trainer_of(const TrainingShape& s, int threads) {
  Config config;
  config.layers = s.layers;
  config.heads = s.heads;
  config.d_model = s.d_model;
  config.positions = PositionKind::kLearned;
  TrainerOptions options;
  options.threads = threads;
  options.clip = 1;
  const Program program = build_program(config, {1, s.positions, s.vocab});
  return std::make_unique<Trainer>(config, s.vocab, s.positions,
                                   initial_parameters(program, Init::kNormal, 1), options);
}

TokenBatch batch_of(const TrainingShape& s, int rows) {
  TokenBatch batch{rows, s.positions, {}, {}};
  for (int i = 0; i < rows * s.positions; ++i) {
    batch.tokens.push_back(i % s.vocab);
    batch.targets.push_back((i + 1) % s.vocab);
  }
  return batch;
}

}  // namespace

TEST_CASE("fused: every configuration has the losses and gradients of its operations one by one") {
  int fused = 0, alone = 0;
  double worst = 0;
  for_all_configs([&](Config c) {
    c.d_model = 22;
    c.d_hidden = 35;
    worst = std::max(worst, fused_error(c, sized(c, 3, 13, 19)));
    const Fusion fusion(build_training_program(c, sized(c, 1, 4, 5)));
    // The encoder's, the decoder's, and between them, where no distances stand between products.
    const int own = c.is_relative() ? 0 : 1, crossing = c.form == ModelForm::kTranslate ? 1 : 0;
    const int attentions = c.scores == ScoreKind::kDot ? own * (1 + crossing) + crossing : 0;
    CHECK(std::ssize(fusion.attentions()) == attentions * c.layers);
    attentions > 0 ? ++fused : ++alone;
  });
  CHECK(fused == 22);
  CHECK(alone == 58);
  MESSAGE("largest normalised error " << worst);
}

TEST_CASE("fused: every mask, at lengths about whole blocks and widths about whole packets") {
  double worst = 0;
  for (const auto& mask : choices(MaskKind{})) {
    CAPTURE(mask.word);
    for (const std::int64_t positions : {1, 7, 15, 16, 17, 31, 33, 48, 61}) {
      CAPTURE(positions);
      Config c = small(mask.value);
      c.d_head = positions % 2 == 0 ? 16 : static_cast<int>(positions % 19);
      c.temperature = positions % 3 == 0 ? 0.7 : 1;
      c.scale = positions % 5 != 1;
      c.activation = choices(Activation{})[static_cast<std::size_t>(positions) % 6].value;
      worst = std::max(worst, fused_error(c, {2, positions, 11}));
    }
  }
  MESSAGE("largest normalised error " << worst);
}

TEST_CASE("fused: turned queries and keys, and heads that share keys and values") {
  double worst = 0;
  for (const RotaryPairs pairs : {RotaryPairs::kHalf, RotaryPairs::kInterleaved}) {
    for (const std::int64_t positions : {1, 16, 17, 33, 61}) {
      for (const int kv_heads : {1, 2, 6}) {
        CAPTURE(positions);
        CAPTURE(kv_heads);
        Config c = small(positions == 33 ? MaskKind::kFree : MaskKind::kCausal);
        c.heads = 6;
        c.kv_heads = kv_heads;
        c.d_head = kv_heads == 2 ? 17 : 8;
        c.positions = positions == 16 ? PositionKind::kNone : PositionKind::kRotary;
        c.rotary = pairs;
        c.rotary_width = kv_heads == 2 ? 10 : 0;
        c.norm = NormKind::kRms;
        c.activation = Activation::kSwiglu;
        const Fusion fusion(build_training_program(c, {2, positions, 11}));
        REQUIRE(fusion.attentions().size() == 1);
        CHECK((fusion.attentions()[0].turn >= 0) == c.has_rotary());
        worst = std::max(worst, fused_error(c, {2, positions, 11}));
      }
    }
  }
  MESSAGE("largest normalised error " << worst);
}

TEST_CASE("fused: rows of a batch may have masks of their own") {
  const Config c = small(MaskKind::kCausal);
  const RunShape shape = {3, 37, 5};
  TrainingModel plain(c, shape), fused(c, shape);
  for (TrainingModel* model : {&plain, &fused}) {
    const auto mask = model->cells(model->program->mask);
    for (std::size_t row = 0; row < 3 * 37; ++row) {  // the last tokens of each are padding
      for (std::size_t key = 36 - 12 * (row / 37); key < 37; ++key)
        mask[row * 37 + key] = -std::numeric_limits<float>::infinity();
    }
  }
  plain.run(*make_cpu_backend(1));
  fused.run(*make_fusing_backend(std::make_shared<const Fusion>(*fused.program)));
  const TensorId logits = fused.program->require("logits");
  CHECK(normalised_error(fused.cells(logits), plain.cells(logits), 0.01) < 1e-5);
}

TEST_CASE("fused: what lies between has neither memory nor a gradient") {
  TrainingModel model(small(MaskKind::kCausal), {1, 5, 4});
  const auto fusion = std::make_shared<const Fusion>(*model.program);
  model.run(*make_fusing_backend(fusion));
  Backward pass(model.program, KeptGradients::kParameters, fusion);
  for (const char* name : {"q", "k", "v", "scores_raw", "scores_scaled", "scores_masked", "z"}) {
    const TensorId id = model.program->require("blocks.0.attn." + std::string(name));
    CAPTURE(name);
    CHECK(fusion->is_left_out(id));
    CHECK(std::isnan(model.cells(id)[0]));
    CHECK(pass.gradient(id).data == nullptr);
  }
  CHECK_FALSE(fusion->is_left_out(model.program->require("blocks.0.attn.pattern")));
  CHECK_FALSE(fusion->is_left_out(model.program->require("blocks.0.attn.concat")));
}

TEST_CASE("trainer: a step after the first allocates nothing") {
  if (!counts_allocations()) {
    MESSAGE("skipped: a sanitizer has its own malloc");
    return;
  }
  for (const int threads : {1, 2}) {
    for (const int rows : {8, 5, 13}) {  // 13: shards of two sizes
      CAPTURE(rows);
      const auto trainer = trainer_of(kShapes[0], threads);
      const TokenBatch batch = batch_of(kShapes[0], rows);
      trainer->step(batch);
      const long before = allocation_count();
      for (int i = 0; i < 5; ++i) trainer->step(batch);
      CHECK(allocation_count() - before == 0);
    }
  }
}

TEST_CASE("trainer: holds at most twice what it needs") {
  for (const TrainingShape& shape : kShapes) {
    CAPTURE(shape.name);
    const auto trainer = trainer_of(shape, 2);
    trainer->step(batch_of(shape, shape.batch));
    const auto held = static_cast<double>(trainer->memory_bytes());
    const auto needed = static_cast<double>(trainer->needed_bytes());
    MESSAGE(std::string(shape.name) << ": " << held / needed << " times");
    CHECK(held <= 2 * needed);
    double model = 0;
    for (const Tensor& p : trainer->parameters()) model += static_cast<double>(p.data.size());
    CHECK(needed > 4 * 4 * model);
  }
}

}  // namespace headlight::test_gradients_fused
