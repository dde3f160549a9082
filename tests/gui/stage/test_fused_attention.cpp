// Attention as one operation in the window: its switch, its page, what stands where patterns would,
// and the ways back.
#include <algorithm>
#include <cmath>

#include "core/graph/program_cost.h"
#include "core/run/runner.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document fused_document(Document document) {
  document.config.fused_attention = true;
  return document;
}

std::vector<float> numbers_in(Gui& gui, const char* name) {
  const TensorView t = gui.tensor(name);
  return {t.data, t.data + t.size()};
}

}  // namespace

TEST_CASE(
    "fused: the switch of the model's settings makes one step of five, and undo takes it back") {
  Gui gui(small_document(2, 2, 8), {1600, 1100});
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  const std::vector<float> before = numbers_in(gui, "logits");
  const std::size_t steps = gui.trace().program().steps.size();
  gui.push(DoCommand{Command::kToggleModel});
  gui.frame(2);
  gui.click("model/fused_attention/on");
  gui.key({kKeyEscape});
  CHECK(gui.config().fused_attention);
  CHECK(gui.trace().program().steps.size() == steps - 2 * 4);
  CHECK(gui.state().session.step == "blocks.0.attn.z");  // near the step that is gone
  CHECK(gui.shows("Fused attention"));
  const std::vector<float> after = numbers_in(gui, "logits");
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(std::fabs(after[i] - before[i]) < 1e-5);
  gui.ctrl('Z');
  CHECK_FALSE(gui.config().fused_attention);
  CHECK(numbers_in(gui, "logits") == before);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("fused: the heads panel says that no pattern is kept, and its button keeps it") {
  for (const char* step : {"blocks.0.attn.z", "blocks.1.mlp.pre", "embed"}) {
    CAPTURE(step);
    Gui gui(fused_document(small_document(2, 2, 8)), {1600, 1100});
    gui.push(GoToStep{step});
    for (const HeadsView view : {HeadsView::kLines, HeadsView::kPictures}) {
      gui.push(ChooseHeadsView{view});
      gui.frame(2);
      CHECK(gui.shows("made block by block and not kept"));
      CHECK(gui.state().session.step == step);
    }
    gui.push(ChooseHeadsView{HeadsView::kReach});  // needs no pattern
    gui.frame(3);
    CHECK_FALSE(gui.shows("made block by block and not kept"));
    gui.push(ChooseHeadsView{HeadsView::kPictures});
    gui.frame(2);
    gui.click("heads/keep_pattern");
    CHECK_FALSE(gui.config().fused_attention);
    CHECK(gui.trace().find("blocks.0.attn.pattern").data);
    CHECK_FALSE(gui.shows("made block by block and not kept"));
    gui.ctrl('Z');
    CHECK(gui.config().fused_attention);
    CHECK(gui.shows("made block by block and not kept"));
  }
}

TEST_CASE("fused: a number of the step tells its weights, made again") {
  Gui gui(fused_document(small_document(1, 2, 8)), {1600, 1100});
  gui.push(GoToStep{"blocks.0.attn.z"});
  gui.push(PickCell{{"blocks.0.attn.z", {0, 1, 3, 2}}, true});
  gui.frame(3);
  CHECK(gui.shows("row maximum"));
  CHECK(gui.shows("row sum"));
  CHECK(gui.shows("made again"));
  const TensorView z = gui.tensor("blocks.0.attn.z"), v = gui.tensor("blocks.0.attn.v");
  float low = INFINITY, high = -INFINITY;  // a mean of the values that the query may see
  for (std::int64_t j = 0; j <= 3; ++j) {
    low = std::min(low, v.at({{0, 1, j, 2}}));
    high = std::max(high, v.at({{0, 1, j, 2}}));
  }
  CHECK(z.at({{0, 1, 3, 2}}) >= low);
  CHECK(z.at({{0, 1, 3, 2}}) <= high);
}

TEST_CASE("fused: what cannot go with it says so and has a way back") {
  Gui gui(fused_document(small_document(1, 2, 8)), {1600, 1100});
  Config additive = gui.config();
  additive.scores = ScoreKind::kAdditive;
  gui.push(DoEdit{SetConfig{additive}, ""});
  CHECK(gui.notices_say("additive scores"));
  gui.click("notice/unfuse");
  CHECK_FALSE(gui.config().fused_attention);
  CHECK(gui.trace().config().scores == ScoreKind::kAdditive);
  gui.ctrl('Z');
  gui.ctrl('Z');
  gui.push(SwitchHead{{HeadsOf::kOwn, 0, 1}});
  CHECK(gui.notices_say("head mask could set to 0"));
  gui.click("notice/unfuse");
  CHECK(gui.trace().find("blocks.0.attn.pattern_masked").data);
}

TEST_CASE("fused: a free mask is painted on its page, for all heads") {
  Document document = fused_document(small_document(1, 2, 8));
  document.config.mask.kind = MaskKind::kFree;
  Gui gui(document, {1600, 1000});
  gui.push(GoToStep{"blocks.0.attn.z"});
  gui.frame(2);
  const std::vector<float> before = numbers_in(gui, "blocks.0.attn.z");
  gui.click_cell("pane/3/mask", 3, 1);
  CHECK(gui.config().mask.forbidden == CellSet{{3, 1}});
  CHECK(numbers_in(gui, "blocks.0.attn.z") != before);
  CHECK_FALSE(gui.has("brush/one_head"));
  CHECK(gui.config().mask.by_head.empty());
}

TEST_CASE("fused: memory and time says what it saves, from the shape of the run") {
  Gui gui(small_document(2, 2, 8), {1600, 1100});
  const double saving = fused_saving(gui.config(), gui.trace().program().shape);
  CHECK(saving > 0);
  gui.push(DoCommand{Command::kCost});
  gui.frame(4);
  CHECK(gui.shows("keep " + bytes_text(saving) + " less"));
  gui.push(DoEdit{SetConfig{fused_document(gui.document()).config}, ""});
  gui.frame(4);
  CHECK(gui.shows("that saves " + bytes_text(saving)));
}

}  // namespace headlight::test
