// Attention as one operation in whole models: the same numbers as its steps, less memory, and a
// clear word where it cannot be.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/autodiff/gradient_program.h"
#include "core/base/error.h"
#include "core/base/texts.h"
#include "core/explain/explain.h"
#include "core/explain/steps.h"
#include "core/graph/program_cost.h"
#include "core/graph/program_memory.h"
#include "core/run/runner.h"

namespace headlight::test_fused_attention {
namespace {

constexpr const char* kSentence =
    "the cat sat on the mat and the dog ran to the tree and back to the house then it slept again";

Document document(const Config& config) {
  Document d;
  d.sentence = config.form == ModelForm::kTranslate ? "the cat sat on it → a dog ran" : kSentence;
  d.config = config;
  if (config.memory > 0) d.max_tokens = 8;  // several segments
  return d;
}

std::shared_ptr<const Trace> run(const Config& config, Backend& backend, bool gradients = false) {
  const RunResult result = Runner().run(document(config), backend, nullptr, gradients);
  REQUIRE_MESSAGE(result.trace, result.problem);
  return result.trace;
}

Config small() {
  Config c;
  c.layers = 2;
  c.heads = 4;
  c.d_model = 16;
  c.d_hidden = 12;
  return c;
}

std::vector<Config> configs() {
  std::vector<Config> all;
  const auto with = [&](auto change) {
    all.push_back(small());
    change(all.back());
  };
  with([](Config&) {});
  with([](Config& c) { c.mask.kind = MaskKind::kNone; });
  with([](Config& c) { c.mask.kind = MaskKind::kLocal; });
  with([](Config& c) { c.kv_heads = 2; });
  with([](Config& c) { c.positions = PositionKind::kRotary; });
  with([](Config& c) { c.attention = AttentionKind::kBasic; });
  with([](Config& c) { c.attention = AttentionKind::kSingle; });
  with([](Config& c) { c.scale = false; });
  with([](Config& c) { c.temperature = 0.4; });
  with([](Config& c) { c.bias_kv = c.zero_attention = true; });
  with([](Config& c) { c.d_value = 3; });
  with([](Config& c) { c.form = ModelForm::kClasses; });
  with([](Config& c) { c.form = ModelForm::kTranslate; });
  with([](Config& c) {
    c.memory = 5;
    c.positions = PositionKind::kRotary;
  });
  return all;
}

double largest_difference(const TensorView& a, const TensorView& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0, most = 1;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a.data[i])) return 1;
    largest = std::max(largest, std::fabs(double{a.data[i]} - b.data[i]));
    most = std::max(most, std::fabs(double{b.data[i]}));
  }
  return largest / most;
}

