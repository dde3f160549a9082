// The line under the sentence: the model's own probabilities, and tokens that are added, drawn and
// written, each of which one undo takes back. The bars under the words: the chosen head's row.
#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"
#include "core/graph/step_names.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

// Probabilities of the row that says what comes next, computed here a second time.
std::vector<float> expected_row(const Gui& gui) {
  const TensorView probs = gui.tensor("probs");
  const auto width = static_cast<std::size_t>(probs.axes.back().size);
  std::int64_t row = probs.size() / probs.axes.back().size - 1;
  const std::vector<std::string>& tokens = gui.trace().input().tokens;
  if (gui.trace().program().shape.in_place)
    row = std::ranges::find(tokens, "[MASK]") - tokens.begin();
  const float* first = probs.data + static_cast<std::size_t>(row) * width;
  return {first, first + width};
}

std::vector<int> ranked(const std::vector<float>& row) {
  std::vector<int> ids(row.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int>(i);
  std::ranges::stable_sort(ids, std::greater{},
                           [&](int i) { return row[static_cast<std::size_t>(i)]; });
  return ids;
}

std::string text_at(Gui& gui, const std::string& id) {
  const DrawnControl r = gui.rect(id);
  for (const DrawnText& text : gui.texts()) {
    const float y = (text.min.y + text.max.y) / 2;
    if (text.min.x >= r.min.x - 1 && text.max.x <= r.max.x + 1 && y > r.min.y && y < r.max.y)
      return text.words;
  }
  return "";
}

Document short_grammar() {
  Document document = bundled_document("grammar");
  document.sentence = "the boys near the dogs";
  return document;
}

}  // namespace

TEST_CASE("next: the bars are the model's own probabilities, largest first, and add up to 1") {
  for (const std::string& name : bundled_names()) {
    CAPTURE(name);
    Gui gui(bundled_document(name), {1920, 1080});
    const std::vector<float> row = expected_row(gui);
    const std::vector<int> ids = ranked(row);
    double shown = 0;
    int count = 0;
    for (; gui.has("next/" + std::to_string(count)); ++count) {
      const auto id = static_cast<std::size_t>(ids[static_cast<std::size_t>(count)]);
      const std::string words = text_at(gui, "next/" + std::to_string(count) + "/open");
      CHECK((words == "1.000") <= (row[id] == 1));
      const double said = words.starts_with("<")   ? 0
                          : words.starts_with(">") ? 1
                                                   : std::stod(words);
      CHECK(std::fabs(said - row[id]) <= 0.00051);
      shown += row[id];
    }
    CHECK(count == static_cast<int>(std::min<std::size_t>(5, row.size())));
    if (row.size() <= 5) continue;
    std::string rest = text_at(gui, "label/next/others");
    rest = rest.substr(rest.find_last_not_of("0123456789.<") + 1);
    CHECK(std::fabs((rest.starts_with("<") ? 0 : std::stod(rest)) - (1 - shown)) <= 0.002);
  }
}

TEST_CASE("next: a click adds that token, Add draws one, one undo takes each back") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(short_grammar(), {1920, 1080});
    gui.push(ChooseLanguage{language});
    const std::string start = gui.document().sentence;
    std::vector<std::string> steps = {start};
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> row = expected_row(gui);
      const std::string token = gui.trace().input().vocab[static_cast<std::size_t>(ranked(row)[1])];
      gui.click("next/1");
      CHECK(gui.document().sentence == steps.back() + (token == "." ? "" : " ") + token);
      CHECK(gui.trace().input().tokens.back() == token);
      steps.push_back(gui.document().sentence);
    }
    gui.click("next/add");
    CHECK(gui.document().sentence.size() > steps.back().size());
    CHECK(gui.document().sentence.starts_with(steps.back()));
    for (std::size_t i = steps.size(); i-- > 0;) {
      gui.push(DoCommand{Command::kUndo});
      CHECK(gui.document().sentence == steps[i]);
    }
  }
}

