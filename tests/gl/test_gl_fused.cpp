// Attention as one kernel beside its operations one by one, on the device and on the reference
// backend: results, gradients, whole training steps.
#include <doctest/doctest.h>

#include "tests/gl/test_gl_trainer_support.h"
#include "tests/support/attention_case.h"
#include "tests/support/training_model.h"

namespace headlight::test_gl_fused {

using test::check_no_messages;
using test::compute_ready;
using test::reference;
using test::shared_backend;

namespace {

constexpr double kLimit = 1e-9;  // softmax's

/// Runs a case as one kernel. False where that does not fit.
bool run_fused(GlBackend& backend, AttentionRun& run, bool adds = false) {
  GlStorage storage(backend.calls(), 16);
  storage.fusion = backend.fusion_for(run.program);
  if (!storage.fusion) return false;
  CHECK(storage.fusion->attentions().size() == 1);
  backend.use(&storage);
  const std::int64_t before = backend.queue().dispatches();
  run.run(backend, adds);
  // What turns queries and keys runs apart, forward and backward, and what splits their heads.
  const bool splits = run.program.calls[0].op == Op::kSplitHeads;
  const bool turns = run.program.attentions[0].turn >= 0;
  CHECK(backend.queue().dispatches() - before == 5 + (turns ? splits ? 8 : 4 : 0));
  CHECK(backend.guards_hold());
  CHECK(run.guards_hold());
  backend.use(nullptr);
  CHECK(run.memory.cells(run.pattern)[0] == -777.0f);  // nobody wrote it
  return true;
}

double worst_error(AttentionRun& got, AttentionRun& expected) {
  double worst = normalised_error(got.memory.cells(got.out), expected.memory.cells(expected.out));
  for (const TensorId id : {got.q, got.k, got.v})
    worst = std::max(worst, normalised_error(got.gradient(id), expected.gradient(id)));
  return worst;
}

// Of the parameters. The keys' biases have no gradient but rounding.
double worst_gradient(const Backward& got, const Backward& expected) {
  const double all = rms(expected.parameters());
  double worst = 0;
  for (std::size_t id = 0; id < got.program().tensors.size(); ++id) {
    const TensorSpec& spec = got.program().tensors[id];
    if (spec.kind != TensorKind::kParameter) continue;
    const auto tensor = static_cast<TensorId>(id);
    worst = std::max(
        worst, normalised_error(got.gradient(tensor).cells(), expected.gradient(tensor).cells(),
                                spec.name.ends_with(".b_K") ? all : 0.03 * all));
  }
  return worst;
}

// Of a run and a backward pass of a whole model whose attention is one kernel each.
double fused_error(TrainingModel& model, std::shared_ptr<const Fusion> fusion,
                   const Backward& expected) {
  GlStorage storage(shared_backend().calls(), 16);
  storage.fusion = fusion;
  shared_backend().use(&storage);
  model.run(shared_backend());
  Backward pass(model.program, KeptGradients::kParameters, fusion);
  pass.seed_loss(model.memory, counted_targets(*model.program, model.memory));
  pass.run(shared_backend(), model.memory);
  CHECK(shared_backend().guards_hold());
  shared_backend().use(nullptr);
  return worst_gradient(pass, expected);
}

// One that makes the largest score 30, up or down.
float factor_to_30(AttentionCase c) {
  c.factor = 1;
  AttentionRun run(c);
  run.memory.run(reference());
  float most = 0;
  for (const float score : run.memory.cells(run.scores)) most = std::max(most, std::fabs(score));
  return 30 / most;
}

}  // namespace

TEST_CASE("gl fused: results and gradients are those of the reference, and of the steps") {
  if (!compute_ready()) return;
  double worst = 0, apart = 0;
  for (const AttentionCase& c : attention_cases()) {
    CAPTURE(c.text());
    const bool adds = c.sizes.queries % 2 == 0;
    AttentionRun fused(c), steps(c), expected(c);
    REQUIRE(run_fused(shared_backend(), fused, adds));
    expected.run(reference(), adds);
    const double error = worst_error(fused, expected);
    CHECK(error <= kLimit);
    worst = std::max(worst, error);
    steps.run(shared_backend(), adds);
    const double distance = worst_error(fused, steps);
    CHECK(distance <= kLimit);
    apart = std::max(apart, distance);
  }
  check_no_messages();
  MESSAGE("largest error " << worst << ", from the steps " << apart);
}

TEST_CASE("gl fused: scores of up to ±30, and another temperature") {
  if (!compute_ready()) return;
  double worst = 0;
  for (const AttentionMask mask : {AttentionMask::kNone, AttentionMask::kCausal}) {
    for (const double temperature : {1.0, 0.5, 3.0}) {
      AttentionCase c{{2, 2, 37, 71, 24, 24}, mask, true, 1, temperature};
      c.factor = factor_to_30(c);
      AttentionRun fused(c), expected(c);
      REQUIRE(run_fused(shared_backend(), fused));
      expected.run(reference());
      const double error = worst_error(fused, expected);
      CHECK(error <= kLimit);
      worst = std::max(worst, error);
    }
  }
  check_no_messages();
  MESSAGE("largest error " << worst);
}

TEST_CASE("gl fused: rows without a key are zeros, rows with NaN or inf are NaN, no others") {
  if (!compute_ready()) return;
  const AttentionCase c{{1, 2, 40, 70, 8, 8}, AttentionMask::kScattered};
  AttentionRun fused(c), expected(c);
  for (AttentionRun* run : {&fused, &expected}) {
    const auto q = run->memory.cells(run->q);  // rows of 16
    q[3 * 16 + 1] = std::nanf("");
    q[34 * 16 + 9] = kInfinity;
    q[36 * 16 + 2] = -kInfinity;
  }
  expected.memory.run(reference());
  REQUIRE(run_fused(shared_backend(), fused));
  const auto got = fused.memory.cells(fused.out), all = expected.memory.cells(expected.out);
  CHECK(normalised_error(got, all) <= kLimit);
  for (std::size_t e = 0; e < 16; ++e) {
    CHECK(got[2 * 16 + e] == 0.0f);
    CHECK(std::isnan(got[3 * 16 + e]) == (e < 8));
    CHECK(std::isnan(got[34 * 16 + e]) == (e >= 8));
  }
  check_no_messages();
}

TEST_CASE("gl fused: a row without a key has no gradient, whatever the values are") {
  if (!compute_ready()) return;
  const AttentionCase c{{1, 2, 40, 70, 8, 8}, AttentionMask::kScattered};
  AttentionRun fused(c), expected(c);
  for (AttentionRun* run : {&fused, &expected}) run->memory.cells(run->v)[5 * 16 + 1] = kInfinity;
  REQUIRE(run_fused(shared_backend(), fused));
  expected.run(reference());
  CHECK(normalised_error(fused.gradient(fused.q), expected.gradient(expected.q)) <= kLimit);
  for (std::size_t e = 0; e < 16; ++e) CHECK(fused.gradient(fused.q)[2 * 16 + e] == 0.0f);
  CHECK(std::isnan(fused.gradient(fused.q)[3 * 16]));
  check_no_messages();
}

TEST_CASE("gl fused: a device of small groups has small tiles, and the same numbers") {
  if (!compute_ready()) return;
  GlBackendOptions options = test::counting_options();
  options.guard_cells = 16;
  options.limits = shared_backend().device().limits;
  options.limits->group_invocations = 128;
  options.limits->shared_bytes = 8192;
  GlBackend backend(options);
  CHECK(backend.kernel_table().attention.tile() == 16);
  for (const AttentionCase& c :
       {AttentionCase{{2, 2, 17, 33, 31, 31}, AttentionMask::kCausal, true},
        AttentionCase{{1, 1, 16, 15, 128, 100}, AttentionMask::kScattered}}) {
    AttentionRun fused(c), expected(c);
    REQUIRE(run_fused(backend, fused));
    expected.run(reference());
    CHECK(worst_error(fused, expected) <= kLimit);
  }
  check_no_messages();
}

TEST_CASE("gl fused: what does not fit, or is something else, goes step by step") {
  if (!compute_ready()) return;
  GlBackend& backend = shared_backend();
  const auto fits = [&](const AttentionSizes& sizes) {
    return backend.fusion_for(AttentionProgram({sizes}).program) != nullptr;
  };
  CHECK(fits({1, 2, 3, 4, 128, 128}));
  CHECK_FALSE(fits({1, 2, 3, 4, 129, 128}));
  CHECK_FALSE(fits({1, 2, 3, 4, 128, 129}));
  CHECK_FALSE(fits({70000, 2, 3, 4, 1, 1}));
  Config c = small_config();
  const auto fusion_of = [&](const Config& config) {
    return backend.fusion_for(build_training_program(config, shape_for(config), true));
  };
  CHECK(fusion_of(c) != nullptr);
  backend.set_fusing(false);
  CHECK(fusion_of(c) == nullptr);
  backend.set_fusing(true);
  c.scores = ScoreKind::kAdditive;
  CHECK(fusion_of(c) == nullptr);
  // The processor's kernels do not thin out a pattern.
  const Program dropping = build_training_program(small_config(), shape_for(small_config()), true);
  CHECK(Fusion(dropping).attentions().empty());
  CHECK(Fusion(dropping, FusedBy::kCard).attentions().size() == 2);
}

TEST_CASE("gl fused: a model's gradients with every attention, block and mask") {
  if (!compute_ready()) return;
  int fused = 0, loose = 0;
  double worst = 0;
  for_all_configs([&](Config c) {
    c.d_model = 22;
    c.d_hidden = 35;
    const RunShape shape = sized(c, 2, 7, 19);
    TrainingModel got(c, shape, drops(c)), steps(c, shape, drops(c)), expected(c, shape, drops(c));
    const auto fusion = shared_backend().fusion_for(*got.program);
    // Not with additive scores, nor where a distance adds to the scores, as it never does between
    // two rows.
    const bool adds = c.is_relative() && c.form != ModelForm::kTranslate;
    CHECK((fusion != nullptr) == (c.scores == ScoreKind::kDot && !adds));
    if (!fusion) return;
    ++fused;
    expected.run(reference());
    expected.run_backward(reference());
    steps.run(shared_backend());
    steps.run_backward(shared_backend());
    // Where softmax is nearly all or nothing, rounding alone moves the numbers farther: then
    // not more than twice as far as it moves those of the steps.
    const double limit = std::max(kRelative, 2 * worst_gradient(steps.backward, expected.backward));
    const double error = fused_error(got, fusion, expected.backward);
    CHECK(error <= limit);
    loose += error > kRelative;
    worst = std::max(worst, error);
  });
  CHECK(fused >= 16);
  CHECK(loose <= 2);
  check_no_messages();
  MESSAGE(fused << " configurations, largest relative error of a gradient " << worst);
}

TEST_CASE("gl fused: heads that share keys: the same bits from a second run and backward pass") {
  if (!compute_ready()) return;
  for (const AttentionSizes& sizes :
       {AttentionSizes{2, 6, 70, 67, 15, 40, 3}, AttentionSizes{1, 4, 33, 97, 8, 8, 4}}) {
    const AttentionCase c{sizes, AttentionMask::kCausal, true};
    for (const bool fuses : {true, false}) {
      AttentionRun first(c), second(c);
      for (AttentionRun* run : {&first, &second}) {
        if (fuses) CHECK(run_fused(shared_backend(), *run));
        if (!fuses) run->run(shared_backend());
      }
      for (const TensorId id : {first.q, first.k, first.v})
        CHECK(std::ranges::equal(first.gradient(id), second.gradient(id)));
    }
  }
  check_no_messages();
}

TEST_CASE("gl fused: a training step has the gradients of one that goes step by step") {
  if (!compute_ready()) return;
  double worst = 0;
  for (const auto& form : choices(ModelForm{})) {
    for (const double dropout : {0.0, 0.3, 0.4}) {
      CAPTURE(form.word);
      CAPTURE(dropout);
      const Config c = dropout == 0.3 ? small_config(form.value) : llama_config(form.value);
      Pair fused(c, options_for(dropout)), steps(c, options_for(dropout));
      const std::vector<TokenBatch> batches = {fused.batch(5, 1), fused.batch(3, 2)};
      GlQueue& queue = shared_backend().queue();
      std::int64_t before = queue.dispatches();
      const TrainStep got = fused.there->step(batches);
      const std::int64_t few = queue.dispatches() - before;
      shared_backend().set_fusing(false);
      before = queue.dispatches();
      const TrainStep expected = steps.there->step(batches);
      const std::int64_t many = queue.dispatches() - before;
      shared_backend().set_fusing(true);
      CHECK(few < many);
      check_step(got, expected);
      const double error = worst_gradient(*fused.there, *steps.there);
      CHECK(error <= kRelative);
      worst = std::max(worst, error);
      CHECK(fused.there->guards_hold());
      CHECK(fused.there->memory_bytes() < steps.there->memory_bytes());
    }
  }
  check_no_messages();
  MESSAGE("largest relative difference of a gradient " << worst);
}

}  // namespace headlight::test_gl_fused
