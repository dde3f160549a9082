// Next sentences in the Train panel: chosen for a text of one's own, learned, and looked at.
#include "tests/gui/train/train_gui.h"

namespace headlight::test {
namespace {

std::string stories() {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::string name = i % 2 ? "Tom" : "Ann";
    text += name + " has a ball. " + name + " plays with it. Then " + name + " goes home.\n\n";
  }
  return text;
}

}  // namespace

TEST_CASE("train next sentence: the choice makes a classifier with segments, and takes it back") {
  Gui gui({}, {1440, 1400});
  gui.push(DoCommand{Command::kTrain});
  settle(gui);
  choose_own(gui, OwnData::kText);
  const auto plan = [&]() -> const RunPlan& { return gui.state().session.train.plan; };
  gui.click("train/set/learns");
  gui.frame(2);
  gui.click("train/set/learns/next_sentence");
  gui.frame(2);
  CHECK(plan().text_options.next_sentence);
  CHECK(plan().config.segments);
  CHECK(plan().config.pool == PoolKind::kFirst);
  CHECK(gui.shows("model reads [CLS] first"));
  CHECK_FALSE(gui.has("train/set/masked"));
  CHECK_FALSE(gui.has("train/set/memory"));
  gui.click("train/set/learns");
  gui.frame(2);
  gui.click("train/set/learns/masked");
  gui.frame(2);
  CHECK_FALSE(plan().config.segments);
  CHECK(plan().text_options.masked == kMaskedShare);
  CHECK(plan().config.form == ModelForm::kTokens);
}

TEST_CASE("train next sentence: a run in the window learns pairs, and its model shows one") {
  Gui gui({}, {1440, 1400});  // its sentence is a single one
  RunPlan plan = with_next_sentence(text_plan(), true);
  plan.text.text = stories();
  plan.text_options.cut = TextCut::kWords;
  open_panel(gui, plan);
  REQUIRE(run_of(gui).status.problem.empty());
  gui.push(PlayRun{true, 6});
  settle(gui);
  CHECK(run_of(gui).curve.size() == 6);
  REQUIRE(gui.document().model == kRunRef);
  // The sentence that comes with it is a pair.
  CHECK(gui.document().sentence.find("[SEP]") != std::string::npos);
  const RunInput& input = gui.trace().input();
  CHECK(input.tokens.front() == "[CLS]");
  CHECK(input.tokens.back() == "[SEP]");
  CHECK(std::ranges::count(input.tokens, "[SEP]") == 2);
  CHECK(input.segment_ids.front() == 0);
  CHECK(input.segment_ids.back() == 1);
  CHECK(input.classes == std::vector<std::string>{"next", "other"});
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{language});
    gui.frame(2);
    CHECK(gui.shows("other"));
    CHECK(gui.drawn().cut_texts().empty());
  }
  gui.push(ChooseLanguage{Language::kEnglish});
  gui.push(DoEdit{SetSentence{"Tom has a ball."}, ""});
  gui.push(DoCommand{Command::kTrain});
  gui.push(GoToStep{"probs"});
  settle(gui);
  CHECK(gui.shows("here is only one"));
  gui.push(DoEdit{SetSentence{"Tom has a ball. [SEP] Tom goes home."}, ""});
  settle(gui);
  CHECK_FALSE(gui.shows("here is only one"));
  gui.push(DoCommand{Command::kTrain});
  // A text that has no pairs says what it takes.
  plan.text.text = "There is only one sentence.";
  gui.push(PlanRun{plan});
  gui.push(StartRun{});
  settle(gui);
  CHECK(gui.shows("at least 3"));
}

}  // namespace headlight::test