TEST_CASE("next: what keeps no weights, or averages them, is as trained: the model says the same") {
  Gui gui(short_grammar(), {1920, 1080});
  const std::vector<float> before = expected_row(gui);
  for (bool Config::*option : {&Config::fused_attention, &Config::average_weights}) {
    Config config = gui.config();
    config.*option = true;
    gui.push(DoEdit{SetConfig{config}, ""});
    gui.frame();
    REQUIRE(gui.trace().config().*option);
    CHECK_FALSE(gui.has("next/as_trained"));
    const std::vector<float> now = expected_row(gui);
    for (std::size_t i = 0; i < now.size(); ++i) CHECK(std::fabs(now[i] - before[i]) <= 1e-5);
    gui.push(DoCommand{Command::kUndo});
  }
  Config config = gui.config();
  config.temperature = 3;
  gui.push(DoEdit{SetConfig{config}, ""});
  gui.frame();
  CHECK(gui.has("next/as_trained"));
}

TEST_CASE("next: at temperature 0 Add takes the most probable token") {
  Gui gui(short_grammar(), {1920, 1080});
  gui.push(SetSampling{SamplingOptions{0, 0, 1}, 1});
  for (int i = 0; i < 4; ++i) {
    const std::string best =
        gui.trace().input().vocab[static_cast<std::size_t>(ranked(expected_row(gui))[0])];
    gui.click("next/add");
    CHECK(gui.trace().input().tokens.back() == best);
  }
}

TEST_CASE("next: Write goes on until it is stopped or full, and is one step to undo") {
  Gui gui(short_grammar(), {1920, 1080});
  const std::string start = gui.document().sentence;
  gui.click("next/write");
  gui.frame(4);
  CHECK(gui.state().derived.writing);
  gui.click("next/write");
  gui.frame(2);
  CHECK_FALSE(gui.state().derived.writing);
  const std::string some = gui.document().sentence;
  CHECK(some.size() > start.size());
  gui.frame(3);
  CHECK(gui.document().sentence == some);
  gui.push(DoCommand{Command::kUndo});
  CHECK(gui.document().sentence == start);
  gui.click("next/write");
  gui.frame(80);
  CHECK_FALSE(gui.state().derived.writing);
  CHECK(gui.trace().length() == gui.state().derived.model->file.context);
  CHECK_FALSE(gui.state().derived.cut);
  gui.push(DoCommand{Command::kUndo});
  CHECK(gui.document().sentence == start);
}

