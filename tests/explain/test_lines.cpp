// A number's written line and title: nothing in them can be taken for something else, and what is
// printed comes to the number.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "core/backends/backend.h"
#include "core/base/number_text.h"
#include "core/explain/arithmetic.h"
#include "core/explain/printed_value.h"
#include "core/model/sandbox.h"
#include "core/run/run_trace.h"
#include "core/run/runner.h"

namespace headlight::test_lines {
namespace {

// With gradients.
std::shared_ptr<const Trace> traced(const std::string& sentence, PositionKind positions,
                                    bool bias = true) {
  Document d;
  d.sentence = sentence;
  d.config.layers = 1;
  d.config.heads = 2;
  d.config.d_model = 8;
  d.config.positions = positions;
  d.config.bias = bias;
  const auto backend = make_reference_backend();
  const RunResult result = Runner().run(d, *backend, nullptr, true);
  REQUIRE_MESSAGE(result.trace, result.problem);
  return result.trace;
}

std::shared_ptr<const Trace> classified() {
  Config c;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 8;
  c.form = ModelForm::kClasses;
  RunInput input = sandbox_input({"a", "good", "day"});
  input.classes = {"bad", "good"};
  const RunShape shape{.batch = 1, .positions = 3, .vocab = 3, .classes = 2};
  SandboxModel model(3);
  const auto backend = make_reference_backend();
  return run_trace(std::make_shared<const Program>(build_training_program(c, shape, true)),
                   std::move(input), model, *backend);
}

CellRef cell_of(const Trace& trace, const char* name, std::vector<std::int64_t> index) {
  return {trace.program().require(name), std::move(index)};
}

std::string line_of(const Trace& trace, const CellRef& cell) {
  LineStyle style;
  style.most = 3;
  return arithmetic_line(trace, explain(trace, cell.tensor, cell.index), style);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("lines: rows of a table of positions are places, not the words that stand there now") {
  const auto trace = traced("the cat sat on the mat", PositionKind::kLearned);
  CHECK(cell_title(*trace, cell_of(*trace, "pos_embed.W_pos", {1, 5})) == "W_pos[1, 5]");
  CHECK(cell_title(*trace, cell_of(*trace, "d.pos_embed.W_pos", {1, 5})) == "dW_pos[1, 5]");
  CHECK(cell_title(*trace, cell_of(*trace, "pos_embed", {0, 1, 5})) == "p[cat, 5]");
  CHECK(line_of(*trace, cell_of(*trace, "pos_embed", {0, 1, 5})).starts_with("W_pos(1, 5) = "));
}

TEST_CASE("lines: a token that reads as an index or a sign is quoted in a title") {
  const auto trace = traced("cat 3 - [ 3", PositionKind::kNone);
  const auto title = [&](std::int64_t query, std::int64_t key) {
    return cell_title(*trace, cell_of(*trace, "blocks.0.attn.pattern", {0, 0, query, key}));
  };
  REQUIRE(trace->input().tokens == std::vector<std::string>{"cat", "3", "-", "[", "3"});
  CHECK(title(0, 0) == "A[cat, cat]");
  CHECK(title(2, 1) == "A[“-”, “3₁”]");
  CHECK(title(3, 0) == "A[“[”, cat]");
  CHECK(cell_title(*trace, cell_of(*trace, "embed.W_E", {1, 5})) == "W_E[“3”, 5]");
}

TEST_CASE("lines: where a row holds all heads, a head's part says whose it is") {
  const auto trace = traced("the cat sat", PositionKind::kLearned);  // 2 heads of 4
  const auto starts = [&](const char* name, std::vector<std::int64_t> index, const char* line) {
    const std::string whole = line_of(*trace, cell_of(*trace, name, std::move(index)));
    CAPTURE(whole);
    CHECK(whole.starts_with(line));
  };
  starts("blocks.0.attn.concat", {0, 1, 6}, "z₁(“cat”, 2) = ");
  starts("blocks.0.attn.concat", {0, 1, 3}, "z₀(“cat”, 3) = ");
  starts("blocks.0.attn.q_proj", {0, 1, 6}, "x̂(“cat”) · W_Q₁(2) ");
  starts("d.blocks.0.attn.q_proj", {0, 1, 6}, "dQ₁(“cat”, 2) = ");
  starts("blocks.0.attn.q", {0, 1, 1, 2}, "Q(“cat”, 6) = ");    // of the row of all heads
  starts("blocks.0.attn_out", {0, 1, 2}, "z(“cat”) · W_O(2)");  // over all heads
  const auto title = [&](const char* name, std::vector<std::int64_t> index) {
    return cell_title(*trace, cell_of(*trace, name, std::move(index)));
  };
  CHECK(title("blocks.0.attn.concat", {0, 1, 6}) == "z[cat, 6]");
  CHECK(title("blocks.0.attn.z", {0, 1, 1, 2}) == "z₁[cat, 2]");
  CHECK(title("blocks.0.attn.q", {0, 1, 1, 2}) == "Q₁[cat, 2]");
  CHECK(title("blocks.0.attn.pattern", {0, 1, 1, 0}) == "A[cat, the]");
  const CellRef cell = cell_of(*trace, "blocks.0.attn.concat", {0, 1, 6});
  CHECK(has(explanation_as_latex(*trace, explain(*trace, cell.tensor, cell.index)), "z_{1}("));
}

TEST_CASE("lines: terms that are nothing are left to the rest of the sum") {
  const auto trace = traced("a b c d e f g h", PositionKind::kNone);
  const CellRef cell = cell_of(*trace, "blocks.0.attn.z", {0, 0, 1, 2});  // 6 of 8 keys are later
  const std::string line = line_of(*trace, cell);
  CAPTURE(line);
  CHECK_FALSE(has(line, "(0 × "));
  CHECK(has(line, " + 0 (6 smaller ones)"));
}

TEST_CASE("lines: negative factors have brackets and sums one form, over all tensors") {
  int gradients = 0, sums = 0;
  for (const PositionKind kind : {PositionKind::kLearned, PositionKind::kRotary}) {
    const auto trace = traced("the cat sat on the mat", kind);
    const Program& program = trace->program();
    for (std::size_t id = 0; id < program.tensors.size(); ++id) {
      const auto tensor = static_cast<TensorId>(id);
      const TensorView t = trace->tensor(tensor);
      const std::int64_t stride = std::max<std::int64_t>(1, t.size() / 5);
      for (std::int64_t i = 0; i < t.size(); i += stride) {
        const CellRef cell{tensor, unravel(t.axes, i)};
        CAPTURE(cell_text(*trace, cell));
        const std::string line = line_of(*trace, cell);
        CAPTURE(line);
        for (const char* before : {"× ", "+ ", "/ "})
          CHECK_FALSE(has(line, before + std::string("−")));
        CHECK_FALSE(has(line, "-"));
        CHECK_FALSE(has(line, "… ("));
        const Explanation e = explain(*trace, tensor, cell.index);
        gradients += program.is_gradient(tensor) && !e.in_letters && e.terms.size() > 4;
        sums += has(line, " smaller ones)");
        if (e.written.empty() && e.terms.size() > 4) CHECK(has(line, " smaller ones)"));
      }
    }
  }
  CHECK(gradients > 10);
  CHECK(sums > 50);
}

TEST_CASE("lines: a mean says what it divides by") {
  const auto trace = classified();
  const std::string line = line_of(*trace, cell_of(*trace, "pooled", {0, 5}));
  CHECK(has(line, "(5) · m / 3 = ("));
}

TEST_CASE("lines: a quotient is right as it is printed") {
  const auto trace = traced("cat", PositionKind::kNone);
  Explanation e;
  const auto line = [&](double over, double under) {
    e.written = {math("exp(0 − max) / sum = ", ""), math(over), math(" / ", " / "), math(under)};
    e.value = over / under;
    return arithmetic_line(*trace, e, {});
  };
  CHECK(line(1, 1.00017) == "exp(0 − max) / sum = 1.000 / 1.0002 = 0.9998");
  CHECK(line(0.25, 2) == "exp(0 − max) / sum = 0.2500 / 2.000 = 0.1250");
  CHECK(line(1, 1) == "exp(0 − max) / sum = 1.000 / 1.000 = 1.000");
}

TEST_CASE("lines: what is left of two nearly equal numbers is right as it is printed") {
  const auto trace = traced("cat", PositionKind::kNone);
  Explanation e;
  e.operation = "gradient of cross_entropy";
  const double top = 13.0212345, sum = 1.00014632, dy = 1.0 / 11;
  e.written = {math(dy),  math(" × (exp(", ""), math(top), math(" − ", ""),
               math(top), math(") / ", ""),     math(sum), math(" − 1)", "")};
  e.value = dy * (1 / sum - 1);
  CHECK(arithmetic_line(*trace, e, {}) ==
        "0.09090909 × (exp(13.021235 − 13.021235) / 1.0001463 − 1) = −1.330e−5");
}

TEST_CASE("lines: every written line comes to its number as printed") {
  int lines = 0;
  const auto look = [&](const Trace& trace) {
    for (std::size_t id = 0; id < trace.program().tensors.size(); ++id) {
      const auto tensor = static_cast<TensorId>(id);
      const TensorView t = trace.tensor(tensor);
      for (std::int64_t i = 0; i < t.size(); ++i) {
        const CellRef cell{tensor, unravel(t.axes, i)};
        const Explanation e = explain(trace, tensor, cell.index);
        if (e.written.empty() || e.value == 0 || !std::isfinite(e.value)) continue;
        const std::string line = line_of(trace, cell);
        CAPTURE(line);
        const auto printed = printed_value(line.substr(0, line.rfind(" = ")));
        REQUIRE(printed);
        CHECK(std::fabs(*printed / e.value - 1) < 2e-3);
        ++lines;
      }
    }
  };
  for (const PositionKind kind : {PositionKind::kLearned, PositionKind::kRotary})
    look(*traced("the cat sat on the mat", kind));
  look(*classified());
  CHECK(lines > 1000);
}

TEST_CASE("lines: an index has the letter that its table is headed with") {
  const auto trace = traced("the cat sat on the mat", PositionKind::kNone);
  const auto formula = [&](const char* name, std::vector<std::int64_t> index) {
    return explain(*trace, trace->program().require(name), index).formula;
  };
  CHECK(formula("blocks.0.attn.q_proj", {0, 1, 3}) == "Σ_f x[t, f] · W[h, f, d] + b[h, d]");
  CHECK(formula("blocks.0.attn.z", {0, 0, 1, 3}) == "Σ_j A[i, j] · V[j, d]");
  CHECK(formula("blocks.0.mlp.pre", {0, 1, 3}) == "Σ_f x[t, f] · W[f, j] + b[j]");
  CHECK(formula("blocks.0.mlp_out", {0, 1, 3}) == "Σ_i x[t, i] · W[i, f] + b[f]");
  CHECK(formula("d.blocks.0.mlp.post", {0, 1, 3}) == "Σ_f dy[t, f] · W[i, f]");
  CHECK(formula("logits", {0, 1, 3}) == "Σ_f x[t, f] · W[f, j] + b[j]");
}

TEST_CASE("lines: a formula has a bias where its number has one") {
  for (const bool bias : {true, false}) {
    CAPTURE(bias);
    const auto trace = traced("the cat sat on the mat", PositionKind::kNone, bias);
    int with = 0;
    for (const OpCall& call : trace->program().calls) {
      const TensorView t = trace->tensor(call.out);
      const Explanation e = explain(*trace, call.out, std::vector<std::int64_t>(t.axes.size(), 0));
      if (!has(e.formula, "W[") && !has(e.formula, "w[")) continue;  // the sum of two rows a and b
      const bool said = has(e.formula, "] + b[");
      CAPTURE(std::string(t.name));
      const auto adds = [](const Term& term) {
        return term.note.id == "explain.note.bias" || term.note.id == "explain.note.shift";
      };
      CHECK(said == std::ranges::any_of(e.terms, adds));
      with += said;
    }
    if (bias) CHECK(with > 5);
  }
}

}  // namespace headlight::test_lines
