// Gradient checkpointing: the bits of training that keeps every activation, in less memory.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/model/init.h"
#include "core/train/trainer.h"
#include "tests/support/trainer_cases.h"
#include "tests/support/training_model.h"

namespace headlight::test_checkpointing {
namespace {

std::unique_ptr<Trainer> trainer_of(const Config& config, const RunShape& shape, double dropout,
                                    bool checkpointing, int threads = 1) {
  TrainerOptions options;
  options.schedule.peak = 0.003;
  options.dropout = dropout;
  options.threads = threads;
  options.checkpointing = checkpointing;
  return std::make_unique<Trainer>(
      config, shape, initial_parameters(build_program(config, shape), Init::kGlorot, 5), options);
}

// Two steps and a measurement, with and without. Says what share of the activations is kept.
double check_same(const Config& config, const RunShape& shape, double dropout, int threads = 1) {
  const auto keeps = trainer_of(config, shape, dropout, false, threads);
  const auto again = trainer_of(config, shape, dropout, true, threads);
  for (std::uint64_t number = 1; number <= 2; ++number) {
    const TokenBatch batch = batch_for(config, keeps->shape(), 11, number);
    const TrainStep a = keeps->step(batch), b = again->step(batch);
    CHECK(a.loss == b.loss);
    CHECK(a.gradient_norm == b.gradient_norm);
    for (std::size_t p = 0; p < keeps->parameters().size(); ++p) {
      CAPTURE(keeps->parameters()[p].name);
      CHECK(std::ranges::equal(keeps->gradient(p), again->gradient(p)));
    }
    CHECK(keeps->evaluate(batch).loss == again->evaluate(batch).loss);
  }
  CHECK(same_bits(*keeps, *again));
  CHECK(again->blocks() == keeps->blocks());
  return static_cast<double>(again->activation_bytes()) /
         static_cast<double>(keeps->activation_bytes());
}

Config deep(ModelForm form) {
  Config c;
  c.layers = 3;
  c.heads = 2;
  c.d_model = 16;
  c.form = form;
  c.mask.kind = form == ModelForm::kClasses ? MaskKind::kNone : MaskKind::kCausal;
  return c;
}

}  // namespace

TEST_CASE("checkpointing: every configuration learns bit for bit the same") {
  int number = 0;
  for_all_configs([&](Config c) {
    c.layers = 2 + number % 2;
    const RunShape shape = shape_for(c.form, c.form != ModelForm::kTokens);
    check_same(c, shape, number % 3 == 0 ? 0 : 0.2);
    ++number;
  });
  CHECK(number == 80);
}

TEST_CASE("checkpointing: fused attention learns bit for bit the same") {
  int number = 0;
  for_fused_configs([&](Config c) {
    c.layers = 2 + number++ % 2;
    check_same(c, shape_for(c.form, c.form != ModelForm::kTokens), 0);
  });
  CHECK(number == 7);
}

TEST_CASE("checkpointing: whatever mixes, chooses and counts, with dropout and on two threads") {
  for (const auto& mixer : choices(MixerKind{})) {
    CAPTURE(mixer.word);
    Config c = deep(ModelForm::kTokens);
    c.mixer = mixer.value;
    CHECK(check_same(c, shape_for(c.form, false), 0.3, 2) < 0.75);
  }
  Config experts = deep(ModelForm::kTokens);
  experts.experts = 4;
  experts.top_experts = 2;
  experts.balance = 0.1;
  CHECK(check_same(experts, shape_for(experts.form, false), 0.1) < 0.75);
  Config gated = deep(ModelForm::kTranslate);
  gated.activation = Activation::kSwiglu;
  CHECK(check_same(gated, shape_for(gated.form, true), 0.1) < 0.75);
  Config numbers = deep(ModelForm::kTokens);
  numbers.numbers = true;
  numbers.components = 2;
  RunShape shape = shape_for(numbers.form, false);
  shape.in_place = true;
  CHECK(check_same(numbers, shape, 0) < 0.75);
}

TEST_CASE("checkpointing: what rows remember is the same") {
  Config c = deep(ModelForm::kTokens);
  c.memory = 4;
  c.positions = PositionKind::kTransformerXl;
  const RunShape shape = shape_for(c.form, false);
  const auto keeps = trainer_of(c, shape, 0.2, false), again = trainer_of(c, shape, 0.2, true);
  for (std::uint64_t number = 1; number <= 4; ++number) {
    TokenBatch batch = batch_for(keeps->shape(), 9, number);
    batch.follows = number % 3 != 1;
    CHECK(keeps->step(batch).loss == again->step(batch).loss);
  }
  CHECK(same_bits(*keeps, *again));
  REQUIRE(again->memory().size() == 3);
  for (std::size_t l = 0; l < 3; ++l) {
    const auto of = [&](const Trainer& t) {
      return std::get<std::span<const float>>(t.memory()[l].data);
    };
    CHECK(std::ranges::equal(of(*keeps), of(*again)));
  }
}

TEST_CASE("checkpointing: eight layers keep less than half") {
  for (const double dropout : {0.0, 0.2}) {
    Config c = deep(ModelForm::kTokens);
    c.layers = 8;
    const RunShape shape = shape_for(c.form, false);
    CHECK(check_same(c, shape, dropout) < 0.5);
  }
}

// Of rows so long that weights hardly count beside activations, whose gradients count as well.
TEST_CASE("checkpointing: what it is said to need is what it takes") {
  for (const double dropout : {0.0, 0.2}) {
    for (const int threads : {1, 3}) {
      CAPTURE(threads);
      Config c = deep(ModelForm::kTokens);
      c.layers = 8;
      c.d_model = 8;
      c.scores = ScoreKind::kAdditive;
      const RunShape shape{1, 200, 9};
      const auto trainer = trainer_of(c, shape, dropout, true, threads);
      trainer->step(batch_for(trainer->shape(), 11, 1));
      const auto taken = static_cast<double>(trainer->memory_bytes());
      const double needed = training_memory_needed(c, shape, trainer->options(), 11);
      CHECK(needed >= taken);
      CHECK(needed <= 1.5 * taken);
      TrainerOptions keeps = trainer->options();
      keeps.checkpointing = false;
      CHECK(needed < 0.5 * training_memory_needed(c, shape, keeps, 11));
    }
  }
}

}  // namespace headlight::test_checkpointing
