// The pages of the stage: what opens up beside the matrices says the model's numbers, finds its
// place or folds away, and leads to cells; what is out of the ordinary is said in words.
// Captions say ranges where these differ, and sizes in one form.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "app/ui/stage/stage_layout.h"
#include "core/base/number_text.h"
#include "core/view/row_detail.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

const char* const kStagePattern = "blocks.0.attn.pattern";

Document sentence_of_eleven() {
  Document document = small_document(1, 4, 16);
  document.sentence = "The animal did not cross the street because it was tired";
  return document;
}

const Step& step_named(const Trace& trace, const std::string& name) {
  const Program& program = trace.program();
  return program.steps[static_cast<std::size_t>(program.step_of(program.require(name)))];
}

std::string no_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// All words that stand inside the rectangle, top to bottom.
std::vector<std::string> words_in(Gui& gui, const DrawnControl& r) {
  std::vector<DrawnText> inside;
  for (const DrawnText& text : gui.texts()) {
    const ImVec2 at{(text.min.x + text.max.x) / 2, (text.min.y + text.max.y) / 2};
    if (at.x >= r.min.x && at.x <= r.max.x && at.y >= r.min.y && at.y <= r.max.y)
      inside.push_back(text);
  }
  std::sort(inside.begin(), inside.end(),
            [](const DrawnText& a, const DrawnText& b) { return a.min.y < b.min.y; });
  std::vector<std::string> words;
  for (const DrawnText& text : inside) words.push_back(text.words);
  return words;
}

}  // namespace

TEST_CASE("stage: the opened row prints the trace's and explain's numbers") {
  Gui gui(sentence_of_eleven(), {1920, 1080});
  int checked = 0;
  for (const char* name : {kStagePattern, "blocks.0.ln1.normalized", "ln_final.normalized"}) {
    CAPTURE(name);
    gui.push(GoToStep{name});
    gui.frame(2);
    const auto opened = open_row(gui.trace(), step_named(gui.trace(), name), 0, 10,
                                 gui.state().session.picked->index.back());
    REQUIRE(opened);
    REQUIRE(gui.has("panel/detail"));
    for (std::size_t c = 0; c < opened->row.lines[0].values.size(); ++c) {
      const std::string id = "detail/" + std::to_string(c);
      if (!gui.has(id)) continue;
      const std::vector<std::string> words = words_in(gui, gui.rect(id));
      REQUIRE(words.size() == opened->row.lines.size() + 1);
      for (std::size_t l = 0; l < opened->row.lines.size(); ++l) {
        CHECK(words[l + 1] == no_spaces(number_text(opened->row.lines[l].values[c], 4)));
        ++checked;
      }
    }
    for (const Quantity& q : opened->row.quantities) {
      const std::vector<std::string> words = words_in(gui, gui.rect("label/quantity/" + q.name));
      const bool said = std::any_of(words.begin(), words.end(), [&](const std::string& w) {
        return w.ends_with(number_text(q.value, 5));
      });
      CHECK(said);
    }
  }
  CHECK(checked > 60);
}

TEST_CASE("stage: numbers of the opened row that are next to 1 do not run into each other") {
  Document document = small_document(1, 2, 8);
  document.config.score_scale = 1e-6;  // all scores are nearly the same
  Gui gui(document, {1280, 720});
  gui.push(GoToStep{kStagePattern});
  gui.frame(2);
  REQUIRE(gui.has("panel/detail"));
  int cut = 0;
  const std::vector<DrawnText> texts = gui.texts();
  for (std::int64_t c = 0; c < gui.trace().length(); ++c) {
    const DrawnControl r = gui.rect("detail/" + std::to_string(c));
    for (const DrawnText& text : texts) {
      const ImVec2 middle{(text.min.x + text.max.x) / 2, (text.min.y + text.max.y) / 2};
      const bool inside =
          middle.x > r.min.x && middle.x < r.max.x && middle.y > r.min.y && middle.y < r.max.y;
      if (!inside) continue;
      CHECK(text.min.x >= r.min.x);
      CHECK(text.max.x <= r.max.x);
      cut += text.words.ends_with("…");
    }
  }
  CHECK(cut > 0);
}

