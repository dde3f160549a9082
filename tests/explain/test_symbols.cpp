// One operation has many pages: each formula names the tensors of its own page, and a line with
// letters says no more than what is added up.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "core/backends/backend.h"
#include "core/explain/arithmetic.h"
#include "core/explain/steps.h"
#include "core/graph/axis_symbols.h"
#include "core/model/sandbox.h"
#include "core/run/run_trace.h"
#include "core/run/runner.h"

namespace headlight::test_symbols {
namespace {

// With gradients.
template <class Change>
std::shared_ptr<const Trace> traced(Change change) {
  Document d;
  d.sentence = "the cat sat on the mat";
  d.config.layers = 1;
  d.config.heads = 2;
  d.config.d_model = 8;
  change(d.config);
  const RunResult result = Runner().run(d, *make_reference_backend(), nullptr, true);
  REQUIRE_MESSAGE(result.trace, result.problem);
  return result.trace;
}

std::shared_ptr<const Trace> pooled_by_foci() {
  Config c;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 8;
  c.form = ModelForm::kClasses;
  c.pool = PoolKind::kFoci;
  c.foci_penalty = 0.1;
  RunInput input = sandbox_input({"a", "good", "day"});
  input.classes = {"bad", "good"};
  const RunShape shape{.batch = 1, .positions = 3, .vocab = 3, .classes = 2};
  SandboxModel model(3);
  return run_trace(std::make_shared<const Program>(build_training_program(c, shape, true)),
                   std::move(input), model, *make_reference_backend());
}

TensorId made(const Trace& trace, Role role) {
  const Program& program = trace.program();
  const TensorId id = program.find(role, static_cast<TensorId>(program.tensors.size()) - 1);
  REQUIRE(id >= 0);
  return id;
}

Explanation explained(const Trace& trace, TensorId id) {
  return explain(trace, id, std::vector<std::int64_t>(trace.tensor(id).axes.size(), 0));
}

std::string formula_of(const Trace& trace, TensorId id) {
  const Program& program = trace.program();
  const Step& step = program.steps[static_cast<std::size_t>(program.step_of(id))];
  return step_text(Language::kEnglish, program, step).formula;
}

}  // namespace

TEST_CASE("symbols: a sum over several rows of a window names no single one of them") {
  const auto trace = traced([](Config& c) { c.mixer = MixerKind::kConvolution; });
  const Program& program = trace->program();
  const auto line = [&](TensorId id, std::vector<std::int64_t> index) {
    return arithmetic_line(*trace, explain(*trace, id, index), {});
  };
  const TensorId window = made(*trace, Role::kWindowSums);
  const TensorId weight = made(*trace, Role::kWindowWeight);
  CHECK(line(window, {0, 3, 5}).starts_with("("));
  CHECK(line(program.gradient(weight), {0, 2, 5}).starts_with("("));
  // What else is a row times a column keeps its letters.
  CHECK(line(made(*trace, Role::kSublayerOutput), {0, 3, 5}).find("(“on”) · W_") !=
        std::string::npos);
}

TEST_CASE("symbols: an operation's formula has those of what it reads") {
  const auto foci = pooled_by_foci();
  CHECK(explained(*foci, made(*foci, Role::kFocusSums)).formula == "Σ_j A[i, j] · x̂[j, d]");
  CHECK(explained(*foci, made(*foci, Role::kFocusOverlap)).formula == "Σ_d A[i, d] · A[j, d]");
  CHECK(explained(*foci, made(*foci, Role::kFocusScores)).formula == "Σ_k W_2[k, f] · u′[t, k]");
  const auto basic = traced([](Config& c) { c.attention = AttentionKind::kBasic; });
  const TensorId weights = basic->program().gradient(made(*basic, Role::kPattern));
  CHECK(explained(*basic, weights).formula == "Σ_d dz[i, d] · x̂[j, d]");
  const auto usual = traced([](Config&) {});
  CHECK(explained(*usual, made(*usual, Role::kScores)).formula == "Σ_d Q[i, d] · K[j, d]");
}

TEST_CASE("symbols: the scores' formula names what is multiplied, marks lowered") {
  const auto xl = traced([](Config& c) { c.positions = PositionKind::kTransformerXl; });
  const TensorId scores = made(*xl, Role::kScores);
  CHECK(formula_of(*xl, scores) == "S = {q|Q}_{u} · {k|K}^{T}");
  CHECK(formula_of(*xl, xl->program().gradient(scores)) ==
        "{q|dQ}_{u} = dS · {k|K},  {k|dK =} dS^{T} · {q|Q}_{u}");
  CHECK(formula_of(*xl, made(*xl, Role::kPlacedScores)) == "S_{r} = S + D");
  CHECK(explained(*xl, made(*xl, Role::kDistanceScores)).formula == "Σ_d Q_v[i, d] · R[i − j, d]");
  const auto turned = traced([](Config& c) { c.positions = PositionKind::kRotary; });
  CHECK(formula_of(*turned, made(*turned, Role::kScores)) == "S = {q|Q′} · {k|K′}^{T}");
}

TEST_CASE("symbols: a sentence that several pages share has the letters of none") {
  const auto trace = traced([](Config& c) { c.experts = 3; });
  const Program& program = trace->program();
  const TensorId id = program.gradient(made(*trace, Role::kGateWeights));
  const Step& step = program.steps[static_cast<std::size_t>(program.step_of(id))];
  for (const Language language : {Language::kEnglish, Language::kChinese})
    CHECK(step_sentence(language, *trace, step, 0, 1).find("dA") == std::string::npos);
}

TEST_CASE("symbols: a single number has no brackets") {
  const auto trace = pooled_by_foci();
  const TensorId loss = made(*trace, Role::kClassLoss);
  CHECK(cell_title(*trace, {loss, {0}}) == "L′");
}

TEST_CASE("symbols: factors of a length are named once each") {
  Program program;
  program.config.d_model = 8;
  program.config.attention = AttentionKind::kBasic;
  program.shape.positions = 3;
  program.shape.memory = 4;
  const auto sizes = [&](std::string_view axis, std::int64_t length) {
    return axis_sizes(program, 0, axis, length);
  };
  using Sizes = std::vector<NamedSize>;
  CHECK(sizes("gate", 24) == Sizes{{SizeKind::kOther, "", 3}, {SizeKind::kModel, "d_model", 8}});
  CHECK(sizes("tap", 24) ==
        Sizes{{SizeKind::kOther, "window", 3}, {SizeKind::kModel, "d_model", 8}});
  CHECK(sizes("tap", 3) == Sizes{{SizeKind::kOther, "window", 3}});
  CHECK(sizes("key", 7) == Sizes{{SizeKind::kOther, "(M + T)", 7}});
}

}  // namespace headlight::test_symbols
