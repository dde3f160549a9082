// The command palette: any command, recent session and step by a few letters.
#include <algorithm>
#include <set>

#include "app/ui/frame/palette.h"
#include "app/ui/state/commands.h"
#include "core/document/session_file.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

constexpr Shortcut kPaletteKey{'K', true};

std::vector<std::string> found(Gui& gui, const std::string& query) {
  gui.push(TypeQuery{query});
  std::vector<std::string> ids;
  for (const PaletteLine& line : palette_lines(gui.state())) ids.push_back(line.id);
  return ids;
}

std::string first(Gui& gui, const std::string& query) {
  const std::vector<std::string> ids = found(gui, query);
  return ids.empty() ? "nothing" : ids.front();
}

}  // namespace

TEST_CASE("palette: beginnings of words count more than letters in between") {
  CHECK(match_score("", "anything") > 0);
  CHECK(match_score("zz", "anything") == 0);
  CHECK(match_score("SAVE", "save") == match_score("save", "Save"));
  CHECK(match_score("save", "Save") > match_score("save", "Save as…"));
  CHECK(match_score("as", "Save as…") > match_score("as", "Last layer"));
  CHECK(match_score("mask", "Causal mask") > match_score("mask", "Damasks"));
  CHECK(match_score("cm", "Causal mask") > match_score("cm", "Recompute"));
  CHECK(match_score("mask causal", "Causal mask") > 0);  // in any order
  CHECK(match_score("mask wide", "Causal mask") == 0);   // every word
  CHECK(match_score("掩码", "因果掩码") > 0);
}

TEST_CASE("palette: every command but two is in it, steps and recent files too") {
  Gui gui(small_document());
  const std::vector<std::string> all = found(gui, "");
  for (const CommandInfo& info : all_commands()) {
    CAPTURE(std::string(info.id));
    const bool wanted = info.command != Command::kPalette && info.command != Command::kLeaveField;
    CHECK(std::count(all.begin(), all.end(), std::string(info.id)) == (wanted ? 1 : 0));
    if (wanted) CHECK(first(gui, std::string(info.id)) == std::string(info.id));
  }
  for (const std::string& step : step_names(gui.trace().program())) {
    CHECK(std::count(all.begin(), all.end(), "step/" + step) == 1);
  }
  CHECK(first(gui, "blocks.0.attn.pattern") == "step/blocks.0.attn.pattern");
  CHECK(first(gui, "undo") == "edit/undo");
  CHECK(first(gui, "qqqq") == "nothing");
}

TEST_CASE("palette: found in Chinese by Chinese and by English words") {
  Gui gui(small_document());
  gui.push(ChooseLanguage{Language::kChinese});
  CHECK(first(gui, "undo") == "edit/undo");
  CHECK(first(gui, "转到 attn.z") == "step/blocks.0.attn.z");
}

TEST_CASE("palette: everything that the model's settings name is found by its name") {
  Gui gui(small_document(), {1440, 1000});
  gui.push(ShowSetting{"model/seed"});
  gui.frame(4);
  REQUIRE(gui.has("model/residual/on"));
  std::set<std::string> names;
  for (const auto& [id, r] : gui.drawn().all()) {
    const bool command = std::ranges::any_of(
        all_commands(), [&, &drawn = id](const CommandInfo& info) { return info.id == drawn; });
    if (id.starts_with("model/") && !id.starts_with("model/trained") && !command)
      names.insert("model." + id.substr(6, id.find('/', 6) - 6));
  }
  CHECK(names.size() > 15);
  for (const std::string& name : names) {
    const std::string words(tr(Language::kEnglish, name));
    CAPTURE(words);
    const std::vector<std::string> ids = found(gui, words);
    CHECK(std::ranges::any_of(ids, [&](const std::string& id) {
      return id.starts_with("setting/" + std::string(name.substr(6))) ||
             id.starts_with("setting/model/" + name.substr(6));
    }));
  }
  CHECK(first(gui, "residual").find("residual") != std::string::npos);
}