TEST_CASE("stage: a click in the opened row picks the cell, a click in the ranking the entry") {
  Gui gui(sentence_of_eleven(), {1920, 1080});
  gui.push(GoToStep{kStagePattern});
  gui.frame(2);
  gui.click("detail/3");
  CHECK(gui.state().session.picked == CellPick{kStagePattern, {0, 0, 10, 3}});
  gui.hover("detail/5");
  CHECK(gui.state().session.hovered == CellPick{kStagePattern, {0, 0, 10, 5}});
  gui.push(GoToStep{"probs"});
  gui.frame(2);
  gui.click("rank/2");
  CHECK(gui.state().session.picked == CellPick{"probs", {0, 10, 2}});
}

TEST_CASE("stage: the ranking prints the trace's numbers, largest first") {
  Gui gui(sentence_of_eleven(), {1920, 1080});
  for (const char* name : {"logits", "probs"}) {
    CAPTURE(name);
    gui.push(GoToStep{name});
    gui.frame(2);
    const TensorView t = gui.tensor(name);
    float last = INFINITY;
    int shown = 0;
    std::vector<std::array<float, 3>> places;  // one column after the other
    for (std::int64_t c = 0; c < t.axes.back().size; ++c) {
      const std::string id = "rank/" + std::to_string(c);
      if (gui.has(id))
        places.push_back({gui.rect(id).min.x, gui.rect(id).min.y, static_cast<float>(c)});
    }
    std::sort(places.begin(), places.end());
    for (const auto& place : places) {
      const auto column = static_cast<std::int64_t>(place[2]);
      const std::vector<std::int64_t> cell = {0, 10, column};
      const float value = t.at(cell);
      CHECK(value <= last);
      last = value;
      bool said = false;
      for (const std::string& w : words_in(gui, gui.rect("rank/" + std::to_string(column))))
        said |= w.ends_with(number_text(value, 4));
      CHECK(said);
      ++shown;
    }
    CHECK(shown == 10);
  }
}

TEST_CASE("stage: what opens up never overlaps the matrices nor leaves the stage") {
  Gui gui(sentence_of_eleven());
  int shown = 0;
  for (const ImVec2 size :
       {ImVec2{960, 540}, ImVec2{1280, 720}, ImVec2{1440, 900}, ImVec2{1920, 1080}}) {
    gui.set_size(size.x, size.y);
    CAPTURE(size.x);
    for (const std::string& step : step_names(gui.trace().program())) {
      CAPTURE(step);
      gui.push(GoToStep{step});
      gui.frame();
      if (!gui.has("panel/detail")) continue;
      ++shown;
      const DrawnControl opened = gui.rect("panel/detail"), stage = gui.rect("panel/stage");
      CHECK(opened.min.x >= stage.min.x);
      CHECK(opened.max.x <= stage.max.x);
      CHECK(opened.max.y <= gui.rect("step/next").min.y);
      for (const auto& control : gui.drawn().all()) {
        const std::string& id = control.first;
        const DrawnControl& r = control.second;
        const bool inner = id.starts_with("detail/") || id.starts_with("rank/");
        if (inner) {
          CAPTURE(id);
          CHECK(r.min.y >= opened.min.y - 1);
          CHECK(r.max.y <= opened.max.y + 1);
          CHECK(r.max.x <= opened.max.x + 1);
        }
        if (!id.starts_with("pane/")) continue;
        const bool apart = r.max.x <= opened.min.x || r.max.y <= opened.min.y;
        CHECK(apart);
      }
    }
  }
  CHECK(shown > 15);
}

// A column of six pixels names its tokens no more, and its caption loses the sizes.
TEST_CASE(
    "stage: cells are squares between equal texts, and longer between a long and a short one") {
  Document document = small_document(1, 2, 8);
  document.config.form = ModelForm::kTranslate;
  const auto sides = [&](const char* sentence, const char* step) {
    document.sentence = sentence;
    Gui gui(document, {1280, 720});
    gui.push(GoToStep{step});
    gui.frame(2);
    const HeatmapQuad& q = gui.heatmap("pane/1/" + std::string(step)).quad;
    return std::pair((q.x1 - q.x0) / static_cast<float>(q.columns),
                     (q.y1 - q.y0) / static_cast<float>(q.rows));
  };
  const char* cross = "decoder.blocks.0.cross_attn.pattern";
  const char* written = "a b c d -> a b c d e f g h i j k l m n o p q r s t u v w";
  const auto [width, height] = sides(written, cross);
  CHECK(width >= 2 * height);
  CHECK(width <= 3 * height);
  const auto [wide, high] = sides(written, "decoder.blocks.0.attn.pattern");
  CHECK(wide == doctest::Approx(high));
  const auto [even, same] = sides("a b c d -> a b c", cross);
  CHECK(even == doctest::Approx(same));
}

