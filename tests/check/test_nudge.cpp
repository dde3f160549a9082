// Nudge: the slope that a person sees agrees with the backward pass, for cells of every tensor,
// and the run that is looked at stays as it was.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/autodiff/backward.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/check/nudge.h"
#include "core/model/sandbox.h"
#include "core/run/run_trace.h"

namespace headlight::test_nudge {
namespace {

/// A run of a training program, and the backward pass after it.
struct Run {
  Run(const Config& c, std::uint64_t seed, const char* name = "reference")
      : backend(make_backend(name, 1)) {
    RunInput input = sandbox_input({"the", "cat", "sat", "on", "the", "mat"});
    if (c.form == ModelForm::kClasses) input.classes = {"bad", "good", "none"};
    if (c.form == ModelForm::kTranslate) {
      input.source_tokens = {"sat", "mat", "the", "cat"};
      input.source_ids = {2, 4, 0, 1};
    }
    const RunShape shape{.batch = 1,
                         .positions = static_cast<std::int64_t>(input.ids.size()),
                         .vocab = static_cast<std::int64_t>(input.vocab.size()),
                         .classes = static_cast<std::int64_t>(input.classes.size()),
                         .source = static_cast<std::int64_t>(input.source_ids.size())};
    SandboxModel weights(seed);
    program = std::make_shared<const Program>(build_training_program(c, shape, true));
    trace = run_trace(program, input, weights, *backend);
    for (std::size_t id = 0; id < program->tensors.size(); ++id) {
      memory.push_back(const_cast<float*>(trace->tensor(static_cast<TensorId>(id)).data));
    }
    pass = std::make_unique<Backward>(program);
    pass->seed_loss(memory, counted_targets(*program, memory));
    pass->run(*backend, memory);
    loss = mean_loss(*program, memory);
  }
  std::vector<TensorId> with_gradient() const {
    std::vector<TensorId> ids;
    for (std::size_t id = 0; id < memory.size(); ++id) {
      if (pass->gradient(static_cast<TensorId>(id)).data) ids.push_back(static_cast<TensorId>(id));
    }
    return ids;
  }
  double gradient(TensorId id, std::int64_t cell) const { return pass->gradient(id).data[cell]; }
  Nudge move(TensorId id, std::int64_t cell, double step) const {
    return nudge(*trace, id, unravel(trace->tensor(id).axes, cell), step, *backend);
  }
  /// With the step that nudge_step() chooses.
  Nudge move(TensorId id, std::int64_t cell) const {
    const TensorView t = trace->tensor(id);
    return move(id, cell, nudge_step(t, unravel(t.axes, cell), gradient(id, cell), loss));
  }
  std::vector<std::vector<float>> cells() const {
    std::vector<std::vector<float>> all;
    for (std::size_t id = 0; id < memory.size(); ++id) {
      const auto span = trace->tensor(static_cast<TensorId>(id)).cells();
      all.emplace_back(span.begin(), span.end());
    }
    return all;
  }

