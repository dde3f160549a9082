// The page of the tokens: cuts, another order, padding.
#include <algorithm>

#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

std::vector<std::string> words(Gui& gui) { return gui.trace().input().tokens; }

void open_tokens(Gui& gui) { gui.push(GoToStep{"token_ids"}); }

// Just left of a chip: before it.
ImVec2 before(Gui& gui, const std::string& id) {
  const DrawnControl chip = gui.rect(id);
  return {chip.min.x + 3, chip.center().y};
}

}  // namespace

TEST_CASE("tokens: a word dragged to another place changes the sentence, in one step of undo") {
  Gui gui(small_document());  // the cat sat on a mat
  open_tokens(gui);
  gui.drag(gui.rect("token/2").center(), before(gui, "token/0"));
  CHECK(gui.document().sentence == "sat the cat on a mat");
  CHECK(words(gui) == std::vector<std::string>{"sat", "the", "cat", "on", "a", "mat"});
  const DrawnControl last = gui.rect("token/5");
  gui.drag(gui.rect("token/0").center(), {last.max.x + 30, last.center().y});
  CHECK(gui.document().sentence == "the cat on a mat sat");
  gui.ctrl('Z');
  CHECK(gui.document().sentence == "sat the cat on a mat");
  gui.ctrl('Z');
  CHECK(gui.document() == small_document());
  CHECK(inconsistency(gui.state()) == "");
  // Let go where it was, or outside: nothing happens.
  gui.drag(gui.rect("token/2").center(), before(gui, "token/2"));
  gui.drag(gui.rect("token/2").center(), {gui.rect("token/2").center().x, 5});
  CHECK(gui.document() == small_document());
}

TEST_CASE("tokens: Ctrl+arrows move the chip in focus, again and again") {
  Gui gui(small_document());
  open_tokens(gui);
  gui.click("token/1");
  gui.key({kKeyRight, true});
  CHECK(gui.document().sentence == "the sat cat on a mat");
  gui.key({kKeyRight, true});
  CHECK(gui.document().sentence == "the sat on cat a mat");
  for (int i = 0; i < 3; ++i) gui.key({kKeyLeft, true});
  CHECK(gui.document().sentence == "cat the sat on a mat");
  gui.key({kKeyLeft, true});  // it is the first one already
  CHECK(gui.document().sentence == "cat the sat on a mat");
  for (int i = 0; i < 4; ++i) gui.ctrl('Z');
  CHECK(gui.document().sentence == "the sat cat on a mat");
}

TEST_CASE("tokens: the menu marks padding, under the mask that knows it, and moves") {
  Gui gui(small_document());
  open_tokens(gui);
  gui.right_click("token/4");
  gui.click("token_menu/padding");
  CHECK(gui.config().mask.kind == MaskKind::kPadding);
  CHECK(gui.config().mask.padding == std::vector<int>{4});
  CHECK(gui.config().mask.is_causal());  // the causal mask was in force, and still is
  CHECK(gui.shows("pad"));
  const TensorView pattern = gui.tensor("blocks.0.attn.pattern");
  for (std::int64_t i = 0; i < 6; ++i) CHECK(pattern.data[i * 6 + 4] == 0);
  gui.right_click("token/4");
  gui.click("token_menu/first");
  CHECK(gui.document().sentence == "a the cat sat on mat");
  CHECK(gui.config().mask.padding == std::vector<int>{0});  // the mark goes with its word
  gui.right_click("token/0");
  gui.click("token_menu/padding");
  CHECK(gui.config().mask.padding.empty());
  gui.right_click("token/0");
  gui.click("token_menu/last");
  CHECK(gui.document().sentence == "the cat sat on mat a");
  gui.right_click("token/5");
  gui.click("token_menu/left");
  CHECK(gui.document().sentence == "the cat sat on a mat");
}

TEST_CASE("tokens: the sentence shows its cuts, spaces too, whatever the tokenizer") {
  for (const TokenizerKind kind :
       {TokenizerKind::kWords, TokenizerKind::kCharacters, TokenizerKind::kBytes}) {
    Document document = small_document();
    document.sentence = "na\u00efve  cat";
    document.tokenizer = kind;
    Gui gui(document);
    open_tokens(gui);
    CHECK(gui.shows("␣"));
    for (std::int64_t t = 0; t < gui.trace().length(); ++t) {
      CHECK(gui.has("cut/" + std::to_string(t)));
      CHECK(gui.has("token/" + std::to_string(t)));
    }
    gui.hover("token/1");
    REQUIRE(gui.state().session.hovered);
    CHECK(*gui.state().session.hovered == CellPick{"token_ids", {0, 1}});
  }
}

TEST_CASE("tokens: one token, a word of 300 letters") {
  Document one = small_document();
  one.sentence = std::string(300, 'w');
  Gui gui(one);
  open_tokens(gui);
  CHECK(gui.rect("token/0").max.x <= gui.rect("panel/stage").max.x);
  gui.drag(gui.rect("token/0").center(),
           {gui.rect("token/0").max.x + 40, gui.rect("token/0").max.y});
  CHECK(gui.document() == one);
}

TEST_CASE("tokens: 1,024 of them") {
  Document many = small_document();
  many.sentence.clear();
  for (int i = 0; i < 1024; ++i) many.sentence += "w" + std::to_string(i % 50) + " ";
  Gui large(many);
  open_tokens(large);
  CHECK(large.has("token/0"));
  CHECK_FALSE(large.has("token/1000"));
  CHECK(large.shows("more"));
  large.drag(large.rect("token/3").center(), before(large, "token/1"));
  CHECK(large.document().sentence.starts_with("w0 w3 w1 w2 w4"));
}

TEST_CASE("tokens: without positions and mask the outputs move with their words") {
  Document document = small_document(2, 2, 8);
  document.config.mask.kind = MaskKind::kNone;
  document.config.positions = PositionKind::kNone;
  Gui gui(document);
  const auto out = gui.tensor("blocks.1.resid_post").cells();
  const std::vector<float> first(out.begin(), out.end());
  open_tokens(gui);
  gui.drag(gui.rect("token/4").center(), before(gui, "token/1"));  // the a cat sat on mat
  CHECK(gui.document().sentence == "the a cat sat on mat");
  const auto moved = gui.tensor("blocks.1.resid_post").cells();
  const std::size_t old_place[] = {0, 4, 1, 2, 3, 5};
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t d = 0; d < 8; ++d) {
      CHECK(moved[i * 8 + d] == doctest::Approx(first[old_place[i] * 8 + d]).epsilon(1e-4));
    }
  }
}

}  // namespace headlight::test
