// The keyboard: every control can be reached and pressed, and the ring shows where it is.
#include <algorithm>
#include <set>

#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

const std::string& focused(const Gui& gui) { return gui.state().session.focus.id; }

void tab(Gui& gui, bool back = false) { gui.key({kKeyTab, false, back}); }

// Goes on with Tab until `id` has the keyboard; false when it never gets there.
bool tab_to(Gui& gui, std::string_view id, int most = 400) {
  for (int i = 0; i < most; ++i) {
    tab(gui);
    if (focused(gui) == id) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("focus: Tab goes through the places of the window in order, and round") {
  Gui gui(small_document());
  std::vector<std::string> seen;
  tab(gui);
  CHECK(focused(gui) == "sentence");
  CHECK(gui.in_field());
  for (int i = 0; i < 400; ++i) {
    seen.push_back(focused(gui));
    tab(gui);
    if (focused(gui) == "sentence") break;
  }
  CHECK(focused(gui) == "sentence");
  std::size_t last = 0;
  for (const char* id : {"sentence", "model", "mask/causal", "rail/embed", "step/next", "heads/1",
                         "view/inspector", "menu/File", "view/theme"}) {
    CAPTURE(id);
    const auto at =
        static_cast<std::size_t>(std::find(seen.begin(), seen.end(), id) - seen.begin());
    CHECK(at < seen.size());
    CHECK(at >= last);
    last = at;
  }
  const std::set<std::string> different(seen.begin(), seen.end());
  CHECK(different.size() == seen.size());
  tab(gui, true);
  CHECK(focused(gui) == seen.back());
}

TEST_CASE("focus: every enabled control of the window is on the way") {
  Gui gui(small_document());
  std::set<std::string> seen;
  for (int i = 0; i < 400; ++i) {
    tab(gui);
    if (!seen.insert(focused(gui)).second) break;
  }
  for (const auto& control : gui.drawn().all()) {
    const std::string& id = control.first;
    const DrawnControl& r = control.second;
    const bool place = id.starts_with("panel/") || id == "rail/current" || id.starts_with("label/");
    const bool stepper = gui.has(id + "/less");
    // Of the heads the Tab key takes those of one layer, arrow keys the others.
    const bool by_arrows =
        id.starts_with("heads/") && id.find('.') != std::string::npos && gui.has("heads/0");
    if (place || stepper || by_arrows || !r.enabled) continue;
    CAPTURE(id);
    CHECK(seen.count(id) == 1);
  }
}

TEST_CASE("focus: Enter and Space press what has the keyboard; without a ring Space plays") {
  Gui gui(small_document());
  REQUIRE(tab_to(gui, "mask/none"));
  gui.key({kKeyEnter});
  CHECK(gui.config().mask.kind == MaskKind::kNone);
  REQUIRE(tab_to(gui, "mask/causal"));
  const Playback before = gui.state().session.playback;
  gui.key({kKeySpace});
  CHECK(gui.config().mask.kind == MaskKind::kCausal);
  CHECK(gui.state().session.playback.playing == before.playing);
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.state().session.focus.visible);
  const Document document = gui.document();
  gui.key({kKeySpace});
  CHECK(gui.document() == document);
}

TEST_CASE("focus: a field is typed in, left by Tab and by Esc") {
  Gui gui(small_document());
  tab(gui);
  gui.edit_key({ImGuiKey_End});
  gui.type("!");
  CHECK(gui.document().sentence == "the cat sat on a mat!");
  tab(gui);
  CHECK_FALSE(gui.in_field());
  CHECK(focused(gui).starts_with("next/"));  // what is below the sentence
  gui.type("x");
  CHECK(gui.document().sentence == "the cat sat on a mat!");
  tab(gui, true);
  CHECK(gui.in_field());
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.in_field());
}

TEST_CASE("focus: a click takes the ring away, and Tab goes on from there") {
  Gui gui(small_document());
  tab(gui);
  tab(gui);
  CHECK(gui.state().session.focus.visible);
  gui.click("mask/local");
  CHECK_FALSE(gui.state().session.focus.visible);
  CHECK(focused(gui) == "mask/local");
  const MaskSpec mask = gui.config().mask;
  gui.key({kKeySpace});  // plays; does not press
  CHECK(gui.config().mask == mask);
  tab(gui);
  CHECK(focused(gui) != "mask/local");
  CHECK(focused(gui).starts_with("mask/"));
}