TEST_CASE("next: what is added to a long sentence is seen, with its mark, until one types") {
  Document document = bundled_document("stories");
  document.sentence =
      "Once upon a time there was a little dog and a very big cat and a bird that sang all day";
  Gui gui(document, {1024, 640});
  const auto no_letter = [](char c) { return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')); };
  const auto in_field = [&] {
    const DrawnControl field = gui.rect("sentence");
    std::string words;
    for (const DrawnText& text : gui.texts()) {
      const float y = (text.min.y + text.max.y) / 2;
      if (y > field.min.y && y < field.max.y && text.max.x <= field.max.x) words += text.words;
    }
    return words;
  };
  const auto last_letters = [&] {
    std::string end = gui.document().sentence;
    std::erase_if(end, no_letter);
    return end.substr(end.size() - 12);
  };
  gui.frame();
  CHECK(in_field().find("Onceupon") != std::string::npos);
  gui.click("next/write");
  gui.frame(12);
  REQUIRE(gui.state().derived.writing);
  REQUIRE(gui.document().sentence.size() > document.sentence.size() + 20);
  gui.click("next/write");
  gui.frame(2);
  const std::string seen = in_field();
  CAPTURE(seen);
  CAPTURE(gui.document().sentence);
  CHECK(seen.find("…") != std::string::npos);
  std::string letters = seen;
  std::erase_if(letters, no_letter);
  CHECK(letters.find(last_letters()) != std::string::npos);
  // The bars stand under the words that are seen: the last one's under the last word.
  const std::string last =
      "sentence/weight/" + std::to_string(gui.trace().input().tokens.size() - 1);
  if (gui.has(last)) CHECK(gui.rect(last).max.x <= gui.rect("sentence").max.x);
  CHECK_FALSE(gui.has("sentence/weight/0"));
  gui.push(DoEdit{SetSentence{document.sentence}, ""});
  gui.frame(2);
  CHECK(in_field().find("Onceupon") != std::string::npos);
}

TEST_CASE("next: Write draws what Add would have drawn, token by token") {
  for (const char* name : {"stories", "grammar"}) {
    CAPTURE(name);
    Document document = bundled_document(name);
    if (document.model == "bundled:grammar") document = short_grammar();
    const auto set = [](Gui& gui) { gui.push(SetSampling{SamplingOptions{0.9, 40, 1}, 7}); };
    std::vector<std::string> added;
    {
      Gui gui(document, {1920, 1080});
      set(gui);
      for (int i = 0; i < 12; ++i) {
        gui.click("next/add");
        added.push_back(gui.document().sentence);
      }
    }
    Gui gui(document, {1920, 1080});
    set(gui);
    gui.click("next/write");
    for (const std::string& sentence : added) {
      for (int i = 0; i < 4 && gui.document().sentence.size() < sentence.size(); ++i) gui.frame();
      CHECK(gui.document().sentence.starts_with(sentence));
    }
  }
}

TEST_CASE("next: a switch that is flipped while the model writes counts from there on") {
  Gui gui(short_grammar(), {1920, 1080});
  gui.push(SetSampling{SamplingOptions{0, 0, 1}, 1});
  gui.click("next/write");
  gui.frame(2);
  Config config = gui.document().config;
  config.mask.kind = MaskKind::kNone;  // every token looks at all: no token can be kept
  gui.push(DoEdit{SetConfig{config}, ""});
  const std::string before = gui.document().sentence;
  const std::vector<float> row = expected_row(gui);
  const std::string best = gui.trace().input().vocab[static_cast<std::size_t>(ranked(row)[0])];
  REQUIRE(gui.state().derived.writing);
  for (int i = 0; i < 4 && gui.document().sentence == before; ++i) gui.frame();
  CHECK(gui.document().sentence == before + (best == "." ? "" : " ") + best);
}

TEST_CASE("next: undo and typing end what the model writes") {
  for (const char* name : {"stories", "poems", "grammar"}) {
    CAPTURE(name);
    const bool streams = std::string_view(name) != "grammar";
    Gui gui(streams ? bundled_document(name) : short_grammar(), {1920, 1080});
    const std::string start = gui.document().sentence;
    gui.click("next/write");
    for (int i = 0; i < 200 && gui.document().sentence.size() < start.size() + 6; ++i) gui.frame();
    REQUIRE(gui.state().derived.writing);
    const std::string some = gui.document().sentence;
    REQUIRE(some.starts_with(start));
    REQUIRE(some.size() > start.size());
    gui.ctrl('Z');
    CHECK(gui.document().sentence == start);
    gui.frame(3);
    CHECK_FALSE(gui.state().derived.writing);
    // What was on its way does not come any more.
    gui.frame(20);
    CHECK(gui.document().sentence == start);
    CHECK(gui.trace().length() == std::ssize(gui.state().derived.tokens.tokens));
    // What had been written comes back, and nothing more.
    gui.ctrl('Z', true);
    gui.frame(20);
    const std::string again = gui.document().sentence;
    CHECK(again.starts_with(some));
    CHECK_FALSE(gui.state().derived.writing);
    CHECK(gui.trace().length() == std::ssize(gui.state().derived.tokens.tokens));
    gui.ctrl('Z');
    gui.frame(3);
    CHECK(gui.document().sentence == start);

    gui.click("next/write");
    gui.frame(3);
    gui.push(DoEdit{SetSentence{"the dogs"}, ""});
    gui.frame(3);
    CHECK_FALSE(gui.state().derived.writing);
    CHECK(gui.document().sentence == "the dogs");
  }
}

TEST_CASE("next: a word goes where [MASK] stands; without one nothing is offered") {
  Gui gui(bundled_document("masked"), {1920, 1080});
  const std::string before = gui.document().sentence;
  REQUIRE(before.find("[MASK]") != std::string::npos);
  const std::string best =
      gui.trace().input().vocab[static_cast<std::size_t>(ranked(expected_row(gui))[0])];
  gui.click("next/0");
  std::string filled = before;
  filled.replace(filled.find("[MASK]"), 6, best);
  CHECK(gui.document().sentence == filled);
  while (gui.document().sentence.find("[MASK]") != std::string::npos) gui.click("next/0");
  CHECK_FALSE(gui.has("next/0"));
  CHECK_FALSE(gui.has("next/add"));
  const std::string all = gui.document().sentence;
  gui.click("next/mask");
  CHECK(gui.document().sentence == all + " [MASK]");
  CHECK(gui.has("next/0"));
}

TEST_CASE("next: a translator's token stands behind the arrow; a class is only shown") {
  Document document = bundled_document("dates");
  document.sentence = "june 7 2015 -> 2015-0";
  Gui gui(document, {1920, 1080});
  CHECK(gui.shows("“2015-0”"));  // not only its last token
  gui.click("next/0");
  CHECK(gui.document().sentence == "june 7 2015 → 2015-06");
  Gui classes(bundled_document("sentiment"), {1920, 1080});
  const std::string sentence = classes.document().sentence;
  classes.click("next/0");
  CHECK(classes.document().sentence == sentence);
}

TEST_CASE("next: a click on a number opens the prediction at that cell") {
  for (const char* name : {"grammar", "masked", "dates", "sentiment"}) {
    CAPTURE(name);
    Gui gui(bundled_document(name), {1920, 1080});
    const std::vector<float> row = expected_row(gui);
    const int id = ranked(row)[1];
    gui.click("next/1/open");
    const auto& picked = gui.state().session.picked;
    REQUIRE(picked);
    CHECK(picked->index.back() == id);
    CHECK(gui.tensor(picked->tensor).at(picked->index) == row[static_cast<std::size_t>(id)]);
    CHECK(gui.state().session.step == picked->tensor);
  }
}

TEST_CASE("next: bars under the words are the weights of the chosen head's row") {
  Gui gui(bundled_document("induction"), {1920, 1080});
  int rows = 0;
  for (int head = 0; head < gui.config().head_count(); ++head) {
    gui.push(GoToStep{"blocks.1.attn.pattern"});
    gui.push(ChooseHead{head});
    for (const std::int64_t row : {std::int64_t{3}, std::int64_t{9}, gui.trace().length() - 1}) {
      gui.push(PickCell{{"blocks.1.attn.pattern", {0, head, row, 0}}});
      const TensorView a = gui.tensor("blocks.1.attn.pattern");
      CAPTURE(head);
      CAPTURE(row);
      for (std::int64_t key = 0; key < gui.trace().length(); ++key) {
        const bool bar = gui.has("sentence/weight/" + std::to_string(key));
        const std::vector<std::int64_t> cell = {0, head, row, key};
        CHECK(bar == (a.at(cell) > 0));
      }
      ++rows;
    }
  }
  CHECK(rows >= 6);
}

TEST_CASE("next: with a random model, words are added as words are written") {
  Gui gui(small_document(), {1920, 1080});
  const std::string start = gui.document().sentence;
  const std::string token =
      gui.trace().input().vocab[static_cast<std::size_t>(ranked(expected_row(gui))[0])];
  gui.click("next/0");
  CHECK(gui.document().sentence == start + " " + token);
}

TEST_CASE("next: of what could not be computed no tokens are drawn and no answer is offered") {
  Gui gui(short_grammar(), {1920, 1080});
  REQUIRE(gui.has("next/0"));
  REQUIRE(gui.has("sentence/weight/1"));
  const std::string count = std::to_string(gui.trace().length()) + " tokens";
  REQUIRE(gui.shows(count));
  gui.push(DoEdit{SetSentence{"the boys near the zebras"}, ""});
  gui.frame(2);
  REQUIRE_FALSE(gui.state().derived.problem.empty());
  CHECK(gui.has("label/next/none"));
  for (const char* id : {"next/0", "next/add", "next/write", "sentence/weight/1"}) {
    CAPTURE(id);
    CHECK_FALSE(gui.has(id));
  }
  const DrawnControl sentence = gui.rect("sentence");
  for (const DrawnText& text : gui.texts()) {
    const bool beside = text.min.y > sentence.min.y && text.max.y < sentence.max.y;
    CHECK_FALSE((beside && text.words == count));
  }
  gui.ctrl('Z');
  gui.frame(2);
  CHECK(gui.has("next/0"));
  CHECK(gui.has("sentence/weight/1"));
}

TEST_CASE("next: narrow windows show an answer, too") {
  for (const char* name : {"dates", "stories", "sentiment", "masked"}) {
    for (const float width : {900.0f, 1280.0f}) {
      CAPTURE(name);
      CAPTURE(width);
      Gui gui(bundled_document(name), {width, 720});
      CHECK(gui.has("next/0"));
    }
  }
}

TEST_CASE("next: of a hidden token it is said that it is filled in") {
  Gui gui(bundled_document("masked"), {1920, 1080});
  for (const char* id : {"next/add", "next/write", "next/0"}) {
    CAPTURE(id);
    gui.hover(id);
    gui.frame(2);
    CHECK(gui.shows("hidden"));
    CHECK_FALSE(gui.shows("adds it"));
  }
}

}  // namespace headlight::test
