// Training with activations kept in 16 bits: what the backward pass reads, how far the gradients
// are from those of float32, what it saves, and the loss scale.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/autodiff/backward.h"
#include "core/graph/program_memory.h"
#include "core/model/init.h"
#include "core/train/storage/half_run.h"
#include "core/train/trainer.h"
#include "tests/support/trainer_cases.h"
#include "tests/support/training_model.h"

namespace headlight::test_half_storage {
namespace {

constexpr NumberFormat kHalves[] = {NumberFormat::kFloat16, NumberFormat::kBfloat16};

TrainerOptions options_of(NumberFormat storage, double dropout = 0, int threads = 1) {
  TrainerOptions options;
  options.schedule.peak = 0.003;
  options.dropout = dropout;
  options.threads = threads;
  options.storage = storage;
  return options;
}

std::unique_ptr<Trainer> trainer_of(const Config& config, const RunShape& shape,
                                    const TrainerOptions& options) {
  return std::make_unique<Trainer>(
      config, shape, initial_parameters(build_program(config, shape), Init::kGlorot, 5), options);
}

Config deep(int layers = 8) {
  Config c;
  c.layers = layers;
  c.heads = 2;
  c.d_model = 16;
  c.mask.kind = MaskKind::kCausal;
  return c;
}

// The same run where every tensor has memory of its own, and what the plan keeps in 16 bits is
// rounded in its place between the two passes.
std::vector<std::vector<float>> gradients_apart(const Trainer& trainer, const Config& config,
                                                RunShape shape, const TokenBatch& batch,
                                                const TrainerOptions& o) {
  shape.batch = batch.rows;
  const auto program =
      std::make_shared<const Program>(build_training_program(config, shape, o.dropout > 0));
  const auto fusion = std::make_shared<const Fusion>(*program);
  const std::vector<OpCall> calls = calls_for(*program, program->loss);
  Backward pass(program, KeptGradients::kParameters, fusion);
  const HalfStorage plan = plan_half_storage(*program, *fusion, calls, pass.calls(), nullptr);
  std::vector<FloatBuffer> own(program->tensors.size());
  std::vector<float*> memory;
  std::size_t parameter = 0;
  for (std::size_t id = 0; id < own.size(); ++id) {
    own[id].resize(static_cast<std::size_t>(cell_count(program->tensors[id].axes)));
    memory.push_back(own[id].data());
    if (program->tensors[id].kind == TensorKind::kParameter)
      round_to(o.storage, trainer.parameters()[parameter++].data, memory[id]);
  }
  share_aliases(*program, memory);
  fill_own_mask(*program, memory);
  fill_batch(*program, batch, 0, memory);
  fill_dropout(*program, {o.dropout, o.seed, 0, 0}, memory);
  const auto backend = make_fusing_backend(fusion);
  backend->run(*program, calls, memory);
  int kept = 0;
  for (std::size_t id = 0; id < own.size(); ++id) {
    if (plan.places(static_cast<TensorId>(id)).halves < 0) continue;
    round_to(o.storage, own[id], memory[id]);
    ++kept;
  }
  CHECK(kept > 0);
  pass.seed_loss(memory, counted_targets(*program, memory));
  pass.run(*backend, memory);
  std::vector<std::vector<float>> gradients;
  for (std::size_t id = 0; id < own.size(); ++id) {
    if (program->tensors[id].kind != TensorKind::kParameter) continue;
    const auto cells = pass.gradient(static_cast<TensorId>(id)).cells();
    gradients.emplace_back(cells.begin(), cells.end());
  }
  return gradients;
}

void check_as_apart(const Config& config, const RunShape& shape, NumberFormat storage,
                    double dropout) {
  TrainerOptions options = options_of(storage, dropout);
  options.shards = 1;
  const auto trainer = trainer_of(config, shape, options);
  const TokenBatch batch = batch_for(config, trainer->shape(), 5, 1);
  const auto expected = gradients_apart(*trainer, config, shape, batch, options);
  CHECK(std::isfinite(trainer->step(batch).gradient_norm));
  REQUIRE(trainer->parameters().size() == expected.size());
  for (std::size_t p = 0; p < expected.size(); ++p) {
    CAPTURE(trainer->parameters()[p].name);
    CHECK(std::ranges::equal(trainer->gradient(p), expected[p]));
  }
}

// ‖a − b‖ / ‖b‖ of all gradients together.
double apart(const Learner& a, const Learner& b) {
  double difference = 0, all = 0;
  for (std::size_t p = 0; p < a.parameters().size(); ++p) {
    for (std::size_t i = 0; i < a.gradient(p).size(); ++i) {
      const double of_b = b.gradient(p)[i];
      difference += std::pow(a.gradient(p)[i] - of_b, 2);
      all += of_b * of_b;
    }
  }
  return std::sqrt(difference / all);
}

}  // namespace

TEST_CASE("half storage: in every configuration the backward pass reads what was kept, rounded") {
  int number = 0;
  for_all_configs([&](Config c) {
    c.layers = 2 + number % 2;
    check_as_apart(c, shape_for(c.form, c.form != ModelForm::kTokens), kHalves[number % 2],
                   number % 3 == 0 ? 0 : 0.2);
    ++number;
  });
  CHECK(number == 80);
}

TEST_CASE("half storage: fused attention reads what was kept, rounded") {
  int number = 0;
  for_fused_configs([&](Config c) {
    c.layers = 2;
    check_as_apart(c, shape_for(c.form, c.form != ModelForm::kTokens), kHalves[number++ % 2], 0);
  });
  CHECK(number == 7);
}

TEST_CASE("half storage: whatever mixes, chooses and counts") {
  for (const auto& mixer : choices(MixerKind{})) {
    CAPTURE(mixer.word);
    Config c = deep(3);
    c.mixer = mixer.value;
    check_as_apart(c, shape_for(c.form, false), NumberFormat::kBfloat16, 0.3);
  }
  for (const auto& positions : choices(PositionKind{})) {
    CAPTURE(positions.word);
    Config c = deep(3);
    c.positions = positions.value;
    check_as_apart(c, shape_for(c.form, false), NumberFormat::kFloat16, 0);
  }
  Config experts = deep(3);
  experts.experts = 4;
  experts.top_experts = 2;
  experts.balance = 0.1;
  check_as_apart(experts, shape_for(experts.form, false), NumberFormat::kBfloat16, 0.1);
  Config gated = deep(3);
  gated.form = ModelForm::kTranslate;
  gated.activation = Activation::kSwiglu;
  check_as_apart(gated, shape_for(gated.form, true), NumberFormat::kBfloat16, 0);
  Config numbers = deep(3);
  numbers.numbers = true;
  numbers.components = 2;
  RunShape shape = shape_for(numbers.form, false);
  shape.in_place = true;
  check_as_apart(numbers, shape, NumberFormat::kBfloat16, 0);
}

// Beside float32 with the rounded weights the way forward is the same to the bit, and the gradients
// are products of numbers that are each off by at most one unit of rounding. Errors of many numbers
// hardly add up, those of one layer after the other do: eight units are room for three layers.
TEST_CASE("half storage: gradients are those of float32 to within the format's rounding") {
  double worst[2] = {0, 0};
  int number = 0;
  for_all_configs([&](Config c) {
    c.layers = 2 + number++ % 2;
    const RunShape shape = shape_for(c.form, c.form != ModelForm::kTokens);
    for (std::size_t i = 0; i < 2; ++i) {
      const double unit = rounding_unit(kHalves[i]);
      const auto half = trainer_of(c, shape, options_of(kHalves[i], 0.1));
      const auto whole = trainer_of(c, shape, options_of(NumberFormat::kFloat32, 0.1));
      for (Tensor& weights : whole->parameters())
        round_to(kHalves[i], FloatBuffer(weights.data), weights.data.data());
      const TokenBatch batch = batch_for(c, whole->shape(), 11, 1);
      CHECK(half->step(batch).loss == whole->step(batch).loss);
      const double error = apart(*half, *whole) / unit;
      CAPTURE(number);
      CHECK(error > 0);
      CHECK(error < 8);
      worst[i] = std::max(worst[i], error);
    }
  });
  MESSAGE("in units of rounding: float16 " << worst[0] << ", bfloat16 " << worst[1]);
}

// Of a model as it is usually built, also with the weights' own rounding, and made again from what
// was kept.
TEST_CASE(
    "half storage: with rounded weights, and with checkpointing, gradients are near float32's") {
  const Config c = deep(3);
  const RunShape shape = shape_for(c.form, false);
  const auto whole = trainer_of(c, shape, options_of(NumberFormat::kFloat32, 0.1));
  const TokenBatch batch = batch_for(whole->shape(), 11, 1);
  const double loss = whole->step(batch).loss;
  for (const NumberFormat storage : kHalves) {
    for (const bool checkpointing : {false, true}) {
      TrainerOptions options = options_of(storage, 0.1);
      options.checkpointing = checkpointing;
      const auto half = trainer_of(c, shape, options);
      CHECK(half->step(batch).loss == doctest::Approx(loss).epsilon(rounding_unit(storage)));
      const double error = apart(*half, *whole) / rounding_unit(storage);
      CHECK(error > 0);
      CHECK(error < 3);
      MESSAGE(word(storage) << ": " << error << " units");
    }
  }
}

TEST_CASE("half storage: eight layers keep less than half, also beside checkpointing and dropout") {
  for (const NumberFormat storage : kHalves) {
    for (const double dropout : {0.0, 0.2}) {
      for (const bool checkpointing : {false, true}) {
        Config c = deep();
        c.d_model = 32;
        const RunShape shape{1, 24, 9};
        TrainerOptions options = options_of(NumberFormat::kFloat32, dropout);
        options.checkpointing = checkpointing;
        const auto whole = trainer_of(c, shape, options);
        options.storage = storage;
        const auto half = trainer_of(c, shape, options);
        const TokenBatch batch = batch_for(whole->shape(), 16, 1);
        whole->step(batch);
        half->step(batch);
        const double share = static_cast<double>(half->activation_bytes()) /
                             static_cast<double>(whole->activation_bytes());
        MESSAGE("dropout " << dropout << ", checkpointing " << checkpointing << ": " << share);
        CHECK(share < (checkpointing ? 0.8 : 0.5));
      }
    }
  }
}

// What the command and the page say before a run, of rows so long that weights hardly count.
TEST_CASE("half storage: the memory that was said is taken, to within 5 %") {
  for (const double dropout : {0.0, 0.2}) {
    for (const bool checkpointing : {false, true}) {
      Config c = deep();
      c.d_model = 8;
      const RunShape shape{1, 200, 9};
      TrainerOptions options = options_of(NumberFormat::kBfloat16, dropout);
      options.checkpointing = checkpointing;
      const auto trainer = trainer_of(c, shape, options);
      trainer->step(batch_for(trainer->shape(), 11, 1));
      CHECK(kept_activation_bytes(c, shape, options, 11) ==
            static_cast<double>(trainer->activation_bytes()));
      const TrainingMemory said = training_memory(c, shape, options, 11);
      CHECK(said.total() - said.saving ==
            doctest::Approx(static_cast<double>(trainer->memory_bytes())).epsilon(0.05));
    }
  }
}

TEST_CASE("half storage: any number of threads, batches in one update, and what rows remember") {
  Config c = deep(3);
  c.memory = 4;
  c.positions = PositionKind::kTransformerXl;
  const RunShape shape = shape_for(c.form, false);
  const auto one = trainer_of(c, shape, options_of(NumberFormat::kFloat16, 0.2, 1)),
             three = trainer_of(c, shape, options_of(NumberFormat::kFloat16, 0.2, 3));
  for (std::uint64_t number = 1; number <= 4; ++number) {
    TokenBatch batch = batch_for(one->shape(), 9, number);
    batch.follows = number % 3 != 1;
    CHECK(one->step(batch).loss == three->step(batch).loss);
  }
  CHECK(same_bits(*one, *three));
  const Config plain = deep(2);
  const auto a = trainer_of(plain, shape, options_of(NumberFormat::kBfloat16)),
             b = trainer_of(plain, shape, options_of(NumberFormat::kBfloat16, 0, 2));
  const TokenBatch parts[] = {batch_for(a->shape(), 9, 1), batch_for(a->shape(), 9, 2)};
  CHECK(a->step(parts).gradient_norm == b->step(parts).gradient_norm);
  CHECK(same_bits(*a, *b));
}

TEST_CASE("half storage: what is measured is the float32 weights, as they are saved") {
  const Config c = deep(2);
  const RunShape shape = shape_for(c.form, false);
  const auto half = trainer_of(c, shape, options_of(NumberFormat::kBfloat16)),
             whole = trainer_of(c, shape, options_of(NumberFormat::kFloat32));
  const TokenBatch batch = batch_for(half->shape(), 9, 1);
  CHECK(half->evaluate(batch).loss == whole->evaluate(batch).loss);
  CHECK(half->step(batch).loss != whole->step(batch).loss);
}

TEST_CASE("loss scale: it doubles after good steps, halves after a bad one, and stays in bounds") {
  LossScale s;
  for (int i = 0; i < LossScale::kGrowsAfter - 1; ++i) s.meet(true);
  CHECK(s.scale == LossScale::kFirst);
  s.meet(true);
  CHECK(s == LossScale{2 * LossScale::kFirst, 0});
  s.meet(true);
  s.meet(false);
  CHECK(s == LossScale{LossScale::kFirst, 0});
  while (s.can_fall()) s.meet(false);
  s.meet(false);
  CHECK(s.scale == 1);
  s = {LossScale::kMost, LossScale::kGrowsAfter - 1};
  s.meet(true);
  CHECK(s.scale == LossScale::kMost);
}

TEST_CASE("loss scale: it changes no bit of what is learned") {
  const Config c = deep(3);
  const RunShape shape = shape_for(c.form, false);
  const auto large = trainer_of(c, shape, options_of(NumberFormat::kFloat16)),
             none = trainer_of(c, shape, options_of(NumberFormat::kFloat16));
  none->loss_scale().scale = 1;
  for (std::uint64_t number = 1; number <= 3; ++number) {
    const TokenBatch batch = batch_for(large->shape(), 9, number);
    const TrainStep a = large->step(batch), b = none->step(batch);
    CHECK(a.loss_scale == LossScale::kFirst);
    CHECK(b.loss_scale == 1);
    CHECK(a.gradient_norm == b.gradient_norm);
  }
  CHECK(same_bits(*large, *none));
}

TEST_CASE("loss scale: a step whose numbers overflow is skipped, and the run ends where all do") {
  const Config c = deep(2);
  const RunShape shape = shape_for(c.form, false);
  const auto trainer = trainer_of(c, shape, options_of(NumberFormat::kFloat16));
  const TokenBatch batch = batch_for(trainer->shape(), 9, 1);
  trainer->step(batch);
  const float before = trainer->parameters()[1].data[0];
  trainer->parameters()[1].data[0] = 70000;  // no float16
  const TrainStep bad = trainer->step(batch);
  CHECK(bad.skipped);
  CHECK_FALSE(bad.broken());
  CHECK(bad.step == 1);
  CHECK(trainer->loss_scale().scale == LossScale::kFirst / 2);
  CHECK(trainer->parameters()[1].data[0] == 70000);
  trainer->parameters()[1].data[0] = before;
  const TrainStep good = trainer->step(batch);
  CHECK_FALSE(good.skipped);
  CHECK(good.step == 2);  // the skipped one counts: the schedule goes on
  trainer->parameters()[1].data[0] = 70000;
  int skipped = 0;
  while (trainer->step(batch).skipped) ++skipped;
  CHECK(skipped == 15);
  CHECK(trainer->step(batch).broken());
  const auto other = trainer_of(c, shape, options_of(NumberFormat::kBfloat16));
  other->parameters()[1].data[0] = 70000;
  const TrainStep fine = other->step(batch);
  CHECK(fine.loss_scale == 0);
  CHECK_FALSE(fine.broken());
}

}  // namespace headlight::test_half_storage