  std::unique_ptr<Backend> backend;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Trace> trace;
  std::vector<float*> memory;
  std::unique_ptr<Backward> pass;
  double loss = 0;
};

Config small(ModelForm form) {
  Config c;
  c.form = form;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 8;
  c.d_hidden = 12;
  c.positions = PositionKind::kLearned;
  c.attention = AttentionKind::kNarrow;
  c.mask.kind = MaskKind::kCausal;
  return c;
}

/// A decoder, an encoder–decoder and a classifier, which have every operation between them.
std::vector<Config> configs() {
  Config decoder = small(ModelForm::kTokens), both = small(ModelForm::kTranslate);
  Config classifier = small(ModelForm::kClasses);
  decoder.block = BlockKind::kPreNorm;
  decoder.temperature = 2;
  both.block = BlockKind::kPostNorm;
  both.scores = ScoreKind::kAdditive;
  both.activation = Activation::kGeluTanh;
  classifier.block = BlockKind::kPreNorm;
  classifier.mask.kind = MaskKind::kNone;
  classifier.activation = Activation::kRelu;
  return {decoder, both, classifier};
}

// Places of up to `count` finite cells.
std::vector<std::int64_t> drawn_cells(const TensorView& t, std::uint64_t count) {
  std::vector<std::int64_t> cells;
  for (std::uint64_t draw = 0; draw < count; ++draw) {
    const std::uint64_t at =
        scatter(hash_text(t.name) + draw) % static_cast<std::uint64_t>(t.size());
    if (std::isfinite(t.data[at])) cells.push_back(static_cast<std::int64_t>(at));
  }
  return cells;
}

double rms(std::span<const float> cells) {
  double sum = 0;
  for (const float cell : cells) sum += static_cast<double>(cell) * cell;
  return std::sqrt(sum / static_cast<double>(cells.size()));
}

}  // namespace

TEST_CASE("nudge: slopes agree with the backward pass") {
  const char* backends[] = {"reference", "cpu", "cpu"};
  for (std::size_t kind = 0; kind < configs().size(); ++kind) {
    const Config c = configs()[kind];
    CAPTURE(word(c.form));
    const Run run(c, 3, backends[kind]);
    int felt = 0;
    double worst = 0;
    for (const TensorId id : run.with_gradient()) {
      const TensorView t = run.trace->tensor(id);
      CAPTURE(t.name);
      const double usual = rms(run.pass->gradient(id).cells());
      for (const std::int64_t cell : drawn_cells(t, 4)) {
        CAPTURE(cell);
        const Nudge n = run.move(id, cell);
        const double g = run.gradient(id, cell), off = std::fabs(n.slope() - g);
        CHECK(n.value == t.data[cell]);
        CHECK(n.loss == run.loss);
        // What cancels in a cell is bent as in the others of its tensor. How sums are rounded
        // depends on the compiler: twice what is usual, half of what the window still calls
        // rounding.
        CHECK(off <= 0.03 * std::fabs(g) + 0.01 * usual + 2 * n.rounding_error());
        if (std::fabs(g) < 20 * n.rounding_error() || std::fabs(g) < 0.1 * usual) continue;
        ++felt;
        worst = std::max(worst, off / std::fabs(g));
      }
    }
    MESSAGE(felt << " cells beyond rounding, the worst off by " << worst);
    CHECK(felt > 200);
    CHECK(worst < 0.04);
  }
}

TEST_CASE("nudge: the run that is looked at stays as it was, bit by bit") {
  for (const Config& c : configs()) {
    CAPTURE(word(c.form));
    const Run run(c, 5);
    const auto before = run.cells();
    for (const TensorId id : run.with_gradient()) {
      for (const std::int64_t cell : drawn_cells(run.trace->tensor(id), 1)) run.move(id, cell);
    }
    const auto after = run.cells();
    for (std::size_t id = 0; id < before.size(); ++id) {
      CAPTURE(run.program->tensors[id].name);
      CHECK(std::memcmp(before[id].data(), after[id].data(), before[id].size() * 4) == 0);
    }
  }
}

TEST_CASE("nudge: the losses are those of a whole run with the cell changed") {
  const Run run(configs()[0], 4);
  const Program& p = *run.program;
  for (const char* name : {"embed.W_E", "blocks.1.attn.W_Q", "blocks.0.ln1.b"}) {
    CAPTURE(name);
    const TensorId id = p.require(name);
    const Nudge n = run.move(id, 9 % run.trace->tensor(id).size(), 0.25);
    // The same cell changed before the first call, in a copy of everything.
    auto all = run.cells();
    std::vector<float*> memory;
    for (std::size_t t = 0; t < all.size(); ++t) {
      memory.push_back(all[static_cast<std::size_t>(p.resolve(static_cast<TensorId>(t)))].data());
    }
    float& cell = all[static_cast<std::size_t>(id)]
                     [static_cast<std::size_t>(9 % run.trace->tensor(id).size())];
    const float value = cell;
    for (const bool up : {true, false}) {
      cell = value + (up ? 0.25f : -0.25f);
      run.backend->run(p, p.calls, memory);
      CHECK(mean_loss(p, memory) == (up ? n.loss_up : n.loss_down));
    }
    CHECK(n.loss_up != n.loss_down);
  }
}

TEST_CASE("nudge: an alias is its owner, the loss is its own share, what leads nowhere is level") {
  const Run run(configs()[0], 4);
  const Program& p = *run.program;
  const Nudge owner = run.move(p.require("blocks.0.resid_post"), 11, 0.125);
  const Nudge alias = run.move(p.require("blocks.1.resid_pre"), 11, 0.125);
  CHECK(owner.loss_up == alias.loss_up);
  CHECK(owner.loss_down == alias.loss_down);
  CHECK(owner.slope() != 0);
  CHECK(owner.step == 0.125);
  CHECK(owner.slope() == (owner.loss_up - owner.loss_down) / 0.25);
  const Nudge loss = run.move(p.loss, 1, 0.5);
  CHECK(loss.slope() == doctest::Approx(1.0 / 5));  // five of six positions are counted
  CHECK(run.move(p.loss, 5, 0.5).slope() == 0);     // nothing comes after the last one
  CHECK(run.move(p.require("probs"), 3, 0.125).slope() == 0);
}

TEST_CASE("nudge: a step is a power of two that the cell can make") {
  const Axis axis{"feature", 4};
  Tensor t{"x", {axis}, {}};
  t.data = {0.25f, -0.25f, 0.25f, 1000.0f};
  const auto step = [&](std::int64_t cell, double gradient) {
    const std::int64_t index[] = {cell};
    return nudge_step(view(t), index, gradient, 2.0);
  };
  int exponent = 0;
  CHECK(std::frexp(step(0, 0.1), &exponent) == 0.5);
  CHECK(step(0, 1e-4) == 1);  // the loss of 2 moves by a ten-thousandth of it
  // The size of these cells is about 500: no less than 1/65536 of it, no more than 1/64.
  CHECK(step(0, 1e-9) == 8);
  CHECK(step(0, 1e9) == 1.0 / 128);
  CHECK(1000.0f + static_cast<float>(step(3, 1e9)) > 1000.0f);
  t.data = {0, 0, 0, 0};
  CHECK(step(0, 1e-9) == 1.0 / 64);  // biases of 0 act as other cells do
  CHECK(step(0, 0) == 1.0 / 256);    // a large step may pass the bend of a ReLU
  CHECK(step(0, NAN) == 1.0 / 256);
}

TEST_CASE("nudge: what cannot be nudged is refused, and says what to choose") {
  const Run run(configs()[0], 4);
  const Program& p = *run.program;
  const auto refusal = [&](const char* name, std::int64_t cell, double step) -> std::string {
    try {
      run.move(p.require(name), cell, step);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  for (const char* name : {"token_ids", "mask", "targets"}) {
    const std::string said = refusal(name, 0, 0.1);
    CHECK(said.starts_with(name));
    CHECK(said.find("Choose a weight") != std::string::npos);
  }
  const std::string masked = refusal("blocks.0.attn.scores_masked", 1, 0.1);
  CHECK(masked.find("−∞") != std::string::npos);
  CHECK(refusal("blocks.0.attn.scores_masked", 0, 0.1).empty());
  for (const double step : {0.0, -0.1, 1e-12, 1e39, double{NAN}}) {
    CHECK(refusal("blocks.0.attn.q", 0, step).find("positive step") != std::string::npos);
  }

  // A model that was not built to learn.
  RunInput input = sandbox_input({"the", "cat"});
  Config c = small(ModelForm::kTokens);
  SandboxModel weights(3);
  const auto trace =
      run_trace(std::make_shared<const Program>(build_program(c, {.positions = 2, .vocab = 2})),
                input, weights, *run.backend);
  const std::int64_t index[] = {0, 0, 0};
  CHECK_THROWS_AS(nudge(*trace, trace->program().require("embed"), index, 0.1, *run.backend),
                  UsageError);
}

}  // namespace headlight::test_nudge
