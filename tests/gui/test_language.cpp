// The language of the window: switched live, nothing of the person's is lost, every letter drawn.
#include <set>

#include "core/base/utf8.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

// What a person made and looks at; a change of language must leave it alone.
struct Kept {
  Document document;
  std::string step, sentence;
  std::optional<CellPick> picked;
  int head = 0;
  bool operator==(const Kept&) const = default;
};

Kept kept(const Gui& gui) {
  const Session& s = gui.state().session;
  return {gui.document(), s.step, gui.document().sentence, s.picked, s.head};
}

}  // namespace

TEST_CASE("language: switching live changes the words and nothing else") {
  Gui gui(small_document(2, 4, 16));
  gui.push(GoToStep{"blocks.1.attn.scores_raw"});
  gui.push(ChooseHead{2});
  const Kept before = kept(gui);
  CHECK(gui.shows("Queries"));
  CHECK(gui.shows("File"));
  gui.click("top/language");
  CHECK(gui.state().session.language == Language::kChinese);
  for (const char* words : {"文件", "掩码", "因果", "第 1 层", "注意力分数", "随机模型"}) {
    CAPTURE(words);
    CHECK(gui.shows(words));
  }
  CHECK_FALSE(gui.shows("Queries"));
  CHECK(kept(gui) == before);
  gui.ctrl('G');
  CHECK(gui.state().session.language == Language::kEnglish);
  CHECK(gui.shows("Queries"));
  CHECK_FALSE(gui.shows("文件"));
  CHECK(kept(gui) == before);
}

TEST_CASE("language: half-typed words stay, in the field and after it") {
  Gui gui(small_document());
  gui.click("sentence");
  gui.edit_key({ImGuiKey_End});
  gui.type(" and 我");
  CHECK(gui.in_field());
  gui.ctrl('G');
  CHECK(gui.state().session.language == Language::kChinese);
  CHECK(gui.in_field());
  gui.type("们");
  CHECK(gui.document().sentence.ends_with(" and 我们"));
  CHECK(gui.shows("我们"));

  gui.key({kKeyEscape});
  gui.push(DoCommand{Command::kSaveAs});
  gui.frame(2);
  gui.edit_key({ImGuiKey_End});
  gui.type("-two");
  gui.ctrl('G');
  CHECK(gui.state().session.path_typed.ends_with("-two"));
  CHECK(gui.has("path/ok"));
}

TEST_CASE("language: what was said before is said again in the new one") {
  Gui gui(small_document());
  Config config = gui.config();
  config.d_model = 10;
  config.heads = 3;
  gui.push(DoEdit{SetConfig{config}, ""});
  CHECK(gui.notices_say("Width 10 does not divide into 3 heads"));
  gui.click("top/language");
  CHECK(gui.notices_say("宽度 10 无法平均分给 3 个头"));
  CHECK_FALSE(gui.notices_say("divide"));
  CHECK(gui.state().derived.problem.find("宽度 10") != std::string::npos);
  config.heads = 2;
  gui.push(DoEdit{SetConfig{config}, ""});
  CHECK(gui.notices() == "");  // told in Chinese, taken back all the same
}

TEST_CASE("language: the fonts have every letter of the table") {
  Gui gui(small_document());
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{language});
    const auto& io = ImGui::GetIO();
    REQUIRE(io.Fonts->Fonts.Size >= 10);
    std::set<char32_t> letters;
    for (const TextEntry& entry : all_texts()) {
      for (const char32_t c :
           to_code_points(language == Language::kChinese ? entry.chinese : entry.english)) {
        if (c != '\n') letters.insert(c);
      }
    }
    CHECK(letters.size() > (language == Language::kChinese ? 300u : 60u));
    // In the order of Fonts::build: title, formula, sentence, body, control, strong, note, mono,
    // mono_small, cell. Formulas and cells show no words.
    for (const int role : {0, 2, 3, 4, 5, 6, 7, 8}) {
      std::string missing;
      for (const char32_t c : letters) {
        if (!find_own_glyph(io.Fonts->Fonts[role], static_cast<ImWchar>(c))) missing += to_utf8(c);
      }
      CAPTURE(role);
      CHECK(missing == "");
    }
  }
}

TEST_CASE("language: a menu that is longer than the window scrolls inside it") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(small_document(), {960, 300});
    gui.push(ChooseLanguage{language});
    gui.click("menu/View");
    CHECK(gui.has("menu/view/theme"));
    CHECK(ImGui::GetCurrentContext()->OpenPopupStack.Size == 1);
    for (const auto& control : gui.drawn().all()) {
      const std::string& id = control.first;
      const DrawnControl& r = control.second;
      if (!id.starts_with("menu/")) continue;
      CAPTURE(id);
      CHECK(r.min.y < 300);
    }
    const ImGuiWindow* popup = ImGui::GetCurrentContext()->OpenPopupStack[0].Window;
    REQUIRE(popup);
    CHECK(popup->Pos.y + popup->Size.y <= 300);
    CHECK(popup->ScrollMax.y > 0);
  }
}

}  // namespace headlight::test
