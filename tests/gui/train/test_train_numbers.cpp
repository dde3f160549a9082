// A model of numbers in the window: its pages in both languages, the curves of its experts and
// components, on the stage and while it is trained, and what the strip under the sentence says.
#include "core/run/number_curve.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {
namespace {

Document of_numbers(int components, int experts) {
  Document document = small_document(1, 1, 8);
  Config& c = document.config;
  c.numbers = true;
  c.components = components;
  c.experts = experts;
  c.mixer = MixerKind::kNone;
  c.norm = NormKind::kNone;
  c.positions = PositionKind::kNone;
  c.residual = false;
  document.sentence = "-0.80 -0.40 0.00 0.40 0.80";
  return document;
}

// Words are kept without the blanks between them.
bool window_says(Gui& gui, std::string words) {
  std::erase(words, ' ');
  return std::ranges::any_of(gui.texts(), [&](const DrawnText& text) {
    return text.words.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("numbers: every page, forwards and backwards, in both languages and sizes") {
  for (const int components : {0, 3}) {
    CAPTURE(components);
    for (const ImVec2 size : {ImVec2{1920, 1080}, ImVec2{1280, 720}}) {
      Gui gui(of_numbers(components, components == 0 ? 2 : 0), size);
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
}

TEST_CASE("numbers: the curve stands on the pages of the gate, the mixture and the prediction") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(of_numbers(0, 2), {1920, 1080});
    gui.push(ChooseLanguage{language});
    REQUIRE(gui.state().derived.curve);
    CHECK(gui.state().derived.curve->experts.size() == 2);
    for (const char* step : {"blocks.0.mlp.gate", "blocks.0.mlp_out", "y", "probs"}) {
      CAPTURE(step);
      gui.push(GoToStep{step});
      gui.frame(2);
      CHECK(gui.has("numbers/plot"));
      CHECK(gui.has("numbers/regions"));
      CHECK(window_says(gui, language == Language::kEnglish ? "expert 1" : "专家 1"));
    }
    gui.push(GoToStep{"embed"});
    gui.frame(2);
    CHECK_FALSE(gui.has("numbers/plot"));
  }
  Gui mixture(of_numbers(3, 0), {1920, 1080});
  mixture.push(GoToStep{"probs"});
  mixture.frame(2);
  CHECK(mixture.has("numbers/plot"));
  CHECK_FALSE(mixture.has("numbers/regions"));
  CHECK(mixture.state().derived.curve->components.size() == 3);
  Gui words(small_document(1, 1, 8));
  CHECK_FALSE(words.state().derived.curve);
}

TEST_CASE("numbers: the strip says which number belongs to one, and goes on with nothing") {
  Gui gui(of_numbers(0, 0), {1920, 1080});
  CHECK(window_says(gui, "Number for"));
  CHECK_FALSE(window_says(gui, "Next after"));
  gui.push(ChooseLanguage{Language::kChinese});
  gui.frame(2);
  CHECK(window_says(gui, "对应的数"));
  const std::string before = gui.document().sentence;
  gui.push(GenerateToken{});
  gui.frame(3);
  CHECK(gui.document().sentence == before);
}

TEST_CASE("numbers: words are no sentence of theirs, and the notice has a way on") {
  Document document = of_numbers(0, 2);
  document.sentence = "the cat";
  Gui gui(document);
  CHECK_FALSE(gui.state().derived.problem.empty());
  REQUIRE_FALSE(gui.state().notices.empty());
  REQUIRE(gui.state().notices[0].buttons.size() == 1);
  gui.click("notice/example");
  gui.frame(3);
  CHECK(gui.state().derived.problem.empty());
}

TEST_CASE("numbers: while a run learns, its curve is that of the step that is shown") {
  Gui gui({}, {1920, 1200});
  RunPlan plan = default_plan("curve");
  plan.stop.steps = plan.settings.schedule.steps = 300;
  open_panel(gui, plan);
  gui.push(PlayRun{true, 300});
  settle(gui);
  gui.frame(3);
  REQUIRE(gui.document().model == kRunRef);
  // Answers that are close are neither right nor wrong.
  for (const DrawnText& text : gui.texts()) CHECK(text.words != "correct");
  REQUIRE(gui.state().derived.curve);
  CHECK(gui.has("numbers/plot"));
  CHECK(gui.has("numbers/regions"));
  const std::vector<double> last = gui.state().derived.curve->y;
  gui.push(MarkStep{0});
  settle(gui);
  gui.frame(3);
  const std::vector<double> first = gui.state().derived.curve->y;
  REQUIRE(first.size() == last.size());
  double moved = 0;
  for (std::size_t i = 0; i < first.size(); ++i) moved += std::abs(first[i] - last[i]);
  CHECK(moved > 5);
  CHECK(window_says(gui, "as of step 0"));
}

}  // namespace headlight::test
