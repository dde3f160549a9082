// Numbers as tokens: values known by hand, densities, limits, what a config may ask for, and how a
// sentence of numbers is read.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/graph/program.h"
#include "core/model/sandbox.h"
#include "core/ops/op.h"
#include "core/run/number_curve.h"
#include "core/run/runner.h"
#include "core/text/number_words.h"
#include "core/text/vocabulary.h"

namespace headlight::test_numbers {
namespace {

using Cells = std::vector<float>;

// Each backend's result of one call on rows (1, rows, width).
std::vector<Cells> results(Op op, const std::vector<Cells>& in, std::int64_t width,
                           const OpParams& params) {
  Program p;
  OpCall call{op, {}, static_cast<TensorId>(in.size()), params};
  std::vector<TensorView> views;
  std::vector<Cells> inputs = in;
  std::vector<float*> memory;
  for (Cells& cells : inputs) {
    std::vector<Axis> axes = {{"batch", 1},
                              {"position", static_cast<std::int64_t>(cells.size()) / width}};
    if (op == Op::kMixtureLogits) axes.push_back({"component", width});
    call.in.push_back(static_cast<TensorId>(p.tensors.size()));
    p.tensors.push_back({"in", axes, TensorKind::kInput});
    memory.push_back(cells.data());
  }
  for (const TensorId id : call.in) views.push_back(p.look(id));
  p.tensors.push_back({"result", op_info(op).shape(views, params), TensorKind::kActivation});
  p.calls.push_back(call);
  std::vector<Cells> all;
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(make_reference_backend());
  backends.push_back(make_cpu_backend(2));
  for (const auto& backend : backends) {
    Cells out(static_cast<std::size_t>(cell_count(p.tensors.back().axes)), -777.0f);
    memory.push_back(out.data());
    backend->run(p, p.calls, memory);
    memory.pop_back();
    all.push_back(std::move(out));
  }
  return all;
}

OpParams grid_of(std::int64_t numbers, float spread = 0.1f) {
  OpParams params;
  params.features = numbers;
  params.factor = spread;
  return params;
}

std::string refusal(const Config& c, std::int64_t vocab = 9) {
  try {
    (void)build_program(c, {.positions = 3, .vocab = vocab});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

Config of_numbers(int components = 0) {
  Config c;
  c.layers = 1;
  c.d_model = 6;
  c.d_hidden = 5;
  c.mixer = MixerKind::kNone;
  c.norm = NormKind::kNone;
  c.positions = PositionKind::kNone;
  c.numbers = true;
  c.components = components;
  return c;
}

RunResult run(const Config& config, const std::string& sentence, bool gradients = false) {
  Document document;
  document.sentence = sentence;
  document.config = config;
  Runner runner;
  return runner.run(document, *make_reference_backend(), nullptr, gradients);
}

}  // namespace

TEST_CASE("numbers: an id becomes its number of the grid") {
  for (const Cells& out : results(Op::kNumber, {{0, 1, 2, 3, 4}}, 1, grid_of(5)))
    CHECK(out == Cells{-1, -0.5f, 0, 0.5f, 1});
  for (const Cells& out : results(Op::kNumber, {{26, 100}}, 1, grid_of(101))) {
    CHECK(out[0] == -0.48f);
    CHECK(out[1] == 1);
  }
}

TEST_CASE("numbers: around one number the logits fall with the square of the distance") {
  for (const Cells& out : results(Op::kMixtureLogits, {{0.5f}}, 1, grid_of(5, 0.5f))) {
    const double expected[] = {-4.5, -2, -0.5, 0, -0.5};
    for (std::size_t j = 0; j < 5; ++j) CHECK(out[j] == doctest::Approx(expected[j]));
  }
}

TEST_CASE("numbers: a mixture is the logarithm of its bells' weighted sum") {
  const double h = 0.25, pi = std::acos(-1.0);  // half a step of five numbers
  for (const Cells& out :
       results(Op::kMixtureLogits, {{-1, 0.5f}, {0.25f, 0.75f}, {0, -1}}, 2, grid_of(5))) {
    for (int j = 0; j < 5; ++j) {
      const double v = -1 + 0.5 * j;
      const auto bell = [&](double m, double s) {
        return std::exp(-(v - m) * (v - m) / (2 * s * s)) / (s * std::sqrt(2 * pi));
      };
      const double density = 0.25 * bell(-1, h + 1) + 0.75 * bell(0.5, h + std::exp(-1));
      CHECK(out[static_cast<std::size_t>(j)] == doctest::Approx(std::log(density)).epsilon(1e-5));
    }
  }
}

TEST_CASE("numbers: whatever is finite has finite logits and gradients") {
  constexpr float kHuge = std::numeric_limits<float>::max();
  const std::vector<Cells> extreme[] = {{{kHuge, -kHuge}, {0, 1}, {kHuge, -kHuge}},
                                        {{0, 1e20f}, {1, 0}, {-kHuge, -kHuge}},
                                        {{1e4f, -1e4f}, {0, 0}, {-100, 100}},
                                        {{0, 0}, {kHuge, 1e-38f}, {88, -88}}};
  for (const auto& in : extreme) {
    for (const Cells& out : results(Op::kMixtureLogits, in, 2, grid_of(101))) {
      for (const float cell : out) CHECK(std::isfinite(cell));
    }
  }
  for (const float y : {kHuge, -kHuge, 1e10f}) {
    for (const Cells& out : results(Op::kMixtureLogits, {{y}}, 1, grid_of(101))) {
      for (const float cell : out) CHECK(std::isfinite(cell));
    }
  }
}

TEST_CASE("numbers: the grid's words are what a person writes") {
  const std::vector<std::string> words = grid_words(101);
  CHECK(words[0] == "-1.00");
  CHECK(words[26] == "-0.48");
  CHECK(words[50] == "0.00");
  CHECK(words[100] == "1.00");
  CHECK(grid_words(3) == std::vector<std::string>{"-1", "0", "1"});
  CHECK(grid_words(4)[1] == "-0.333");
  const Vocabulary v = Vocabulary::of_numbers(101);
  CHECK(v.encode("-0.5 .2, +0.8；−1") == std::vector<int>{25, 60, 90, 0});
  CHECK(v.decode(std::vector<int>{25, 60}) == "-0.50 0.20");
  CHECK(Vocabulary::from_json(v.to_json()) == v);
  CHECK(Vocabulary::of_numbers(4).encode("-0.333 1") == std::vector<int>{1, 3});
  for (const std::string bad : {"0.333", "cat", "0.2x", "1.5", "nan", "inf"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)v.encode(bad), UsageError);
  }
  CHECK_THROWS_AS(Vocabulary(TextCut::kNumbers, std::vector<std::string>{"-1", "0.5", "1"}), Error);
}

TEST_CASE("numbers: what a config may ask for") {
  CHECK(refusal(of_numbers()).empty());
  CHECK(refusal(of_numbers(3)).empty());
  CHECK(has(refusal(of_numbers(), 1), "at least 2"));
  Config c = of_numbers();
  c.tied_head = true;
  CHECK(has(refusal(c), "tied-head"));
  c = of_numbers();
  c.form = ModelForm::kClasses;
  CHECK(has(refusal(c), "--form classes"));
  c = of_numbers(2);
  c.numbers = false;
  CHECK(has(refusal(c), "--numbers"));
  CHECK(has(refusal(of_numbers(kMaxComponents + 1)), "components"));
  c = of_numbers();
  c.block = BlockKind::kAttention;
  CHECK(has(refusal(c), "--block"));
  c = of_numbers();
  c.positions = PositionKind::kRotary;
  CHECK_FALSE(refusal(c).empty());
}

TEST_CASE("numbers: a sentence of numbers is run, one of words is refused with the way out") {
  const RunResult good = run(of_numbers(2), "-0.5 0.2 0.8");
  REQUIRE(good.trace);
  CHECK(good.trace->input().ids == std::vector<int>{25, 60, 90});
  CHECK(good.trace->tensor("number").data[1] == doctest::Approx(0.2));
  CHECK(good.trace->tensor("logits").axes.back().size == kGridNumbers);
  CHECK_FALSE(good.trace->program().asks_for_masked());
  const RunResult words = run(of_numbers(), "the cat");
  CHECK_FALSE(words.trace);
  CHECK(words.is_usage);
  CHECK(has(words.problem, "'the', 'cat'"));
  CHECK(has(words.problem, "-0.50 0.20 0.80"));
  CHECK(has(run(of_numbers(), "0.333").problem, "nearest one is 0.34"));
  // What belongs to a number the row does not say: the likeliest counts until another is chosen.
  const RunResult back = run(of_numbers(), "-0.5 0.2", true);
  REQUIRE(back.trace);
  const TensorView targets = back.trace->tensor(back.trace->program().targets);
  for (int t = 0; t < 2; ++t) {
    const float* row = back.trace->tensor("logits").data + t * kGridNumbers;
    CHECK(targets.data[t] == static_cast<float>(std::max_element(row, row + kGridNumbers) - row));
  }
}

TEST_CASE("numbers: a block without anything in attention's place is its feed-forward network") {
  Config c = of_numbers();
  c.norm = NormKind::kLayer;
  for (const auto& block : {BlockKind::kPreNorm, BlockKind::kPostNorm}) {
    c.block = block;
    const Program p = build_program(c, {.positions = 3, .vocab = 9});
    CHECK(p.find("blocks.0.ln1.w") < 0);
    CHECK(p.find("blocks.0.ln2.w") >= 0);
    CHECK(p.find("blocks.0.resid_mid") < 0);
    CHECK(p.mask < 0);
    for (const Step& step : p.steps) {
      CHECK(step.section != Section::kAttention);
      CHECK(step.section != Section::kMixer);
    }
  }
  c.norm = NormKind::kNone;
  for (const TensorSpec& spec : build_program(c, {.positions = 3, .vocab = 9}).tensors)
    CHECK(spec.role != Role::kNormalized);
}

TEST_CASE("numbers: the experts' curves, weighted by the gate, are the model's") {
  for (const bool residual : {false, true}) {
    for (const int best : {0, 2}) {
      CAPTURE(residual);
      CAPTURE(best);
      Config c = of_numbers();
      c.experts = 3;
      c.top_experts = best;
      c.residual = residual;
      SandboxModel weights(5);
      const auto backend = make_reference_backend();
      const NumberCurve curve = number_curve(*grid_trace(c, kGridNumbers, weights, *backend));
      REQUIRE(curve.x.size() == kGridNumbers);
      REQUIRE(curve.experts.size() == 3);
      for (std::size_t i = 0; i < curve.x.size(); ++i) {
        double sum = 0;
        for (const auto& expert : curve.experts) sum += expert.weight[i] * expert.y[i];
        CHECK(std::abs(sum - curve.y[i]) < 1e-5);
      }
    }
  }
  Config normed = of_numbers();
  normed.experts = 2;
  normed.norm = NormKind::kRms;
  SandboxModel weights(5);
  const auto backend = make_reference_backend();
  const NumberCurve curve = number_curve(*grid_trace(normed, kGridNumbers, weights, *backend));
  CHECK(curve.experts[0].y.empty());  // the last norm does not let them add up
  CHECK(curve.experts[0].weight.size() == kGridNumbers);
}

TEST_CASE("numbers: a mixture's curve has means, spreads and weights that add up to 1") {
  SandboxModel weights(5);
  const auto backend = make_reference_backend();
  const NumberCurve curve = number_curve(*grid_trace(of_numbers(3), 21, weights, *backend));
  CHECK(curve.y.empty());
  REQUIRE(curve.components.size() == 3);
  for (std::size_t i = 0; i < 21; ++i) {
    double sum = 0;
    for (const auto& one : curve.components) {
      sum += one.weight[i];
      CHECK(one.spread[i] > 0.05);  // half a step
    }
    CHECK(sum == doctest::Approx(1));
  }
  CHECK(has_curve(of_numbers()));
  Config mixing = of_numbers();
  mixing.mixer = MixerKind::kAttention;
  CHECK_FALSE(has_curve(mixing));
}

}  // namespace headlight::test_numbers
