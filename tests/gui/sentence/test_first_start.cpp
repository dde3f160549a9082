// What a person sees and does first: a model that knows a language, a head that means something.
#include <doctest/doctest.h>

#include <set>

#include "core/train/model_recipe.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

std::string next_words(Gui& gui) {
  const int id = most_probable(outcome_of(&gui.trace()).probabilities, 1)[0];
  return gui.state().derived.model->vocabulary->decode(std::vector{id});
}

}  // namespace

TEST_CASE("first start: a head that means something; three tokens and back, a badge, own words") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    const FirstStart first = first_start(language);
    const HeadClaim& claim = first.look_at;
    Gui gui(first.document, {1440, 900});
    gui.push(ChooseLanguage{language});
    gui.shell().show_claim(claim);
    gui.frame(2);
    CHECK(gui.state().session.step == claim.step);
    CHECK(gui.state().session.head == claim.head);
    REQUIRE(gui.state().session.picked);
    CHECK(gui.state().session.picked->index ==
          std::vector<std::int64_t>{0, claim.head, *claim.query, claim.keys[0]});
    CHECK(measured_weight(claim, gui.trace()) >= claim.least);
    CHECK(gui.has("label/heads/" + std::to_string(claim.head) + "/badge"));

    // Tokens are named without the blank before a word; what goes on with one has a dot.
    const Vocabulary& vocabulary = *gui.state().derived.model->vocabulary;
    CHECK(gui.trace().tick("position", 2) == "dog");
    CHECK(gui.trace().tick("vocab", vocabulary.encode(" dog")[0]) == "dog");
    CHECK(gui.trace().tick("vocab", vocabulary.encode("s")[0]) == "·s");
    CHECK(gui.trace().tick("vocab", vocabulary.encode(" \"")[0]) == " \"");

    const std::string sentence = gui.document().sentence;
    std::string grown = sentence;
    for (int i = 0; i < 3; ++i) {
      grown += next_words(gui);
      gui.click("next/0");
      CHECK(gui.document().sentence == grown);
      CHECK(gui.trace().length() == 11 + i);
    }
    for (int i = 0; i < 3; ++i) gui.ctrl('Z');
    CHECK(gui.document().sentence == sentence);
    CHECK(gui.trace().length() == 10);

    // Another head that has earned a badge, on another layer.
    REQUIRE(gui.has("label/heads/3.3/badge"));
    gui.click("heads/3.3");
    CHECK(gui.state().session.step == "blocks.3.attn.pattern");
    CHECK(gui.state().session.head == 3);

    // Any text is taken.
    for (const char* typed : {"A cat sat here", "你好 🙂", "x = 3 * (y - 1)"}) {
      gui.click("sentence");
      gui.edit_key({ImGuiKey_A, true});
      gui.type(typed);
      CHECK(gui.document().sentence == typed);
      CHECK(gui.state().notices.empty());
      CHECK(gui.state().derived.model->vocabulary->decode(gui.trace().input().ids) == typed);
      CHECK_FALSE(next_words(gui).empty());
    }
  }
}

TEST_CASE("first start: bars stand under their tokens, also under parts of a character") {
  Gui gui(first_start(Language::kEnglish).document, {1440, 900});
  const auto right_end = [&](const char* sentence) {
    gui.push(DoEdit{SetSentence{sentence}, ""});
    gui.frame(2);
    const std::int64_t last = gui.trace().length() - 1;
    float right = 0;
    for (std::int64_t i = 0; i <= last; ++i) {
      const DrawnControl bar = gui.rect("sentence/weight/" + std::to_string(i));
      CHECK(bar.min.x >= right - 1.5f);
      right = bar.max.x;
    }
    return right;
  };
  const float letter = right_end("x dog"), emoji = right_end("🙂 dog");
  CHECK(gui.trace().length() == 5);  // a character of four bytes
  CHECK(emoji > letter);
  CHECK(emoji < letter + 25);
}

TEST_CASE("first start: no two tokens of the vocabulary have one name") {
  Gui gui(first_start(Language::kEnglish).document, {1440, 900});
  std::set<std::string> names;
  const auto count = static_cast<std::int64_t>(gui.trace().input().vocab.size());
  for (std::int64_t id = 0; id < count; ++id) names.insert(gui.trace().tick("vocab", id));
  CHECK(static_cast<std::int64_t>(names.size()) == count);
}

TEST_CASE(
    "first start: a switch that the model was not trained with is marked, with the way back") {
  Gui gui(first_start(Language::kEnglish).document, {1440, 900});
  const Config trained = gui.document().config;
  const std::span<const float> all = outcome_of(&gui.trace()).probabilities;
  const std::vector<float> before(all.begin(), all.end());
  const float likely = before[20];
  CHECK_FALSE(gui.has("next/as_trained"));
  for (const char* changed : {"mask/none", "scale/off"}) {
    CAPTURE(changed);
    gui.click(changed);
    CHECK_FALSE(gui.document().config == trained);
    CHECK(outcome_of(&gui.trace()).probabilities[20] != likely);
    REQUIRE(gui.has("next/as_trained"));
    // The mark on a bar is where it ended before.
    REQUIRE(gui.has("label/next/0/was"));
    const Outcome now = outcome_of(&gui.trace());
    const int id = most_probable(now.probabilities, 1)[0];
    CHECK(said_as_trained(gui.state(), now)[static_cast<std::size_t>(id)] ==
          before[static_cast<std::size_t>(id)]);
    gui.hover("next/0/open");
    gui.frame(2);
    CHECK(gui.shows(share_text(before[static_cast<std::size_t>(id)]) + " as it was trained"));
    gui.click("next/as_trained");
    CHECK(gui.document().config == trained);
    CHECK(gui.document().sentence == first_start(Language::kEnglish).document.sentence);
    CHECK(outcome_of(&gui.trace()).probabilities[20] == likely);
    CHECK_FALSE(gui.has("next/as_trained"));
    gui.ctrl('Z');
    CHECK(gui.has("next/as_trained"));
    gui.ctrl('Z');
    CHECK(gui.document().config == trained);
  }
}

TEST_CASE("first start: each bundled model says what it takes before it is opened") {
  Gui gui(first_start(Language::kEnglish).document, {1440, 900});
  gui.push(DoCommand{Command::kToggleModel});
  gui.frame(2);
  for (const std::string& name : bundled_names()) {
    CAPTURE(name);
    gui.hover("model/trained/" + name);
    gui.frame(2);
    CHECK(gui.shows("For example:"));
    CHECK(gui.shows(bundled_recipe(name).example.substr(0, 3)));
  }
}

}  // namespace headlight::test