TEST_CASE("focus: a menu by F10 and arrows") {
  Gui gui(small_document());
  gui.key({kKeyF10});
  CHECK(focused(gui) == "menu/File");
  gui.key({kKeyRight});
  CHECK(focused(gui) == "menu/Edit");
  gui.key({kKeyDown});
  gui.frame(4);
  REQUIRE(gui.has("menu/edit/undo"));
  REQUIRE(focused(gui).starts_with("menu/"));  // the first that can be done
  for (int i = 0; i < 30 && focused(gui) != "menu/attn/causal_mask"; ++i) {
    gui.key({kKeyDown});
    gui.frame(2);
  }
  CHECK(focused(gui) == "menu/attn/causal_mask");
  gui.key({kKeyEnter});
  gui.frame(3);
  CHECK(gui.config().mask.kind != MaskKind::kCausal);
  CHECK_FALSE(gui.has("menu/attn/causal_mask"));
  CHECK(focused(gui) == "menu/Edit");  // back where it was opened
  gui.key({kKeyEnter});
  gui.frame(4);
  CHECK(gui.has("menu/attn/causal_mask"));
  gui.key({kKeyEscape});
  gui.frame(4);
  CHECK_FALSE(gui.has("menu/attn/causal_mask"));
  CHECK(focused(gui) == "menu/Edit");
}

TEST_CASE("focus: in a sheet Tab stays in the sheet") {
  Gui gui(small_document());
  gui.ctrl('E');
  gui.frame(3);
  REQUIRE(gui.has("panel/model_settings"));
  std::set<std::string> seen;
  for (int i = 0; i < 240; ++i) {
    tab(gui);
    if (!seen.insert(focused(gui)).second) break;
    CAPTURE(focused(gui));
    CHECK(focused(gui).starts_with("model/"));
  }
  for (const auto& control : gui.drawn().all()) {
    const std::string& id = control.first;
    const DrawnControl& r = control.second;
    if (!id.starts_with("model/") || !r.enabled) continue;
    CAPTURE(id);
    CHECK(seen.count(id) == 1);
  }
}

TEST_CASE("focus: arrows move the chosen cell on a focused matrix, and step without one") {
  Gui gui(small_document());
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  std::string pane;
  for (const auto& control : gui.drawn().all()) {
    const std::string& id = control.first;
    if (id.starts_with("pane/") && id.ends_with("attn.pattern")) pane = id;
  }
  REQUIRE(tab_to(gui, pane));
  gui.push(PickCell{{"blocks.0.attn.pattern", {0, 0, 3, 1}}});
  const auto picked = [&] { return gui.state().session.picked->index; };
  using Index = std::vector<std::int64_t>;
  gui.key({kKeyRight});
  CHECK(picked() == Index{0, 0, 3, 2});
  gui.key({kKeyDown});
  CHECK(picked() == Index{0, 0, 4, 2});
  gui.key({kKeyLeft});
  gui.key({kKeyUp});
  CHECK(picked() == Index{0, 0, 3, 1});
  for (int i = 0; i < 9; ++i) gui.key({kKeyUp});
  CHECK(picked() == Index{0, 0, 0, 1});  // stays at the edge
  CHECK(gui.state().session.step == "blocks.0.attn.pattern");
  gui.key({kKeyEscape});  // the ring goes
  gui.key({kKeyDown, false, true});
  CHECK(picked() == Index{0, 0, 1, 1});  // with Shift the cell moves without a ring as well
  gui.key({kKeyRight});
  CHECK(gui.state().session.step != "blocks.0.attn.pattern");
}

TEST_CASE("focus: what is scrolled out of sight comes into view") {
  Gui gui(small_document(8, 2, 8), {1280, 500});
  REQUIRE(tab_to(gui, "rail/probs"));
  gui.frame(2);
  const DrawnControl line = gui.rect("rail/probs"), panel = gui.rect("panel/rail");
  CHECK(line.min.y >= panel.min.y);
  CHECK(line.max.y <= panel.max.y);
  gui.key({kKeyEnter});
  CHECK(gui.state().session.step == "probs");
}

}  // namespace headlight::test
