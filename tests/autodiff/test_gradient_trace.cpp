// The backward pass as a part of a trace: its tensors, its steps, and that every gradient that a
// person can ask about is what its explanation says.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "core/autodiff/gradient_program.h"
#include "core/base/number_text.h"
#include "core/base/random.h"
#include "core/explain/arithmetic.h"
#include "core/explain/explain.h"
#include "core/explain/step_code.h"
#include "core/explain/steps.h"
#include "core/graph/step_names.h"
#include "core/run/runner.h"
#include "core/run/targets.h"
#include "core/view/pane_layout.h"

namespace headlight::test_gradient_trace {
namespace {

RunResult run(const Document& document, bool gradients = true) {
  const auto backend = make_cpu_backend(1);
  RunResult result = Runner().run(document, *backend, nullptr, gradients);
  REQUIRE_MESSAGE(result.trace, result.problem);
  return result;
}

Document sandbox(void (*change)(Config&)) {
  Document document;
  document.sentence = "the cat sat on the mat";
  document.config.d_model = 8;
  document.config.heads = 2;
  document.config.layers = 2;
  change(document.config);
  return document;
}

Document of_model(const char* name, const char* sentence) {
  Document document;
  document.model = std::string("bundled:") + name;
  document.config.positions = PositionKind::kLearned;  // its own
  document.sentence = sentence;
  return document;
}

struct Case {
  std::string name;
  Document document;
};

std::vector<Case> cases() {
  return {
      {"plain", sandbox([](Config&) {})},
      {"basic", sandbox([](Config& c) { c.attention = AttentionKind::kBasic; })},
      {"additive, post-norm", sandbox([](Config& c) {
         c.scores = ScoreKind::kAdditive;
         c.block = BlockKind::kPostNorm;
         c.positions = PositionKind::kNone;
       })},
      {"causal, warm, ReLU, no biases", sandbox([](Config& c) {
         c.mask.kind = MaskKind::kCausal;
         c.temperature = 2;
         c.activation = Activation::kRelu;
         c.bias = false;
       })},
      {"attention alone", sandbox([](Config& c) {
         c.block = BlockKind::kAttention;
         c.positions = PositionKind::kLearned;
       })},
      {"induction", of_model("induction", "a b c a b")},
      {"sentiment", of_model("sentiment", "mary does not think that the book is not good .")},
      {"masked", of_model("masked", "[CLS] the boys [MASK] busy .")},
      {"dates", of_model("dates", "march 5 2021")},
  };
}

std::string name_of(const Program& p, TensorId id) {
  return p.tensors[static_cast<std::size_t>(id)].name;
}

}  // namespace

TEST_CASE("gradient trace: what goes forward is as without it, and then comes the loss") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const auto plain = run(c.document, false).trace, backward = run(c.document).trace;
    CHECK(plain->program().gradients.empty());
    CHECK(plain->program().forward_steps() == plain->program().steps.size());
    for (const TensorSpec& spec : plain->program().tensors) {
      const TensorView a = plain->tensor(spec.name), b = backward->find(spec.name);
      REQUIRE(b.data);
      CHECK(std::equal(a.cells().begin(), a.cells().end(), b.cells().begin()));
    }
    const Program& p = backward->program();
    // A penalty of foci brings how far they overlap, itself, and the sum of both losses.
    const std::size_t penalty = p.config.foci_penalty > 0 ? 3 : 0;
    CHECK(p.forward_steps() == plain->program().steps.size() + 1 + penalty);
    CHECK(p.makes(p.steps[p.forward_steps() - 1], Role::kLoss));
  }
}