std::string problem_of(Config config) {
  config.fused_attention = true;
  try {
    validate(config);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("fused: a model has the numbers that its steps make, on every backend") {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(make_reference_backend());
  backends.push_back(make_cpu_backend(1));
  backends.push_back(make_cpu_backend(2));
  for (Config config : configs()) {
    CAPTURE(word(config.form));
    CAPTURE(word(config.mask.kind));
    for (const auto& backend : backends) {
      CAPTURE(backend->name());
      config.fused_attention = false;
      const auto steps = run(config, *backend, true);
      config.fused_attention = true;
      const auto fused = run(config, *backend, true);
      const Program& p = fused->program();
      CHECK(p.steps.size() < steps->program().steps.size());
      int gathered = 0;
      for (std::size_t id = 0; id < p.tensors.size(); ++id) {
        const TensorSpec& spec = p.tensors[id];
        CAPTURE(spec.name);
        CHECK(spec.role != Role::kPattern);
        CHECK(spec.role != Role::kScores);
        REQUIRE(steps->program().find(spec.name) >= 0);
        const double limit = p.is_gradient(static_cast<TensorId>(id)) ? 2e-4 : 2e-5;
        CHECK(largest_difference(fused->tensor(spec.name), steps->tensor(spec.name)) < limit);
        gathered += spec.role == Role::kHeadOutput && spec.name.starts_with("d.");
      }
      CHECK(gathered >= config.layers);
    }
  }
}

TEST_CASE("fused: what a trace needs falls by every tensor of queries and keys") {
  for (Config config : configs()) {
    CAPTURE(word(config.form));
    const auto backend = make_cpu_backend(1);
    double pairs = 0;
    const auto steps = run(config, *backend);
    for (const OpCall& call : steps->program().calls) {
      const std::vector<Axis>& axes = steps->program().tensors[place(call.out)].axes;
      const std::string& last = axes.back().name;
      if (last == "key" || last == "source_key")
        pairs += static_cast<double>(padded_cells(cell_count(axes)) * sizeof(float));
    }
    REQUIRE(pairs > 0);
    const RunShape shape = steps->program().shape;
    CHECK(fused_saving(config, shape) == pairs);
    config.fused_attention = true;
    CHECK(fused_saving(config, shape) == pairs);
    const auto fused = run(config, *backend);
    CHECK(steps->memory().run() - fused->memory().run() == pairs);
    if (config.form == ModelForm::kTokens)
      CHECK(memory_needed(config, shape) == fused->memory().run());
  }
}

TEST_CASE("fused: a text that is refused with the pattern runs without it") {
  Config config = small();
  config.layers = 1;
  Document d = document(config);
  d.sentence.clear();
  for (int i = 0; i < 900; ++i) d.sentence += "a ";
  const auto backend = make_cpu_backend(2);
  Runner runner(RunLimits{20e6});
  const RunResult refused = runner.run(d, *backend);
  CHECK_FALSE(refused.trace);
  CHECK(refused.message.id.starts_with("error.needs_memory"));
  d.config.fused_attention = true;
  const RunResult result = runner.run(d, *backend);
  CHECK_MESSAGE(result.trace, result.problem);
}

TEST_CASE("fused: a number of z is the sum of values by weights that are made again") {
  Config config = small();
  config.fused_attention = true;
  const auto backend = make_cpu_backend(1);
  const auto fused = run(config, *backend);
  config.fused_attention = false;
  const auto steps = run(config, *backend);
  const std::string name = "blocks.1.attn.z";
  const std::vector<std::int64_t> cell = {0, 2, 6, 1};
  const Explanation e = explain(*fused, fused->program().require(name), cell);
  CHECK(e.operation == "fused_attention");
  REQUIRE(e.terms.size() == 7);  // the query's own key and those before
  const TensorView pattern = steps->tensor("blocks.1.attn.pattern");
  const TensorView v = fused->tensor("blocks.1.attn.v");
  for (std::int64_t j = 0; j < 7; ++j) {
    const Term& term = e.terms[static_cast<std::size_t>(j)];
    CHECK(term.value == v.at({{0, 2, j, 1}}));
    CHECK(term.factor == doctest::Approx(pattern.at({{0, 2, 6, j}})).epsilon(1e-4));
    // Of the query's row and the key's, every number.
    REQUIRE(term.factor_cells.size() == 8);
    CHECK(term.factor_cells[3].index == std::vector<std::int64_t>{0, 2, 6, 3});
    CHECK(term.factor_cells[4].index == std::vector<std::int64_t>{0, 2, j, 0});
  }
  CHECK(e.sum() == doctest::Approx(e.value).epsilon(1e-5));
  CHECK(e.quantities.size() == 3);
  const std::vector<std::string> from = factor_texts(*fused, e.terms[5]);
  REQUIRE(from.size() == 2);
  CHECK(from[0].ends_with(", 0 … 3]"));
  CHECK(from[0].starts_with("blocks.1.attn.q[head 2, "));
  CHECK(from[1].starts_with("blocks.1.attn.k[head 2, "));
}

TEST_CASE("fused: the words say what is not kept, in numbers of this run") {
  Config config = small();
  config.fused_attention = true;
  const auto backend = make_cpu_backend(1);
  const auto trace = run(config, *backend);
  const Program& p = trace->program();
  const Step& step = p.steps[static_cast<std::size_t>(p.step_of(p.require("blocks.0.attn.z")))];
  CHECK(step_title(Language::kEnglish, step) == "Fused attention");
  std::string words;
  for (const WordPiece& piece : step_paragraphs(Language::kEnglish, *trace, step, 1, 3))
    words += piece.text;
  const std::int64_t n = trace->length();
  CHECK(words.find("4 · " + std::to_string(n) + " · " + std::to_string(n) + " = ") !=
        std::string::npos);
  CHECK(words.find(bytes_text(fused_saving(config, p.shape))) != std::string::npos);
  CHECK(words.find("m = ") != std::string::npos);
}

TEST_CASE("fused: what it cannot do is refused with what to do") {
  const auto refused = [](auto change, const std::vector<std::string>& parts) {
    Config config = small();
    change(config);
    CHECK_FALSE(config.can_fuse_attention());
    const std::string problem = problem_of(config);
    for (const std::string& part : parts)
      CHECK_MESSAGE(problem.find(part) != std::string::npos, problem);
    CHECK_MESSAGE(problem.find("--fused-attention off") != std::string::npos, problem);
  };
  CHECK(problem_of(small()).empty());
  refused([](Config& c) { c.scores = ScoreKind::kAdditive; }, {"additive", "--scores"});
  for (const PositionKind kind : {PositionKind::kRelative, PositionKind::kT5, PositionKind::kAlibi,
                                  PositionKind::kTransformerXl})
    refused([&](Config& c) { c.positions = kind; }, {std::string(word(kind)), "rotary"});
  refused([](Config& c) { c.mask.by_head[1].insert(2, 0); }, {"single heads", "Remove"});
  refused([](Config& c) { c.masked_heads = {{HeadsOf::kOwn, 0, 1}}; }, {"head mask", "all heads"});
  refused([](Config& c) { c.average_weights = true; }, {"average", "--average-weights off"});
  Config other = small();  // a model without attention has nothing to fuse
  other.mixer = MixerKind::kGru;
  other.average_weights = true;
  CHECK(problem_of(other).empty());
  Config dropped = small();
  dropped.fused_attention = true;
  RunShape shape;
  shape.positions = 5;
  shape.vocab = 7;
  CHECK_THROWS_WITH_AS(build_training_program(dropped, shape, true),
                       doctest::Contains("--dropout 0"), UsageError);
  CHECK_NOTHROW(build_training_program(dropped, shape));
}

}  // namespace headlight::test_fused_attention
