// Next sentences in the Train panel: chosen for a text of one's own, learned, and looked at.
#include "app/ui/kit/number_row.h"
#include "core/base/number_text.h"
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
    CHECK(gui.shows(tr(language, "class.other")));
    CHECK(gui.shows("other") == (language == Language::kEnglish));
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

TEST_CASE("train next sentence: both at once, each loss and each share told apart") {
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  choose_own(gui, OwnData::kText);
  gui.click("train/set/learns");
  gui.frame(2);
  gui.click("train/set/learns/both");
  gui.frame(2);
  const RunPlan& chosen = gui.state().session.train.plan;
  CHECK(chosen.text_options.next_sentence);
  CHECK(chosen.text_options.masked == kMaskedShare);
  CHECK(chosen.config.token_head);
  CHECK(gui.has("train/set/masked"));
  CHECK(gui.shows("the sum of both"));
  RunPlan plan = chosen;
  plan.text.text = stories();
  plan.text_options.cut = TextCut::kWords;
  plan.text_options.context = 20;
  gui.push(PlanRun{plan});
  gui.push(StartRun{});
  settle(gui);
  REQUIRE(run_of(gui).status.start_problem.empty());
  gui.push(PlayRun{true, 20});
  settle(gui);
  const RunView& run = run_of(gui);
  REQUIRE(run.curve.size() == 20);
  CHECK(run.curve[0].hidden_loss > 1);
  CHECK(run.curve[0].loss - run.curve[0].hidden_loss == doctest::Approx(0.693).epsilon(0.05));
  REQUIRE(run.validation.size() == 3);
  CHECK(run.validation[2].hidden_loss < run.validation[0].hidden_loss);
  const std::string sum = fine_number(run.curve.back().loss, 3);
  const std::string pairs = fine_number(run.curve.back().loss - run.curve.back().hidden_loss, 3);
  const std::string hidden = fine_number(run.curve.back().hidden_loss, 3);
  const std::pair<Curve, std::string> shown[] = {
      {Curve::kLoss, sum}, {Curve::kPairs, pairs}, {Curve::kHidden, hidden}};
  for (const auto& one : shown) {
    CAPTURE(one.second);
    gui.push(ChooseCurve{one.first, false});
    gui.frame(2);
    CHECK(gui.shows(one.second));
  }
  gui.push(ChooseCurve{Curve::kAccuracy, false});
  gui.frame(2);
  CHECK(gui.shows("hidden tokens"));
  CHECK(gui.shows("pairs"));
  // Its model says both of a pair with [MASK] in it.
  gui.push(DoEdit{SetSentence{"Tom has a [MASK]. [SEP] Tom plays with it."}, ""});
  gui.push(DoCommand{Command::kTrain});
  gui.push(ShowBackward{true});
  settle(gui);
  const Trace& trace = gui.trace();
  CHECK(trace.find("token_probs").data != nullptr);
  const auto chosen_tokens = trace.tensor("chosen").cells();
  CHECK(std::ranges::count_if(chosen_tokens, [](float c) { return c > 0; }) == 1);
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{language});
    for (const char* step : {"token_logits", "token_probs", "token_loss", "hidden_loss.sum", "loss",
                             "d.hidden_loss.sum", "d.token_loss", "d.token_logits"}) {
      CAPTURE(step);
      gui.push(GoToStep{step});
      gui.frame(2);
      CHECK(gui.state().session.step == step);
      CHECK(gui.drawn().cut_texts().empty());
    }
  }
}

}  // namespace headlight::test