TEST_CASE("gradient trace: each step that passes a gradient has one that goes back, in reverse") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const auto trace = run(c.document).trace;
    const Program& p = trace->program();
    const std::size_t forward = p.forward_steps();
    REQUIRE(forward < p.steps.size());
    CHECK(p.makes(p.steps[forward], Role::kLoss));
    CHECK(p.makes(p.steps.back(), Role::kEmbedding));
    int last = static_cast<int>(forward);
    for (std::size_t s = forward; s < p.steps.size(); ++s) {
      const Step& back = p.steps[s];
      REQUIRE(back.backward);
      CHECK(back.twin < last);
      last = back.twin;
      const Step& there = p.steps[static_cast<std::size_t>(back.twin)];
      CHECK(there.twin == static_cast<int>(s));
      CHECK(back.tensor == p.gradient(there.tensor));
      CHECK(name_of(p, back.tensor) == "d." + name_of(p, there.tensor));
      CHECK(p.step_of(back.tensor) == static_cast<int>(s));
      CHECK(trace->tensor(back.tensor).data);
      CHECK_FALSE(step_text(Language::kEnglish, p, back).formula.empty());
      for (const Language language : {Language::kEnglish, Language::kChinese}) {
        CHECK(step_sentence(language, *trace, back, 0, 0).starts_with("back.") == false);
        CHECK(step_sentence(language, *trace, back, 0, 0) != "");
        const bool additive = p.config.scores == ScoreKind::kAdditive;
        if (p.makes(back, Role::kScores)) {
          const std::string words = step_sentence(language, *trace, back, 0, 0);
          CHECK((words.find("tanh") != std::string::npos) == additive);
        }
        std::set<TensorId> named;
        for (const WordPiece& piece : step_paragraphs(language, *trace, back, 0, 0))
          named.insert(piece.tensor);
        CHECK(named.contains(back.tensor));
        CHECK(named.size() > 2);  // no link, what comes in, what goes on
      }
    }
    // The probabilities are not on the way to the loss.
    CHECK(p.gradient(p.find("probs")) == -1);
    CHECK(p.gradient(p.find("token_ids")) == -1);
  }
}

TEST_CASE(
    "gradient trace: the cells of every page are the backward pass's, and say what made them") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const auto trace = run(c.document).trace;
    const Program& p = trace->program();
    std::set<TensorId> seen;
    for (const Step& step : p.steps) {
      if (!step.backward) continue;
      const StepPage page = step_page(*trace, step, 1),
                     there = step_page(*trace, p.steps[static_cast<std::size_t>(step.twin)], 1);
      REQUIRE(page.lines.size() == there.lines.size());
      for (std::size_t l = 0; l < page.lines.size(); ++l) {
        for (std::size_t i = 0; i < page.lines[l].size(); ++i) {
          const TensorId own = page.lines[l][i].tensor, of = there.lines[l][i].tensor;
          CHECK(own == (p.gradient(of) >= 0 ? p.gradient(of) : of));
          if (p.is_gradient(own)) seen.insert(own);
        }
      }
    }
    for (const TensorId own : p.gradients) {
      if (own < 0) continue;
      CAPTURE(name_of(p, own));
      const TensorView t = trace->tensor(own);
      REQUIRE(t.data);
      for (std::int64_t k = 0; k < std::min<std::int64_t>(t.size(), 12); ++k) {
        const auto flat = static_cast<std::int64_t>(scatter(static_cast<std::uint64_t>(k)) %
                                                    static_cast<std::uint64_t>(t.size()));
        const Explanation e = explain(*trace, own, unravel(t.axes, flat));
        if (p.resolve(own) == p.gradient(p.loss)) {
          CHECK(e.operation == (e.value == 0 ? "gradient_of_no_loss" : "gradient_of_loss"));
          continue;
        }
        CHECK(e.operation == "gradient");
        double all = 0;   // terms may cancel: a key's bias has no part in any weight
        double back = 0;  // a slope may be the difference of two numbers near 1
        for (const Term& term : e.terms) {
          all += std::fabs(term.product());
          back += std::fabs(term.value);
        }
        const double close = 1e-5 * all + 1e-4 * std::fabs(e.value) + 1e-6 * back;
        CHECK(std::fabs(e.sum() - e.value) <= close);
        for (const Term& term : e.terms) {
          if (term.cell.tensor < 0) continue;
          CHECK(p.is_gradient(term.cell.tensor));
          CHECK(trace->tensor(term.cell.tensor).at(term.cell.index) ==
                doctest::Approx(term.value).epsilon(1e-6));
        }
      }
    }
    CHECK(seen.size() > 10);
  }
}