TEST_CASE("palette: typed letters, arrows, Enter") {
  Gui gui(small_document());
  gui.key(kPaletteKey);
  REQUIRE(gui.has("panel/palette"));
  REQUIRE(gui.in_field());
  gui.type("causal mask");
  CHECK(gui.state().session.palette_typed == "causal mask");
  REQUIRE(palette_lines(gui.state()).front().id == "attn/causal_mask");
  CHECK(gui.has("palette/attn/causal_mask"));
  const MaskKind before = gui.config().mask.kind;
  gui.key({kKeyEnter});
  CHECK_FALSE(gui.has("panel/palette"));
  CHECK_FALSE(gui.in_field());
  CHECK_FALSE(gui.config().mask.kind == before);

  // Opened again it starts empty; the second line is the one below.
  gui.key(kPaletteKey);
  CHECK(gui.state().session.palette_typed == "");
  gui.type("attn");
  const std::vector<PaletteLine> lines = palette_lines(gui.state());
  gui.key({kKeyUp});
  CHECK(gui.state().session.palette_choice == 0);
  gui.key({kKeyDown});
  CHECK(gui.state().session.palette_choice == 1);
  gui.key({kKeyPageDown});
  gui.key({kKeyPageUp});
  gui.key({kKeyPageUp});
  CHECK(gui.state().session.palette_choice == 0);
  for (int i = 0; i < 500; ++i) gui.push(ChooseInPalette{i});
  CHECK(gui.state().session.palette_choice == static_cast<int>(lines.size()) - 1);
  CHECK(gui.has("palette/" + lines.back().id));  // scrolled to it
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.has("panel/palette"));
}

TEST_CASE("palette: a click runs a line, a click beside it closes it") {
  Gui gui(small_document());
  gui.key(kPaletteKey);
  gui.type("embed");
  gui.click("palette/step/embed");
  CHECK(gui.state().session.step == "embed");
  CHECK_FALSE(gui.has("panel/palette"));
  gui.key(kPaletteKey);
  REQUIRE(gui.has("panel/palette"));
  gui.click_at({20, gui.size().y - 20});
  CHECK_FALSE(gui.has("panel/palette"));
}

TEST_CASE("palette: what cannot be done now stays undone") {
  Gui gui(small_document());
  gui.key(kPaletteKey);
  gui.type("undo");
  REQUIRE(palette_lines(gui.state()).front().id == "edit/undo");
  CHECK_FALSE(palette_lines(gui.state()).front().enabled);
  gui.key({kKeyEnter});
  CHECK(gui.has("panel/palette"));
  CHECK_FALSE(gui.rect("palette/edit/undo").enabled);
  gui.key({kKeyEscape});
  gui.click("mask/none");
  const Document changed = gui.document();
  gui.key(kPaletteKey);
  gui.key({'Z', true});  // no change behind it
  CHECK(gui.document() == changed);
  gui.type("undo");
  gui.key({kKeyEnter});
  CHECK(gui.document() == small_document());
}

TEST_CASE("palette: opens sheets, recent files and the question before them") {
  const TemporaryFolder folder;
  const std::string path = folder.path("lesson.headlight.json");
  Document other = small_document();
  other.sentence = "a lesson";
  write_session(path, other);
  Gui gui(small_document());
  gui.push(OpenFile{path});
  gui.click("mask/none");
  gui.key(kPaletteKey);
  gui.type("lesson");
  REQUIRE(palette_lines(gui.state()).front().id == "recent/0");
  gui.key({kKeyEnter});
  CHECK(gui.has("panel/question"));
  gui.ctrl('D');
  CHECK(gui.document() == other);
  gui.key(kPaletteKey);
  gui.type("save as");
  gui.key({kKeyEnter});
  CHECK(gui.has("panel/save_path"));
  CHECK_FALSE(gui.has("panel/palette"));
  gui.key({kKeyEscape});
  gui.key({kKeyEscape});
  gui.key(kPaletteKey);
  gui.key({'S', true});  // another command takes its place
  CHECK_FALSE(gui.has("panel/palette"));
  CHECK(gui.state().history.is_saved());
}

}  // namespace headlight::test
