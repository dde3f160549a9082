// Heads switched off, cells forbidden to a single head, and masks from a file.
#include <algorithm>

#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

using Heads = std::vector<MaskedHead>;

std::vector<float> numbers_of(Gui& gui, const char* name) {
  const TensorView t = gui.tensor(name);
  return {t.data, t.data + t.size()};
}

// Whether all weights of the head are 0.
bool is_silent(Gui& gui, std::int64_t head) {
  const TensorView t = gui.tensor("blocks.0.attn.pattern_masked");
  const std::int64_t cells = t.axes[2].size * t.axes[3].size;
  const float* own = t.data + head * cells;
  return std::all_of(own, own + cells, [](float x) { return x == 0; });
}

}  // namespace

TEST_CASE("head mask: X and the card's button switch the chosen head off and on") {
  Gui gui(small_document(2, 2, 8), {1600, 1100});
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  const std::vector<float> before = numbers_of(gui, "logits");
  const Document start = gui.document();
  gui.push(ChooseHead{1});
  gui.key({'X', false, false});
  CHECK(gui.config().masked_heads == Heads{{HeadsOf::kOwn, 0, 1}});
  CHECK(is_silent(gui, 1));
  CHECK_FALSE(is_silent(gui, 0));
  CHECK(numbers_of(gui, "logits") != before);
  CHECK(gui.shows("off"));
  gui.push(ChooseHead{0});
  gui.click("heads/0/switch");
  CHECK(gui.config().masked_heads == Heads{{HeadsOf::kOwn, 0, 0}, {HeadsOf::kOwn, 0, 1}});
  gui.click("heads/0/switch");
  CHECK(gui.config().masked_heads == Heads{{HeadsOf::kOwn, 0, 1}});
  for (int i = 0; i < 3; ++i) gui.ctrl('Z');
  CHECK(gui.document() == start);
  CHECK(numbers_of(gui, "logits") == before);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("head mask: cells are forbidden to the chosen head alone") {
  Document document = small_document(1, 2, 8);
  document.config.mask.kind = MaskKind::kFree;
  Gui gui(document, {1600, 1000});
  gui.push(GoToStep{"blocks.0.attn.scores_masked"});
  gui.push(ChooseHead{1});
  gui.click("brush/one_head");
  gui.click_cell("pane/1/mask", 3, 1);
  CHECK(gui.config().mask.forbidden.empty());
  REQUIRE(gui.config().mask.by_head.contains(1));
  CHECK(gui.config().mask.by_head.at(1) == CellSet{{3, 1}});
  const TensorView a = gui.tensor("blocks.0.attn.pattern");
  const std::int64_t n = gui.trace().length();
  CHECK(a.data[(0 * n + 3) * n + 1] > 0);
  CHECK(a.data[(1 * n + 3) * n + 1] == 0);
  // The page of what is added paints as well, without the brush of one head.
  gui.click("brush/one_head");
  gui.push(GoToStep{"blocks.0.attn.scores_added"});
  gui.click_cell("pane/1/added_mask", 4, 0);
  CHECK(gui.config().mask.by_head.at(1) == CellSet{{3, 1}, {4, 0}});
  gui.click("paint/clear_head");
  CHECK_FALSE(gui.config().mask.adds());
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("head mask: numbers from a file, one that does not fit, and the way back") {
  const TemporaryFolder folder;
  Gui gui(small_document(1, 2, 8));
  const auto load = [&](const std::string& text) {
    write_text(folder.path("mask.txt"), text);
    gui.push(UseMaskFile{folder.path("mask.txt")});
    gui.frame(3);
  };
  const auto n = static_cast<std::size_t>(gui.trace().length());
  std::string matrix;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) matrix += j == 0 ? "2.5 " : "0 ";
    matrix += "\n";
  }
  const TensorView before = gui.tensor("blocks.0.attn.pattern");
  const float first = before.data[n * n - n];  // of the last query
  load(matrix);
  CHECK(gui.config().mask.added.tokens == static_cast<int>(n));
  CHECK(gui.tensor("blocks.0.attn.pattern").data[n * n - n] > first);
  load("1 2\n3 4\n");
  CHECK(gui.notices_say("mask is for 2 tokens"));
  gui.click("notice/remove_added");
  CHECK(gui.config().mask.added.empty());
  CHECK(gui.tensor("blocks.0.attn.pattern").data[n * n - n] == first);
  load("nonsense");
  CHECK(gui.notices_say("nonsense"));
  CHECK(gui.config().mask.added.empty());
}

TEST_CASE("head mask: of heads that another model does not have it can be taken away") {
  Document document = small_document(2, 4, 8);
  document.config.masked_heads = {{HeadsOf::kOwn, 1, 3}};
  Gui gui(document);
  CHECK(gui.trace().find("blocks.1.attn.pattern_masked").data);
  Config fewer = document.config;
  fewer.heads = 2;
  gui.push(DoEdit{SetConfig{fewer}, ""});
  CHECK(gui.notices_say("no head 1.3"));
  gui.click("notice/remove_head_masks");
  CHECK(gui.config().masked_heads.empty());
  CHECK(gui.trace().config().heads == 2);
}

}  // namespace headlight::test