TEST_CASE("gradient trace: a score's gradient names the weights, and the loss is the target's") {
  const auto trace = run(sandbox([](Config&) {})).trace;
  const Program& p = trace->program();
  const TensorId pattern = p.require("blocks.0.attn.pattern");
  const TensorId scores = p.calls[static_cast<std::size_t>(p.producer(pattern))].in[0];
  const Explanation e = explain(*trace, p.gradient(scores), {0, 1, 4, 2});
  REQUIRE(e.terms.size() > 1);
  for (const Term& term : e.terms) {
    REQUIRE_FALSE(term.factor_cells.empty());
    for (const CellRef& cell : term.factor_cells) CHECK(cell.tensor == pattern);
    CHECK(term.cell.tensor == p.gradient(pattern));
  }
  // The loss that is shown is of the targets that were chosen after the run.
  const auto masked = run(of_model("masked", "[CLS] the boys [MASK] busy .")).trace;
  const TensorView loss = masked->tensor("loss"), probs = masked->tensor("probs");
  const auto right = static_cast<std::int64_t>(masked->tensor("targets").data[3]);
  CHECK(loss.data[3] == doctest::Approx(-std::log(probs.data[3 * probs.axes.back().size + right])));
  CHECK(loss.data[1] == 0);
}

TEST_CASE("gradient trace: what the model should have said") {
  const auto targets = [](const Trace& trace) {
    const TensorView t = trace.tensor(trace.program().targets);
    return std::vector<float>(t.data, t.data + t.size());
  };
  const RunResult next = run(of_model("induction", "a b c a b"));
  const std::vector<int>& ids = next.trace->input().ids;
  std::vector<float> wanted(ids.begin() + 1, ids.end());
  wanted.push_back(-1);
  CHECK(targets(*next.trace) == wanted);

  const RunResult masked = run(of_model("masked", "[CLS] the boys [MASK] busy ."));
  const std::vector<float> hidden = targets(*masked.trace);
  const TensorView logits = masked.trace->tensor("logits");
  const float* row = logits.data + 3 * logits.axes.back().size;
  for (std::size_t t = 0; t < hidden.size(); ++t) {
    const auto best = std::max_element(row, row + logits.axes.back().size) - row;
    CHECK(hidden[t] == (t == 3 ? static_cast<float>(best) : -1.0f));
  }
  const RunResult whole = run(of_model("masked", "[CLS] the boys are busy ."));
  CHECK(targets(*whole.trace)[0] == -1);
  CHECK(targets(*whole.trace)[1] == static_cast<float>(whole.trace->input().ids[1]));

  const RunResult pair = run(of_model("dates", "march 5 2021"));
  const auto end = pair.model->vocabulary->id_of(Special::kEnd);
  REQUIRE(end);
  const std::vector<float> row_targets = targets(*pair.trace);
  CHECK(row_targets[0] == static_cast<float>(pair.trace->input().ids[1]));
  CHECK((row_targets.back() == static_cast<float>(*end) || row_targets.back() == -1));

  const RunResult classes =
      run(of_model("sentiment", "mary does not think that the book is not good ."));
  const TensorView two = classes.trace->tensor("logits");
  CHECK(targets(*classes.trace)[0] == (two.data[1] > two.data[0] ? 1.0f : 0.0f));
}

