// Tooltips stand beside what they explain, never over it.
#include "tests/gui/train/train_gui.h"

#include <imgui_internal.h>

namespace headlight::test {
namespace {

const ImGuiWindow* open_tooltip() {
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows) {
    if (window->Active && !window->Hidden && (window->Flags & ImGuiWindowFlags_Tooltip))
      return window;
  }
  return nullptr;
}

// Hovers everything that can be pressed and is no picture; returns how many say what they are for.
int hover_all(Gui& gui) {
  std::vector<std::string> ids;
  for (const auto& [id, r] : gui.drawn().all()) {
    const bool picture = id.starts_with("pane/") || id.starts_with("panel/") ||
                         id.starts_with("train/chart") || r.max.y - r.min.y > 59;
    // What is scrolled out of the settings lies under the buttons below them.
    const bool hidden =
        id.starts_with("train/set/") && r.max.y > gui.rect("panel/train_settings").max.y;
    const bool seen = !hidden && r.min.x >= 0 && r.min.y >= 0 && r.max.x <= gui.size().x &&
                      r.max.y <= gui.size().y;
    if (r.enabled && !picture && seen) ids.push_back(id);
  }
  int tips = 0;
  for (const std::string& id : ids) {
    if (!gui.has(id)) continue;
    const DrawnControl r = gui.rect(id);
    gui.move_to(r.center());
    gui.frame(2);
    const ImGuiWindow* tip = open_tooltip();
    if (!tip) continue;
    CAPTURE(id);
    const ImVec2 min = tip->Pos, max{tip->Pos.x + tip->Size.x, tip->Pos.y + tip->Size.y};
    const bool covers = min.x < r.max.x && max.x > r.min.x && min.y < r.max.y && max.y > r.min.y;
    CHECK_FALSE(covers);
    if (gui.has("sentence") && id != "sentence" && r.min.y > gui.rect("sentence").max.y)
      CHECK(min.y >= gui.rect("sentence").max.y);
    CHECK(min.y >= 0);
    CHECK(max.y <= gui.size().y);
    ++tips;
  }
  return tips;
}

}  // namespace

TEST_CASE("tips: they cover nothing of what they explain") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(small_document(1, 2, 8), {1440, 900});
    gui.push(ChooseLanguage{language});
    gui.push(GoToStep{"blocks.0.mlp.pre"});
    gui.key({'B'});
    gui.click("nudge/do");
    gui.frame(2);
    REQUIRE(gui.has("nudge/smaller"));
    CHECK(hover_all(gui) > 20);
    gui.push(DoCommand{Command::kTabCode});
    CHECK(hover_all(gui) > 20);
    open_panel(gui);
    REQUIRE(gui.has("train/new"));
    CHECK(hover_all(gui) > 10);
  }
}

TEST_CASE("tips: over the small picture of the ids in the rail stand place, token and id") {
  Gui gui(small_document());
  gui.wheel(gui.rect("rail/token_ids").center(), 50);
  const DrawnControl line = gui.rect("rail/token_ids");
  gui.move_to({line.min.x + 18, line.center().y});
  gui.frame();
  const auto& tokens = gui.trace().input().tokens;
  bool named = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    named |= gui.shows("position " + std::to_string(i) + "  " + tokens[i]);
  }
  CHECK(named);
}

}  // namespace headlight::test
