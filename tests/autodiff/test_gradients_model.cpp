// Gradients of whole models: against central differences, against PyTorch's numbers
// (tests/reference/make_gradients.py), Eigen against the reference, any number of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/allocations.h"
#include "tests/support/reference_checks.h"

namespace headlight::test_gradients_model {
namespace {

// dL/d(cell) by differences of the forward run, to the fourth order in the step.
double difference(TrainingModel& model, Backend& backend, float& cell, float step) {
  const float before = cell;
  const auto at = [&](float steps) {
    cell = before + steps * step;
    model.run(backend);
    return mean_loss(*model.program, model.memory);
  };
  const double near = at(1) - at(-1), far = at(2) - at(-2);
  cell = before;
  return (8 * near - far) / (12 * static_cast<double>(step));
}

}  // namespace

TEST_CASE("model gradients: every configuration against central differences") {
  const auto backend = make_reference_backend();
  std::set<std::string> seen;
  int cells = 0, unsteady = 0;
  double worst = 0;
  const auto check = [&](Config c) {
    c.d_model = 6;
    c.d_hidden = 7;
    c.bias |= c.activation == Activation::kRelu;  // see below
    TrainingModel model(c, sized(c, 2, 5, 4), drops(c));
    for (const std::string_view w : {word(c.activation), word(c.mask.kind), word(c.positions),
                                     word(c.block), word(c.form), word(c.norm), word(c.rotary)}) {
      seen.insert(std::string(w));
    }
    for (const TensorId id : model.of_kind(TensorKind::kParameter)) {
      const TensorSpec& spec = model.program->tensors[static_cast<std::size_t>(id)];
      // The bend of ReLU has no slope: keep what comes before it away from 0.
      const auto weights = model.cells(id);
      if (c.activation == Activation::kRelu && spec.name.ends_with("mlp.W_in")) {
        for (float& weight : weights) weight = std::round(weight) / 8;
      }
      if (c.activation == Activation::kRelu && spec.name.ends_with("mlp.b_in")) {
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i % 2 ? -2.0f : 2.0f;
      }
    }
    model.run(*backend);
    model.run_backward(*backend);
    for (const TensorId id : model.of_kind(TensorKind::kParameter)) {
      const std::string& name = model.program->tensors[static_cast<std::size_t>(id)].name;
      const TensorView gradient = model.backward.gradient(id);
      const auto all = gradient.cells();
      const auto strongest = static_cast<std::size_t>(
          std::max_element(all.begin(), all.end(),
                           [](float a, float b) { return std::fabs(a) < std::fabs(b); }) -
          all.begin());
      for (const std::size_t i :
           {strongest, scatter(static_cast<std::uint64_t>(id)) % all.size()}) {
        float& cell = model.cells(id)[i];
        const double coarse = difference(model, *backend, cell, 1.0f / 64);
        const double expected = difference(model, *backend, cell, 1.0f / 256);
        // How much the step matters says how far the loss curves, or rounding reaches.
        const double unsure = std::fabs(coarse - expected);
        const double off = std::max(0.0, std::fabs(all[i] - expected) - unsure);
        unsteady += unsure > 1e-3;
        CAPTURE(name);
        CAPTURE(i);
        CHECK_MESSAGE(off <= 1e-4 + 1e-3 * std::fabs(expected),
                      "the gradient is " << all[i] << ", differences give " << expected);
        worst = std::max(worst, off);
        ++cells;
      }
    }
  };
  for_all_configs(check);
  for_fused_configs(check);
  CHECK(seen.size() ==
        6 + 6 + 4 + 5 + 3 + 2 + 2 + 4 - 1);  // "none" is a mask and a kind of position
  CHECK(unsteady <= cells / 20);
  MESSAGE(cells << " cells, " << unsteady << " unsteady, largest difference " << worst);
}

TEST_CASE("model gradients: the cpu backend agrees with the reference, for every configuration") {
  const auto cpu = make_cpu_backend(2), reference = make_reference_backend();
  double worst = 0;
  std::string where;
  const auto check = [&](Config c) {
    c.d_model = 22;
    c.d_hidden = 35;
    // Averages of averages are alike, and their scores' gradients nearly cancel.
    c.residual |= c.block == BlockKind::kAttention;
    const RunShape shape = sized(c, 3, 13, 19);
    TrainingModel got(c, shape, drops(c)), expected(c, shape, drops(c));
    got.run(*cpu);
    expected.run(*reference);
    const double loss = mean_loss(*expected.program, expected.memory);
    // Without norms a loss may be large.
    CHECK(std::fabs(mean_loss(*got.program, got.memory) - loss) < 1e-5 * std::max(1.0, loss));
    // From one run: a difference of forward runs grows where softmax is nearly all or nothing.
    got.run(*reference);
    got.run_backward(*cpu);
    expected.run_backward(*reference);
    for (std::size_t id = 0; id < got.program->tensors.size(); ++id) {
      const auto tensor = static_cast<TensorId>(id);
      if (got.program->tensors[id].kind == TensorKind::kInput) continue;
      const double error = normalised_error(got.backward.gradient(tensor).cells(),
                                            expected.backward.gradient(tensor).cells(),
                                            expected.least_gradient(tensor));
      CAPTURE(got.program->tensors[id].name);
      CHECK(error <= 1e-5);
      if (error > worst) worst = error, where = got.program->tensors[id].name;
    }
  };
  for_all_configs(check);
  for_fused_configs(check);
  MESSAGE("largest normalised error " << worst << " of " << where);
}

TEST_CASE("model gradients: PyTorch's, on every backend") {
  const std::vector<Reference> references = read_references("reference/gradients");
  REQUIRE(references.size() >= 10);
  for (const auto& backend : {make_reference_backend(), make_cpu_backend(1)}) {
    ReferenceErrors errors;
    for (const Reference& r : references) check_gradients(r, *backend, errors);
    CHECK(errors.activations > 90);
    MESSAGE(backend->name() << ": " << errors.text());
  }
}

namespace {

// Enough work in every operation that threads share it.
Config shared_config() {
  Config c;
  c.layers = 1;
  c.heads = 5;
  c.d_head = 33;
  c.d_model = 150;
  c.positions = PositionKind::kLearned;
  return c;
}

// Both kinds of scores, and the mechanisms of LLaMA.
std::vector<Config> shared_configs() {
  std::vector<Config> all(3, shared_config());
  all[1].scores = ScoreKind::kAdditive;
  all[2].heads = 6;
  all[2].kv_heads = 2;
  all[2].norm = NormKind::kRms;
  all[2].positions = PositionKind::kRotary;
  all[2].rotary_width = 32;
  all[2].activation = Activation::kSwiglu;
  return all;
}

}  // namespace

TEST_CASE(
    "model gradients: the same bits from any number of threads, and from a second backward pass") {
  for (const Config& c : shared_configs()) {
    TrainingModel first(c, {2, 131, 50});
    const auto one = make_cpu_backend(1);
    first.run(*one);
    first.run_backward(*one);
    for (const int threads : {1, 2, 3, 8}) {
      CAPTURE(threads);
      const auto backend = make_cpu_backend(threads);
      TrainingModel other(c, {2, 131, 50});
      other.run(*backend);
      for (int repeat = 0; repeat < 2; ++repeat) {
        other.run_backward(*backend);
        for (std::size_t id = 0; id < first.program->tensors.size(); ++id) {
          if (first.program->tensors[id].kind == TensorKind::kInput) continue;
          const auto a = first.backward.gradient(static_cast<TensorId>(id)).cells();
          const auto b = other.backward.gradient(static_cast<TensorId>(id)).cells();
          CAPTURE(first.program->tensors[id].name);
          CHECK(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
        }
      }
    }
  }
}

TEST_CASE("model gradients: a second backward pass allocates nothing") {
  if (!counts_allocations()) {
    MESSAGE("skipped: a sanitizer has its own malloc");
    return;
  }
  for (const Config& c : shared_configs()) {
    for (const int threads : {0, 1, 2}) {
      const auto backend = threads == 0 ? make_reference_backend() : make_cpu_backend(threads);
      TrainingModel model(c, {1, threads == 0 ? 3 : 131, 50});
      model.run(*backend);
      model.run_backward(*backend);
      const long before = allocation_count();
      model.run_backward(*backend);
      model.run_backward(*backend, ParameterGradients::kAdded);
      const long after = allocation_count();
      CHECK(after - before == 0);
    }
  }
}

}  // namespace headlight::test_gradients_model