TEST_CASE("stage: the words of an encoder's page speak of its own tokens") {
  Gui gui(small_document(1, 2, 8), {1920, 1080});
  gui.push(ChooseModel{"bundled:dates"});
  gui.push(DoEdit{SetSentence{"march 5 2021"}, ""});
  const char* const name = "encoder.blocks.0.attn.pattern";
  gui.push(GoToStep{name});
  REQUIRE(gui.trace().length() < 12);  // the row it wrote is shorter
  gui.push(PickCell{{name, {0, 0, 11, 8}}});
  gui.push(ChooseTab{InspectorTab::kWords});
  gui.frame(2);
  CHECK(gui.shows("“1” looks most at"));
  CHECK(gui.shows("Row “1”"));
  CHECK(gui.shows("“1” gives"));
}

TEST_CASE("stage: what is out of the ordinary is said in words") {
  Gui gui(sentence_of_eleven(), {1920, 1080});
  const TensorView scores = gui.tensor("blocks.0.attn.z");
  const_cast<float*>(scores.data)[5] = NAN;
  const_cast<float*>(scores.data)[9] = NAN;
  gui.push(GoToStep{"blocks.0.attn.z"});
  gui.frame(2);
  const auto says = [&](std::string words) {
    words = no_spaces(std::move(words));
    for (const DrawnText& text : gui.texts()) {
      if (text.words.find(words) != std::string::npos) return true;
    }
    return false;
  };
  CHECK(says("2 of " + count_text(scores.size()) + " cells of z are NaN"));

  MaskSpec mask;
  mask.kind = MaskKind::kFree;
  for (int query = 0; query < 11; ++query) {
    for (int key = 0; key < 11; ++key) mask.forbidden.insert(query, key);
  }
  gui.push(DoEdit{SetMask{mask}, ""});
  gui.push(GoToStep{kStagePattern});
  gui.frame(2);
  CHECK(says("The mask forbids every key"));
  for (int query = 2; query < 11; ++query) mask.forbidden.set_row(query, {});
  gui.push(DoEdit{SetMask{mask}, ""});
  gui.frame(2);
  CHECK(says("2 of 11 queries may look at no key"));
}

TEST_CASE("stage: without a sentence it says what to do") {
  Document document;
  document.sentence = "";
  Gui gui(document);
  CHECK(gui.shows("Type a sentence"));
  gui.push(DoEdit{SetSentence{"one"}, ""});
  gui.frame(2);
  CHECK_FALSE(gui.shows("Type a sentence"));
}

TEST_CASE("stage: size words have colours of their own that can be read") {
  for (const bool dark : {false, true}) {
    const Theme t = Theme::make(dark);
    const Color sizes[] = {t.size_tokens, t.size_model, t.size_head_width, t.size_heads};
    const Color others[] = {t.q, t.k, t.v, t.pattern, t.text, t.muted};
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      for (const Color background : {t.surface, t.background, t.selection})
        CHECK(contrast(sizes[i], background) >= 4.5f);
      const auto differs = [&](Color other) {
        const float d = std::fabs(sizes[i].r - other.r) + std::fabs(sizes[i].g - other.g) +
                        std::fabs(sizes[i].b - other.b);
        return d > 0.25f;
      };
      for (const Color other : others) CHECK(differs(other));
      for (std::size_t j = 0; j < i; ++j) CHECK(differs(sizes[j]));
    }
  }
}

TEST_CASE("captions: what terms are called is read whole in the narrow inspector") {
  Gui gui(bundled_document("dates"), {1280, 720});
  gui.key({'B'});
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{language});
    gui.push(GoToStep{"d.encoder.embed"});
    gui.frame(2);
    const std::string axis(tr(language, "inspector.axis.position"));
    CHECK(gui.shows(axis));
    for (const ShortenedText& text : gui.drawn().shortened())
      CHECK(text.whole.find(axis) == std::string::npos);
  }
}

}  // namespace headlight::test
