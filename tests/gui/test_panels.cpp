// Panels by hand: sized, folded, given the whole window; and the hints of the first start.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/hints.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

float width_of(const Gui& gui, std::string_view id) {
  const DrawnControl r = gui.rect(id);
  return r.max.x - r.min.x;
}
float height_of(const Gui& gui, std::string_view id) {
  const DrawnControl r = gui.rect(id);
  return r.max.y - r.min.y;
}

void drag(Gui& gui, std::string_view id, float dx, float dy) {
  const ImVec2 from = gui.rect(id).center();
  gui.move_to(from);
  gui.press(true);
  for (int i = 1; i <= 4; ++i) {
    const float part = static_cast<float>(i) / 4;
    gui.move_to({from.x + dx * part, from.y + dy * part});
    gui.frame();
  }
  gui.press(false);
  gui.frame(2);
}

void double_click(Gui& gui, std::string_view id) {
  gui.move_to(gui.rect(id).center());
  for (int i = 0; i < 2; ++i) {
    gui.press(true);
    gui.press(false);
  }
  gui.frame(3);
}

bool apart(const DrawnControl& a, const DrawnControl& b) {
  return a.max.x <= b.min.x || b.max.x <= a.min.x || a.max.y <= b.min.y || b.max.y <= a.min.y;
}

}  // namespace

TEST_CASE("panels: dragging a gap sizes its panel, a double click gives the usual size back") {
  for (const float scale : {1.0f, 2.0f}) {
    CAPTURE(scale);
    Gui gui(small_document(), {1440 * scale, 900 * scale}, scale);
    const float rail = width_of(gui, "panel/rail"), inspector = width_of(gui, "panel/inspector");
    const float heads = height_of(gui, "panel/heads"), stage = width_of(gui, "panel/stage");
    drag(gui, "split/rail", 60 * scale, 0);
    CHECK(std::fabs(width_of(gui, "panel/rail") - rail - 60 * scale) <= 2 * scale);
    CHECK(std::fabs(width_of(gui, "panel/stage") - stage + 60 * scale) <= 2 * scale);
    CHECK(std::fabs(gui.state().session.sizes.rail - width_of(gui, "panel/rail") / scale) <= 1);
    drag(gui, "split/inspector", -50 * scale, 0);
    CHECK(std::fabs(width_of(gui, "panel/inspector") - inspector - 50 * scale) <= 2 * scale);
    drag(gui, "split/heads", 0, -40 * scale);
    CHECK(std::fabs(height_of(gui, "panel/heads") - heads - 40 * scale) <= 2 * scale);
    drag(gui, "split/rail", -2000, 0);  // as far as it goes, and no further
    CHECK(width_of(gui, "panel/rail") >= 150 * scale - 1);
    drag(gui, "split/rail", 4000, 0);
    CHECK(width_of(gui, "panel/stage") >= 290 * scale);
    for (const char* id : {"split/rail", "split/inspector", "split/heads"}) double_click(gui, id);
    CHECK(gui.state().session.sizes == PanelSizes{});
    CHECK(width_of(gui, "panel/rail") == rail);
    CHECK(width_of(gui, "panel/inspector") == inspector);
    CHECK(height_of(gui, "panel/heads") == heads);
  }
}

TEST_CASE("panels: a size in design pixels grows with the scale; arrow keys size as well") {
  Gui gui(small_document(), {2880, 1800}, 1);
  gui.push(SizePanels{{220, 300, 160}});
  CHECK(width_of(gui, "panel/rail") == 220);
  gui.set_scale(2);
  CHECK(width_of(gui, "panel/rail") == 440);
  CHECK(width_of(gui, "panel/inspector") == 600);
  CHECK(height_of(gui, "panel/heads") == 320);
  gui.push(FocusOn{"split/rail", FocusKind::kSlider, true, false, ""});
  gui.key({kKeyRight});
  gui.frame(2);
  CHECK(gui.state().session.sizes.rail == 236);
}

TEST_CASE("panels: S, H and I fold to tabs that say what they are; a click opens them again") {
  Gui gui(small_document());
  const struct {
    char key;
    const char *tab, *panel, *inside;
  } panels[] = {{'S', "view/rail", "panel/rail", "rail/embed"},
                {'H', "view/heads", "panel/heads", "heads/1"},
                {'I', "view/inspector", "panel/inspector", "maximize/inspector"}};
  for (const auto& p : panels) {
    CAPTURE(p.panel);
    CHECK(gui.has(p.inside));
    const float before = width_of(gui, p.panel) * height_of(gui, p.panel);
    gui.key({p.key});
    gui.frame(2);
    CHECK_FALSE(gui.has(p.inside));
    CHECK(width_of(gui, p.panel) * height_of(gui, p.panel) < before / 2);
    gui.click(p.tab);
    CHECK(gui.has(p.inside));
    CHECK(width_of(gui, p.panel) * height_of(gui, p.panel) == before);
  }
  gui.key({'H'});
  CHECK(gui.shows("Heads"));
  gui.push(DoCommand{Command::kResetPanels});
  gui.frame(2);
  CHECK(gui.has("heads/1"));
}

