// Every character that is drawn has a glyph: those of the code's own strings, and all that stands
// on the screen on every page of any kind of model, either way, in both languages.
#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/utf8.h"
#include "test_paths.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

// The characters beyond ASCII in the string and character literals of a source file, escapes too.
std::set<char32_t> written_by(const std::string& source) {
  std::string literals;
  char quote = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (!quote && source.compare(i, 2, "//") == 0) {
      i = std::min(source.find('\n', i), source.size());
    } else if (!quote) {
      const bool separates = c == '\'' && i > 0 && std::isdigit(source[i - 1]);  // 1'000
      if ((c == '"' || c == '\'') && !separates) quote = c;
    } else if (c == '\\' && source[i + 1] == 'u') {
      literals += to_utf8(static_cast<char32_t>(std::stoul(source.substr(i + 2, 4), nullptr, 16)));
      i += 5;
    } else if (c == '\\') {
      ++i;
    } else if (c == quote) {
      quote = 0;
    } else {
      literals += c;
    }
  }
  std::set<char32_t> found;
  for (const char32_t c : to_code_points(literals)) {
    if (c > 0x7F) found.insert(c);
  }
  return found;
}

// Of all sources; those that only compare with what a person typed write nothing.
std::set<char32_t> written_by_the_code() {
  std::set<char32_t> found;
  for (const char* part : {"app", "core"}) {
    const auto folder =
        std::filesystem::path(HEADLIGHT_TEST_DIR).parent_path().parent_path() / part;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      const bool is_source = name.ends_with(".cpp") || name.ends_with(".h");
      if (!is_source || name == "line_break.cpp" || name == "utf8.cpp" || name == "label.cpp")
        continue;
      found.merge(written_by(read_text(entry.path().string())));
    }
  }
  return found;
}

// The random model's kinds, and all trained ones.
std::vector<Document> kinds_of_models() {
  std::vector<Document> all;
  for (const std::string& name : bundled_names()) all.push_back(bundled_document(name));
  const auto add = [&](auto change) {
    Document d = small_document(1, 2, 8);
    change(d.config);
    all.push_back(std::move(d));
  };
  add([](Config&) {});
  add([](Config& c) {
    c.block = BlockKind::kPostNorm;
    c.positions = PositionKind::kLearned;
    c.activation = Activation::kRelu;
    c.temperature = 2;
  });
  add([](Config& c) {
    c.block = BlockKind::kAttention;
    c.attention = AttentionKind::kBasic;
    c.scale = false;
  });
  add([](Config& c) {
    c.norm = NormKind::kRms;
    c.positions = PositionKind::kRotary;
    c.activation = Activation::kSwiglu;
    c.scores = ScoreKind::kDot;
    c.mask.kind = MaskKind::kLocal;
  });
  return all;
}

// The first words on the screen that have a replacement for a character; "" for none.
std::string replaced(Gui& gui) {
  for (const DrawnText& text : gui.texts()) {
    if (text.words.find("\uFFFD") != std::string::npos) return text.words;
  }
  return "";
}

// Looks at every step: its page, and its words, its numbers and the trail of a cell and of where
// that came from.
void walk(Gui& gui, const std::vector<std::string>& steps) {
  const auto check = [&](const std::string& step) {
    CAPTURE(step);
    // A character that no font had yet is there a frame later; as wide as it then is, names beside
    // it may come or go, with characters of their own.
    for (int i = 0; i < 3 && replaced(gui) != ""; ++i) gui.frame();
    CHECK(replaced(gui) == "");
  };
  for (const std::string& step : steps) {
    gui.push(GoToStep{step});
    check(step);
    for (const Command tab : {Command::kTabWords, Command::kTabCode, Command::kTabNumbers}) {
      gui.push(DoCommand{tab});
      check(step);
    }
    if (!gui.has("term/0")) continue;
    gui.click("term/0");
    check(step);
  }
}

}  // namespace

TEST_CASE("glyphs: the fonts have every character that the code writes") {
  CHECK(written_by("f(1'000, \"a\u2026\\u203a\", 'x'); // \u2192") ==
        std::set<char32_t>{0x2026, 0x203A});
  const std::set<char32_t> letters = written_by_the_code();
  CHECK(letters.size() > 40);
  CHECK(letters.contains(0x203A));  // of the trail
  Gui gui(small_document());
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{language});
    const auto& fonts = ImGui::GetIO().Fonts->Fonts;
    REQUIRE(fonts.Size >= 10);
    for (int role = 0; role < fonts.Size; ++role) {
      std::string missing;
      for (const char32_t c : letters) {
        const bool chinese = c >= 0x2E80;  // in words, never in formulas and cells
        if (!chinese && !find_own_glyph(fonts[role], static_cast<ImWchar>(c)))
          missing += to_utf8(c);
      }
      CAPTURE(role);
      CHECK(missing == "");
    }
  }
}

TEST_CASE("glyphs: no step of any kind of model shows a replacement, either way, in no language") {
  for (const Document& document : kinds_of_models()) {
    Gui gui(document);
    CAPTURE(document.model);
    REQUIRE(gui.state().derived.problem == "");
    gui.push(ShowBackward{true});
    const std::vector<std::string> steps = page_names(gui.trace().program());
    REQUIRE(steps.back().starts_with("d."));
    std::size_t first = 0;
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      gui.push(ChooseLanguage{language});
      walk(gui, walked(steps, first++));
    }
  }
}

}  // namespace headlight::test