TEST_CASE("gradient trace: where the row does not tell, what was asked for is right") {
  const auto loss_of = [](const Trace& trace, std::int64_t place) {
    // Of foci with a penalty the loss holds that, too.
    const TensorView own = trace.find("class_loss");
    return (own.data ? own : trace.tensor("loss")).data[place];
  };
  Document document = of_model("sentiment", "mary does not think that the book is not good .");
  const auto names = run(document).trace->input().classes;
  REQUIRE(names.size() == 2);
  for (std::size_t c = 0; c < names.size(); ++c) {
    document.targets = {names[c]};
    const auto trace = run(document).trace;
    const TensorView probs = trace->tensor("probs"), d = trace->tensor("d.logits");
    CHECK(loss_of(*trace, 0) == doctest::Approx(-std::log(probs.data[c])));
    for (std::size_t i = 0; i < names.size(); ++i)
      CHECK(d.data[i] == doctest::Approx(probs.data[i] - (i == c ? 1 : 0)).epsilon(1e-4));
  }
  Document auto_class = document;
  auto_class.targets = {};
  document.targets = {"no such class"};
  CHECK(mean_loss(*run(document).trace) == mean_loss(*run(auto_class).trace));

  Document masked = of_model("masked", "[CLS] [MASK] thanks them . the boys [MASK] busy .");
  masked.targets = {"", "is"};
  const RunResult result = run(masked);
  const auto places =
      open_targets(result.trace->program(), result.model.get(), result.trace->input());
  CHECK(places == std::vector<std::int64_t>{1, 7});
  const TensorView probs = result.trace->tensor("probs");
  const std::int64_t outcomes = probs.axes.back().size;
  const auto is = static_cast<std::int64_t>(*result.model->vocabulary->find("is"));
  const float* first = probs.data + outcomes;
  const double likeliest = *std::max_element(first, first + outcomes);
  const double wanted = probs.data[7 * outcomes + is];
  CHECK(loss_of(*result.trace, 1) == doctest::Approx(-std::log(likeliest)));
  CHECK(loss_of(*result.trace, 7) == doctest::Approx(-std::log(wanted)).epsilon(1e-4));
  CHECK(counted_targets(*result.trace) == 2);
  CHECK(mean_loss(*result.trace) ==
        doctest::Approx(-(std::log(likeliest) + std::log(wanted)) / 2).epsilon(1e-4));
  // The row tells: nothing is asked.
  const RunResult whole = run(of_model("masked", "[CLS] the boys are busy ."));
  CHECK(open_targets(whole.trace->program(), whole.model.get(), whole.trace->input()).empty());
  const RunResult pair = run(of_model("dates", "march 5 2021"));
  CHECK(open_targets(pair.trace->program(), pair.model.get(), pair.trace->input()).empty());
}

TEST_CASE("gradient trace: one token has nothing to be right about") {
  Document document = sandbox([](Config&) {});
  document.sentence = "cat";
  const auto trace = run(document).trace;
  const Program& p = trace->program();
  for (const float g : trace->tensor("d.embed").cells()) CHECK(g == 0);
  CHECK(step_sentence(Language::kEnglish, *trace, p.steps[p.forward_steps()], 0, 0)
            .starts_with("No position has a target"));
}