TEST_CASE("panels: F gives the stage the whole window; F and Esc give it back") {
  Gui gui(small_document());
  const float before = width_of(gui, "panel/stage");
  for (const Shortcut& back : {Shortcut{'F'}, Shortcut{kKeyEscape}}) {
    gui.key({'F'});
    CHECK(gui.state().session.maximized == PanelId::kStage);
    CHECK(width_of(gui, "panel/stage") > 1400);
    CHECK_FALSE(gui.has("sentence"));
    CHECK_FALSE(gui.has("panel/rail"));
    gui.key(back);
    gui.frame(2);
    CHECK(gui.state().session.maximized == PanelId::kNone);
    CHECK(width_of(gui, "panel/stage") == before);
  }
  for (const char* panel : {"stage", "heads", "inspector"}) {
    CAPTURE(panel);
    gui.click("maximize/" + std::string(panel));
    CHECK(width_of(gui, "panel/" + std::string(panel)) > 1400);
    gui.click("maximize/" + std::string(panel));
    CHECK(width_of(gui, "panel/stage") == before);
  }
  gui.key({'F'});
  gui.key({'H'});  // what is asked for is shown beside the others
  gui.frame(2);
  CHECK(gui.has("heads/1"));
  gui.key({'F'});
  gui.ctrl('L');
  gui.frame(3);
  CHECK(gui.in_field());
}

TEST_CASE("panels: hints come one at a time, beside what they speak of, and go when it is done") {
  Gui gui(small_document());
  CHECK_FALSE(gui.has("panel/hint"));
  gui.push(DoCommand{Command::kHints});
  gui.frame(2);
  for (int hint = 0; hint < kHintCount; ++hint) {
    CAPTURE(hint);
    CHECK(gui.state().session.hint == hint);
    REQUIRE(gui.has("panel/hint"));
    CHECK(apart(gui.rect("panel/hint"), gui.rect("hint/target")));
    gui.click(hint + 1 < kHintCount ? "hint/next" : "hint/done");
    gui.frame(2);
  }
  CHECK(gui.state().session.hint == -1);
  CHECK_FALSE(gui.has("panel/hint"));

  gui.push(ShowHint{0});
  gui.click("sentence");
  gui.type("!");
  CHECK(gui.state().session.hint == 1);
  gui.key({kKeyEscape});
  gui.push(GoToStep{"blocks.0.attn.pattern"});  // not what this hint speaks of
  CHECK(gui.state().session.hint == 1);
  gui.push(PickCell{{"blocks.0.attn.pattern", {0, 0, 2, 1}}});
  CHECK(gui.state().session.hint == 2);
  gui.key({kKeyRight});
  CHECK(gui.state().session.hint == 3);
  gui.key({kKeySpace});
  CHECK(gui.state().session.hint == 4);
  gui.push(DoCommand{Command::kPalette});
  gui.push(ClosePalette{});
  CHECK(gui.state().session.hint == -1);
}

TEST_CASE("panels: hints wait while something is said to be wrong") {
  Gui gui(small_document());
  gui.push(ShowHint{0});
  gui.frame(2);
  REQUIRE(gui.has("panel/hint"));
  gui.push(OpenFile{"/there/is/no/such.headlight.json"});
  gui.frame(2);
  REQUIRE(gui.has("notice/0/close"));
  CHECK_FALSE(gui.has("panel/hint"));
  CHECK_FALSE(is_enabled(Command::kHints, gui.state()));
  gui.click("notice/0/close");
  gui.frame(2);
  CHECK(gui.has("panel/hint"));
  CHECK(is_enabled(Command::kHints, gui.state()));
}

TEST_CASE("panels: hints never cover their target, at any size") {
  for (const ImVec2 size : {ImVec2{400, 300}, ImVec2{960, 600}, ImVec2{1280, 720}}) {
    Gui gui(small_document(), size);
    for (int hint = 0; hint < kHintCount; ++hint) {
      gui.push(ShowHint{hint});
      gui.frame(2);
      CAPTURE(hint);
      CAPTURE(size.x);
      if (!gui.has("panel/hint")) continue;
      const DrawnControl r = gui.rect("panel/hint");
      CHECK(apart(r, gui.rect("hint/target")));
      CHECK(r.min.x >= 0);
      CHECK(r.min.y >= 0);
      CHECK(r.max.x <= size.x);
      CHECK(r.max.y <= size.y);
    }
  }
}

TEST_CASE("panels: a thumbnail of the rail tells the cell under the mouse") {
  Gui gui(small_document());
  const std::string step = "blocks.0.attn.q";
  gui.push(GoToStep{step});
  const DrawnControl line = gui.rect("rail/" + step);
  // The first row and column of Q, whose cells are a few pixels each.
  gui.move_to({line.min.x + 8, line.center().y - 10});
  gui.frame();
  REQUIRE(gui.state().session.hovered);
  CHECK(gui.state().session.hovered->tensor == step);
  gui.move_to({line.max.x - 4, line.center().y});
  gui.frame();
  CHECK_FALSE(gui.state().session.hovered);
}

}  // namespace headlight::test
