// Segments: the pages of the table and of the sum, the marks of the second sentence, the switch;
// and of a masked model what each token could see.
#include "core/base/number_text.h"
#include "core/document/session_file.h"
#include "core/model/bundled.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document divided() {
  Document document = small_document(1, 2, 8);
  document.sentence = "the cat sat [SEP] it fell asleep";
  Config& c = document.config;
  c.form = ModelForm::kClasses;
  c.mask.kind = MaskKind::kNone;
  c.pool = PoolKind::kFirst;
  c.segments = true;
  return document;
}

}  // namespace

TEST_CASE("segments: every page, forwards and backwards, in both languages") {
  for (const PositionKind positions : {PositionKind::kLearned, PositionKind::kNone}) {
    Document document = divided();
    document.config.positions = positions;
    Gui gui(document);
    REQUIRE(gui.state().derived.problem == "");
    gui.push(ShowBackward{true});
    gui.frame(3);
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      gui.push(ChooseLanguage{language});
      for (const std::string& step : page_names(gui.trace().program())) {
        CAPTURE(step);
        gui.push(GoToStep{step});
        gui.frame();
        REQUIRE(gui.state().session.step == step);
        CHECK(inconsistency(gui.state()) == "");
        CHECK(gui.drawn().cut_texts().empty());
      }
    }
  }
}

TEST_CASE("segments: the page says in which sentence a token stands, and how many do") {
  Gui gui(divided(), {1600, 1000});
  const auto at = [&](std::int64_t token) {
    gui.push(GoToStep{"segment_embed"});
    gui.push(PickCell{{"segment_embed", {0, token, 0}}});
    gui.frame(2);
  };
  at(2);
  CHECK(gui.shows("“cat” is in segment 0"));
  at(6);
  CHECK(gui.shows("“fell” is in segment 1"));
  // The terms of a cell: the row of the table, and which sentence picked it.
  gui.push(ChooseTab{InspectorTab::kNumbers});
  gui.frame(2);
  CHECK(gui.shows("W_seg[seg, f]"));
  CHECK_FALSE(gui.shows("token id"));
}

TEST_CASE("segments: the second sentence is marked, and the [SEP] that closes it stays") {
  Gui gui(divided(), {1600, 1000});
  gui.push(GoToStep{"token_ids"});
  gui.frame(2);
  REQUIRE(gui.trace().length() == 9);
  for (int t = 0; t < 9; ++t) {
    CAPTURE(t);
    CHECK(gui.has("token/segment/" + std::to_string(t)) == (t > 4));
  }
  CHECK(gui.shows("A bar at the foot marks the second sentence"));
  gui.push(DoEdit{MoveToken{8, 2}, ""});  // nobody wrote it
  gui.frame(2);
  CHECK(gui.document().sentence == divided().sentence);
  gui.push(DoEdit{MoveToken{6, 1}, ""});
  gui.frame(2);
  CHECK(gui.document().sentence == "fell the cat sat [SEP] it asleep");
  // Without segments there is nothing to mark.
  Document plain = divided();
  plain.config.segments = false;
  Gui other(plain, {1600, 1000});
  other.push(GoToStep{"token_ids"});
  other.frame(2);
  CHECK_FALSE(other.shows("A bar at the foot"));
}

TEST_CASE("segments: the switch adds them and a second sentence; a third one is refused") {
  Gui gui(small_document(1, 2, 8));
  const std::string before = gui.document().sentence;
  gui.push(DoCommand{Command::kToggleModel});
  gui.frame(2);
  gui.reveal("model/segment_rows/on", "panel/model_settings");
  gui.click("model/segment_rows/on");
  CHECK(gui.config().segments);
  CHECK(gui.document().sentence.starts_with(before + " [SEP] "));
  CHECK(gui.trace().program().segment_ids >= 0);
  CHECK(gui.trace().input().segment_ids.back() == 1);
  gui.ctrl('Z');
  CHECK(gui.document().sentence == before);
  CHECK_FALSE(gui.config().segments);
  gui.push(DoCommand{Command::kRedo});
  gui.frame(2);
  CHECK(gui.config().segments);
  gui.push(DoEdit{SetSentence{"a [SEP] b [SEP] c"}, ""});
  gui.frame(2);
  CHECK(gui.state().derived.problem.find("one sentence or two") != std::string::npos);
}

TEST_CASE("masked: the page says how many tokens the mask lets each one see") {
  const Document document = bundled_document("masked");
  Gui gui(document, {1600, 1000});
  const std::int64_t n = gui.trace().length();
  const std::int64_t place = gui.trace().input().masked.at(0);
  const auto words = [](std::int64_t before, std::int64_t behind) {
    return "see " + std::to_string(before) + " tokens before it and " + std::to_string(behind) +
           " behind it";
  };
  const auto at = [&](std::int64_t row) {
    gui.push(GoToStep{"probs"});
    gui.push(PickCell{{"probs", {0, row, 0}}});
    gui.frame(2);
  };
  at(place);
  CHECK(gui.shows(words(place, n - 1 - place)));
  MaskSpec mask = gui.config().mask;
  mask.kind = MaskKind::kCausal;
  gui.push(DoEdit{SetMask{mask}, ""});
  at(place);
  CHECK(gui.shows(words(place, 0)));
  mask.kind = MaskKind::kLocal;
  mask.window = 2;
  mask.causal = false;
  gui.push(DoEdit{SetMask{mask}, ""});
  at(0);
  CHECK(gui.shows(words(0, 2)));
  at(n - 2);
  CHECK(gui.shows(words(2, 1)));
}

}  // namespace headlight::test