TEST_CASE("gradient trace: a runner goes from one kind to the other and back") {
  Runner runner;
  const auto backend = make_cpu_backend(1);
  Document document = sandbox([](Config&) {});
  const auto first = runner.run(document, *backend, nullptr, true).trace;
  const std::vector<float> before(first->tensor("d.embed").cells().begin(),
                                  first->tensor("d.embed").cells().end());
  for (int i = 0; i < 6; ++i) {
    document.sentence += i % 2 ? " too" : " and";
    const auto trace = runner.run(document, *backend, nullptr, i % 3 != 2).trace;
    REQUIRE(trace);
    CHECK(trace->program().gradients.empty() == (i % 3 == 2));
    const auto fresh = run(document, i % 3 != 2).trace;
    const std::string name = i % 3 == 2 ? "probs" : "d.embed";
    const auto a = trace->tensor(name).cells(), b = fresh->tensor(name).cells();
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
  const auto kept = first->tensor("d.embed").cells();
  CHECK(std::equal(kept.begin(), kept.end(), before.begin()));  // a trace in use stays as it is
}

TEST_CASE("gradient trace: names find the other way") {
  const auto trace = run(of_model("dates", "march 5 2021")).trace;
  const Program& p = trace->program();
  CHECK(nearest_step(p, "d.blocks.0.attn.q", 0) == "d.decoder.blocks.0.attn.q");
  CHECK(pattern_of_layer(p, "d.encoder.blocks.0.mlp.pre", 0) == "d.encoder.blocks.0.attn.pattern");
  CHECK(pattern_of_layer(p, "d.decoder.blocks.0.cross_attn_out", 0) ==
        "d.decoder.blocks.0.cross_attn.pattern");
  const auto plain = run(sandbox([](Config&) {}), false).trace;
  CHECK(nearest_step(plain->program(), "d.decoder.blocks.1.attn.z", 1) == "blocks.1.attn.z");
  CHECK(nearest_step(plain->program(), "d.loss", 0) == "embed");
  const auto basic = run(sandbox([](Config& c) { c.attention = AttentionKind::kBasic; }), false);
  const Program& one = basic.trace->program();
  CHECK(one.find(nearest_step(one, "blocks.1.attn.q", 0)) >= 0);
  CHECK(one.find(nearest_step(one, "d.blocks.1.attn.q", 0)) >= 0);
  CHECK(nearest_step(one, "blocks.7.attn.q", 7) == "embed");  // there is no such layer
  const auto alone = run(sandbox([](Config& c) { c.mixer = MixerKind::kNone; })).trace;
  CHECK(nearest_step(alone->program(), "blocks.1.attn.q", 1) == "blocks.1.resid_post");
  CHECK(nearest_step(alone->program(), "d.blocks.1.attn.q", 1).starts_with("d.blocks.1."));
  const auto backward = run(sandbox([](Config& c) { c.block = BlockKind::kPostNorm; })).trace;
  const auto symbol = [&](std::string_view name) {
    const TensorId id = backward->program().require(name);
    return backward->program().tensors[static_cast<std::size_t>(id)].symbol;
  };
  CHECK(symbol("d.blocks.0.attn.q") == "dQ");
  CHECK(symbol("d.blocks.0.ln1.input") == "dr");
}

TEST_CASE("gradient trace: small numbers keep their digits where a gradient is told") {
  const auto trace = run(of_model("grammar", "mary gives the book to john")).trace;
  const TensorId id = trace->program().require("d.blocks.0.attn.q");
  const Explanation e = explain(*trace, id, {0, 0, 4, 9});
  REQUIRE(std::fabs(e.value) < 0.01);
  CHECK(line_number(e, 0.000251) == "2.510e\u22124");
  CHECK(line_number(e, -0.0045678) == "\u22124.568e\u22123");
  CHECK(line_number(e, 0.5) == "0.5000");
  CHECK(line_number(e, 0) == "0");
  CHECK(arithmetic_line(*trace, e, {}).ends_with(" = " + line_number(e, e.value)));
}

TEST_CASE("gradient trace: the code of a step back asks PyTorch") {
  const auto trace = run(sandbox([](Config&) {})).trace;
  const Program& p = trace->program();
  for (const Step& step : p.steps) {
    if (!step.backward) continue;
    CAPTURE(name_of(p, step.tensor));
    const StepCode code = step_code(*trace, step, CodeLibrary::kTorch);
    CHECK(code.text.find("torch.autograd.grad(") != std::string::npos);
    CHECK(code.text.find("run[\"d.") != std::string::npos);
    CHECK(step_code(*trace, step, CodeLibrary::kNumpy).text.find("PyTorch") != std::string::npos);
  }
}

}  // namespace headlight::test_gradient_trace
