// The rail in reverse: gradients on the stage, their arithmetic, and the nudge that checks one.
#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"
#include "core/check/nudge.h"
#include "core/explain/arithmetic.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

const Step& step_of(const Gui& gui) {
  const Program& p = gui.trace().program();
  return p.steps[static_cast<std::size_t>(p.step_of(p.find(gui.state().session.step)))];
}

}  // namespace

TEST_CASE("backward: the rail turns round and goes back to the tokens, and forward again") {
  Gui gui(small_document(1, 2, 8));
  gui.push(GoToStep{"blocks.0.attn.scores_raw"});
  gui.click("rail/direction/backward");
  CHECK(gui.state().session.step == "d.blocks.0.attn.scores_raw");
  CHECK(gui.shows("backward"));
  CHECK(gui.has("rail/d.blocks.0.attn.scores_raw"));
  CHECK_FALSE(gui.has("rail/blocks.0.attn.scores_raw"));
  // Both operands and the result are gradients, in the places of what they are the gradients of.
  CHECK(gui.has("pane/0/d.blocks.0.attn.q"));
  CHECK(gui.has("pane/1/d.blocks.0.attn.k"));
  CHECK(gui.has("pane/2/d.blocks.0.attn.scores_raw"));
  gui.click("step/next");
  CHECK(step_of(gui).row.title == "step.split");
  CHECK(step_of(gui).backward);
  gui.click("step/previous");
  gui.click("step/previous");
  CHECK(step_of(gui).row.title == "step.scale");
  // From the last step forwards the steps go on in reverse.
  gui.push(GoToStep{"loss"});
  CHECK_FALSE(step_of(gui).backward);
  gui.click("step/next");
  CHECK(gui.state().session.step == "d.loss");
  CHECK(gui.shows("Backpropagation starts here"));
  gui.push(GoToStep{"d.embed"});
  gui.click("rail/direction/forward");
  CHECK(gui.state().session.step == "embed");
  CHECK(gui.trace().program().gradients.empty());
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("backward: the key B, and steps that have no way back") {
  Gui gui(small_document(1, 2, 8));
  gui.push(GoToStep{"token_ids"});
  gui.key({'B'});
  CHECK(gui.state().session.step == "d.embed");
  gui.key({'B'});
  CHECK(gui.state().session.step == "embed");
  gui.push(GoToStep{"probs"});
  gui.key({'B'});
  CHECK(gui.state().session.step == "d.loss");
  // The gradients are there already: a step without a way back still turns round.
  gui.push(GoToStep{"token_ids"});
  gui.key({'B'});
  CHECK(gui.state().session.step == "d.embed");
  gui.push(GoToStep{"probs"});
  gui.click("rail/direction/backward");
  CHECK(gui.state().session.step == "d.loss");
  // Another sentence, another model: the backward pass goes on.
  gui.push(DoEdit{SetSentence{"one two"}, ""});
  CHECK(gui.state().session.step == "d.loss");
  CHECK(gui.trace().length() == 2);
  gui.push(ChooseModel{"bundled:dates"});
  CHECK(gui.state().session.step == "d.loss");
  CHECK(inconsistency(gui.state()) == "");
  // Training takes the place of the steps, and nobody looks at them meanwhile.
  gui.push(DoCommand{Command::kTrain});
  gui.shell().wait();
  gui.frame(2);
  CHECK(gui.trace().program().gradients.empty());
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("backward: a gradient says what it is made of, and each part can be asked on") {
  Gui gui(small_document(1, 2, 8));
  gui.push(GoToStep{"blocks.0.attn.scores_raw"});
  gui.key({'B'});
  const CellPick q{"d.blocks.0.attn.q", {0, 1, 2, 3}};
  gui.push(PickCell{q});
  REQUIRE(gui.state().derived.inspected);
  const Explanation e = gui.state().derived.inspected->explanation;
  CHECK(gui.shows("dQ"));
  double sum = 0;  // dq = Σ dS · k, from the tensors themselves
  const TensorView ds = gui.tensor("d.blocks.0.attn.scores_raw"), k = gui.tensor("blocks.0.attn.k");
  const std::int64_t tokens = gui.trace().length();
  for (std::int64_t j = 0; j < tokens; ++j)
    sum += static_cast<double>(ds.data[(1 * tokens + 2) * tokens + j]) *
           k.data[(1 * tokens + j) * 4 + 3];
  CHECK(e.value == doctest::Approx(sum).epsilon(1e-4));
  // The title stands alone, as the line beside it ends.
  const auto texts = gui.texts();
  const std::string number = line_number(e, e.value);
  CHECK(std::ranges::any_of(texts, [&](const DrawnText& t) { return t.words == number; }));
  const std::size_t first = by_size(e.terms)[0];
  gui.click("term/" + std::to_string(first));
  const auto picked = gui.state().session.picked;
  REQUIRE(picked);
  CHECK(picked->tensor == "d.blocks.0.attn.scores_raw");
  CHECK(gui.state().session.trail == std::vector<CellPick>{q});
  gui.key({kKeyBackspace});
  CHECK(gui.state().session.picked == q);
}

TEST_CASE("backward: a nudge runs the model again and agrees") {
  Gui gui(small_document(1, 2, 8), {1440, 1400});
  gui.push(GoToStep{"blocks.0.mlp.pre"});
  gui.key({'B'});
  gui.click("nudge/do");
  gui.frame(2);
  REQUIRE(gui.state().derived.nudged);
  const Nudged n = *gui.state().derived.nudged;
  CHECK(n.cell == *gui.state().session.picked);
  CHECK(n.gradient == gui.state().derived.inspected->explanation.value);
  CHECK(n.nudge.slope() == doctest::Approx(n.gradient).epsilon(0.03));
  CHECK(gui.shows("They agree"));
  CHECK(gui.shows(number_text(n.nudge.loss_up, 7)));
  CHECK(gui.shows(number_text(n.nudge.loss_down, 7)));
  CHECK(gui.shows(fine_number(n.nudge.slope(), 4)));
  gui.click("nudge/smaller");
  gui.frame(2);
  CHECK(gui.state().derived.nudged->nudge.step == n.nudge.step / 4);
  // Of another cell nothing is known yet.
  gui.push(MoveCell{0, 1});
  gui.frame(2);
  CHECK(gui.has("nudge/do"));
  // A value has nothing to check.
  gui.key({'B'});
  CHECK_FALSE(gui.has("nudge/do"));
}

TEST_CASE("backward: another class is taken for right, and every gradient follows") {
  Document document;
  document.model = "bundled:sentiment";
  document.sentence = "mary does not think that the book is not good .";
  Gui gui(document);
  gui.push(GoToStep{"probs"});
  gui.key({'B'});
  REQUIRE(gui.state().session.step == "d.loss");
  gui.push(GoToStep{"d.class_loss"});  // without the penalty of the foci
  const auto cells = [&](const Trace& trace) {
    const auto all = trace.tensor("d.blocks.0.attn.scores_raw").cells();
    return std::vector<float>(all.begin(), all.end());
  };
  const std::vector<float> before = cells(gui.trace());
  const TensorView probs = gui.tensor("probs");
  const std::size_t other = probs.data[0] < probs.data[1] ? 0 : 1;
  const std::string name = gui.trace().input().classes[other];
  CHECK(gui.shows("(likeliest)"));
  gui.click("target/0");
  gui.frame(2);
  CHECK_FALSE(gui.has("target/0/find"));
  gui.click("target/0/is/" + name);
  gui.frame(2);
  CHECK(gui.document().targets == std::vector<std::string>{name});
  CHECK(gui.shows("for the class “" + name + "”"));
  CHECK_FALSE(gui.shows("(likeliest)"));
  const std::vector<float> after = cells(gui.trace());
  CHECK(after != before);
  Document same = document;
  same.targets = {name};
  const auto backend = make_cpu_backend(1);
  const RunResult expected = Runner().run(same, *backend, nullptr, true);
  REQUIRE(expected.trace);
  CHECK(after == cells(*expected.trace));
  gui.ctrl('Z');
  CHECK(cells(gui.trace()) == before);
  gui.ctrl('Z', true);
  CHECK(cells(gui.trace()) == after);
  gui.click("target/0");
  gui.frame(2);
  gui.click("target/0/likeliest");
  CHECK(cells(gui.trace()) == before);
  // A model whose sentence tells what is right asks nobody.
  gui.push(GoToStep{"d.loss"});
  gui.push(ChooseModel{"bundled:induction"});
  CHECK(gui.state().session.step == "d.loss");
  CHECK_FALSE(gui.has("target/0"));
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("backward: each [MASK] can be asked for a token, found by typing") {
  Document document;
  document.model = "bundled:masked";
  document.sentence = "[CLS] [MASK] thanks them . the boys [MASK] busy .";
  Gui gui(document);
  gui.push(GoToStep{"probs"});
  gui.key({'B'});
  CHECK(gui.shows("Target at [MASK]"));
  gui.click("target/1");
  gui.frame(2);
  REQUIRE(gui.in_field());
  gui.type("is");
  gui.frame(2);
  CHECK_FALSE(gui.has("target/1/is/are"));
  gui.click("target/1/is/is");
  gui.frame(2);
  CHECK(gui.document().targets == std::vector<std::string>{"", "is"});
  const auto& vocab = gui.trace().input().vocab;
  const float* targets = gui.tensor("targets").data;
  CHECK(vocab[static_cast<std::size_t>(targets[7])] == "is");
  CHECK(gui.shows("(likeliest)"));  // the other one
  gui.click("target/1");
  gui.frame(2);
  CHECK(gui.has("target/1/likeliest"));  // what was typed is gone
  gui.type("no such token");
  gui.frame(2);
  CHECK(gui.shows("No such name"));
}

TEST_CASE("backward: of many [MASK]s those behind the picked one have a place") {
  Document document;
  document.model = "bundled:masked";
  document.sentence = "[CLS]";
  for (int i = 0; i < 20; ++i) document.sentence += " [MASK]";
  Gui gui(document, {1280, 720});
  gui.push(GoToStep{"probs"});
  gui.key({'B'});
  gui.push(PickCell{{"d.loss", {0, 1}}});
  gui.frame(2);
  CHECK(gui.has("target/0"));
  CHECK_FALSE(gui.has("target/17"));
  gui.push(PickCell{{"d.loss", {0, 18}}});
  gui.frame(2);
  CHECK(gui.has("target/17"));
  CHECK_FALSE(gui.has("target/0"));
}

TEST_CASE("backward: no steps are shown while the Train panel is open") {
  Gui gui(small_document(1, 2, 8));
  CHECK(is_enabled(Command::kShowBackward, gui.state()));
  gui.push(DoCommand{Command::kTrain});
  gui.shell().wait();
  gui.frame(2);
  CHECK_FALSE(is_enabled(Command::kShowBackward, gui.state()));
  const std::string step = gui.state().session.step;
  gui.key({'B'});
  CHECK_FALSE(gui.state().session.backward);
  CHECK(gui.state().session.step == step);
  gui.push(DoCommand{Command::kTrain});
  gui.key({'B'});
  CHECK(gui.state().session.backward);
}

TEST_CASE("backward: what the backward pass makes fills while it plays") {
  Gui gui(small_document(1, 2, 8));
  gui.push(GoToStep{"blocks.0.attn.scores_raw"});
  gui.key({'B'});
  gui.push(ScrubTo{0.7});
  gui.frame(2);
  CHECK(gui.shows("cell "));
  gui.push(DoCommand{Command::kPlay});
  for (int i = 0; i < 200; ++i) gui.push(Tick{0.1});
  gui.frame(2);
  CHECK(step_of(gui).backward);
  CHECK(gui.state().session.step != "d.blocks.0.attn.scores_raw");
  CHECK(inconsistency(gui.state()) == "");
}

}  // namespace headlight::test
