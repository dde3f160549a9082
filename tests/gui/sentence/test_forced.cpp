// The sheet "Teacher forcing and free running": its tokens are the run's, its sentences are true of
// them and gone where they are not, its buttons change the sentence, and one undo takes that back.
#include "core/base/number_text.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document dates(const std::string& sentence) {
  Document document = bundled_document("dates");
  document.sentence = sentence;
  return document;
}

std::vector<std::string> probable(const Gui& gui) {
  std::vector<std::string> shown;
  for (const SaidToken& said : gui.state().derived.rows->said)
    shown.push_back(share_text(static_cast<double>(said.probability)));
  return shown;
}

std::string words(const Gui& gui, std::string_view id,
                  const std::map<std::string, std::string>& with) {
  std::string text(tr(gui.state().session.language, id));
  for (const auto& [name, value] : with) {
    const std::size_t at = text.find("{" + name + "}");
    REQUIRE(at != std::string::npos);
    text.replace(at, name.size() + 2, value);
  }
  return text;
}

}  // namespace

TEST_CASE("forced: the model writes by itself, is given its row, and gets one wrong token") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(dates("march 5 2021"), {1920, 1080});
    gui.push(ChooseLanguage{language});
    gui.click("next/forced");
    REQUIRE(gui.has("panel/forced"));
    CHECK(gui.has("label/forced.reads.own"));
    CHECK_FALSE(gui.has("label/forced.own"));
    for (const std::string& p : probable(gui)) CHECK(gui.shows(p));
    gui.click("forced/give");
    CHECK(gui.document().sentence == "march 5 2021 → 2021-03-05");
    gui.frame();
    CHECK(gui.has("label/forced.reads"));
    CHECK(gui.has("label/forced.own"));
    CHECK(gui.shows(words(gui, "forced.same", {})));
    CHECK_FALSE(gui.has("forced/give"));
    gui.push(DoEdit{SetSentence{"march 5 2021 → 2021-04-05"}, ""});
    gui.frame();
    const ForcedAndFree& rows = *gui.state().derived.rows;
    CHECK(gui.shows(words(gui, "forced.parts", {{"place", "7"}, {"own", "3"}, {"given", "4"}})));
    CHECK_FALSE(gui.shows(words(gui, "forced.same", {})));
    CHECK(gui.shows(
        words(gui, "forced.right",
              {{"right", std::to_string(rows.right)}, {"asked", std::to_string(rows.asked)}})));
    gui.click("forced/write");
    CHECK(gui.document().sentence == "march 5 2021");
    gui.push(DoCommand{Command::kUndo});
    CHECK(gui.document().sentence == "march 5 2021 → 2021-04-05");
    gui.click("forced/close");
    CHECK_FALSE(gui.has("panel/forced"));
  }
}

TEST_CASE("forced: a sentence that cannot be run leaves the row that was given there") {
  Gui gui(dates("march 5 2021 → 2021-04"), {1280, 720});
  gui.push(DoEdit{SetSentence{"MÄRZ"}, ""});
  gui.frame();
  REQUIRE(gui.state().derived.problem != "");
  gui.push(DoCommand{Command::kForced});
  gui.frame();
  const Language language = gui.state().session.language;
  std::string said(
      tr(language, "forced.help.given", {{"source", "march 5 2021"}, {"row", "2021-04"}}));
  CHECK(gui.shows(said));
  gui.click("forced/write");
  CHECK(gui.document().sentence == "march 5 2021");
  CHECK(gui.state().derived.problem == "");
}

TEST_CASE("forced: a click on what is said shows where its probability comes from") {
  Gui gui(dates("march 5 2021 → 2021-04-05"), {1280, 720});
  gui.push(DoCommand{Command::kForced});
  gui.frame();
  const ForcedAndFree rows = *gui.state().derived.rows;
  gui.click("forced/at/7");
  CHECK_FALSE(gui.has("panel/forced"));
  const auto& picked = gui.state().session.picked;
  REQUIRE(picked);
  CHECK(picked->index[picked->index.size() - 2] == 7);
  CHECK(picked->index.back() == rows.said[7].id);
  const Explanation& explanation = gui.state().derived.inspected->explanation;
  CHECK(explanation.value == rows.said[7].probability);
}

TEST_CASE("forced: a model without a row of its own opens one that has it; a long row is folded") {
  Gui gui(bundled_document("grammar"), {1280, 720});
  CHECK_FALSE(gui.has("next/forced"));
  gui.push(DoCommand{Command::kForced});
  gui.frame();
  gui.click("forced/open_model");
  gui.frame(2);
  CHECK(gui.document().model == "bundled:dates");
  REQUIRE(gui.state().derived.rows);
  CHECK(gui.has("forced/give"));
  gui.push(ChooseModel{});
  gui.push(DoEdit{SetSentence{"no row of its own"}, ""});
  gui.frame();
  CHECK_FALSE(gui.state().derived.rows);
  for (const ImVec2 size : {ImVec2{640, 480}, ImVec2{400, 300}}) {
    gui.set_size(size.x, size.y);
    gui.push(ChooseModel{"bundled:dates"});
    gui.push(DoEdit{SetSentence{"march 5 2021"}, ""});
    gui.push(DoCommand{Command::kForced});
    gui.frame(2);
    CHECK(gui.has("forced/give"));
    CHECK(gui.has("forced/at/0"));
  }
}

}  // namespace headlight::test
