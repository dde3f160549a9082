// A head of tokens beside that of classes: its pages, the sum of both losses, the switch.
#include "core/base/number_text.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document with_both_heads() {
  Document document = small_document(1, 2, 8);
  document.sentence = "the cat sat on the mat";
  Config& c = document.config;
  c.form = ModelForm::kClasses;
  c.mask.kind = MaskKind::kNone;
  c.token_head = true;
  return document;
}

}  // namespace

TEST_CASE("token head: every page, forwards and backwards, in both languages") {
  Gui gui(with_both_heads());
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

TEST_CASE("token head: the loss is the sum that the page says, of a mean that it says") {
  Gui gui(with_both_heads(), {1600, 1000});
  gui.push(ShowBackward{true});
  gui.frame(2);
  const auto number = [&](const char* name) { return gui.tensor(name).data[0]; };
  CHECK(number("loss") == doctest::Approx(number("class_loss") + number("hidden_loss")));
  double mean = 0;
  for (const float loss : gui.tensor("token_loss").cells()) mean += loss / 6;
  CHECK(number("hidden_loss") == doctest::Approx(mean));
  gui.push(GoToStep{"loss"});
  gui.frame(2);
  CHECK(gui.shows(number_text(static_cast<double>(number("class_loss")), 4)));
  CHECK(gui.shows(number_text(static_cast<double>(number("hidden_loss")), 4)));
  gui.push(GoToStep{"token_probs"});
  gui.frame(2);
  CHECK(gui.shows("At “"));
  CHECK_FALSE(gui.shows("After “"));
}

TEST_CASE("token head: the switch is a classifier's, and goes with it") {
  Gui gui(small_document(1, 2, 8), {1440, 1400});
  gui.push(DoCommand{Command::kToggleModel});
  gui.frame(2);
  CHECK_FALSE(gui.has("model/token_head/on"));
  gui.click("model/form/classes");
  gui.frame(2);
  gui.reveal("model/token_head/on", "panel/model_settings");
  gui.click("model/token_head/on");
  gui.frame(2);
  CHECK(gui.config().token_head);
  CHECK(gui.trace().program().token_logits >= 0);
  gui.ctrl('Z');
  CHECK_FALSE(gui.config().token_head);
  gui.push(DoCommand{Command::kRedo});
  gui.frame(2);
  REQUIRE(gui.config().token_head);
  gui.reveal("model/form/tokens", "panel/model_settings");
  gui.click("model/form/tokens");
  gui.frame(2);
  CHECK_FALSE(gui.config().token_head);
  CHECK(gui.state().derived.problem == "");
}

}  // namespace headlight::test
