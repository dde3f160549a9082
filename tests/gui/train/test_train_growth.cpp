// The text that grows under the curves while a model learns it, and the row beside its targets.
#include "app/workers/sample_worker.h"
#include "core/train/predictor.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {
namespace {

std::vector<std::int64_t> steps_of(const Gui& gui) {
  std::vector<std::int64_t> steps;
  for (const FreeSample& sample : gui.state().train.growth) steps.push_back(sample.step);
  return steps;
}

}  // namespace

TEST_CASE("train growth: each doubling of the steps and the newest have a text of their weights") {
  Gui gui({}, {1440, 1400});
  open_panel(gui, text_plan());
  gui.push(PlayRun{true, 21});
  settle(gui);
  CHECK(steps_of(gui) == std::vector<std::int64_t>{0, 1, 2, 4, 8, 16, 21});
  CHECK(gui.has("label/train/growth"));
  CHECK(gui.shows("Written at temperature 0.5"));
  for (const FreeSample& sample : gui.state().train.growth) {
    const auto snapshot = nearest_snapshot(run_of(gui).snapshots, sample.step);
    REQUIRE(snapshot->step == sample.step);
    Generator expected(snapshot->model, sample.prompt, {0.5, 0, 1}, 1, 1);
    std::string text;
    while (text.size() < sample.text.size()) text += expected.next().value_or("");
    CHECK(text == sample.text);
    CHECK_FALSE(sample.model);  // keeps no weights
  }
  // A step between two doublings goes when a newer one comes.
  gui.push(PlayRun{true, 30});
  settle(gui);
  CHECK(steps_of(gui) == std::vector<std::int64_t>{0, 1, 2, 4, 8, 16, 30});
}

TEST_CASE(
    "train growth: a line marks its step, later ones are not shown then, a new run has none") {
  Gui gui({}, {1440, 1400});
  open_panel(gui, text_plan());
  gui.push(PlayRun{true, 16});
  settle(gui);
  CHECK(gui.has("train/growth/0"));
  CHECK(gui.has("train/growth/16"));
  gui.click("train/growth/4");
  gui.frame(2);
  CHECK(gui.state().session.train.at == 4);
  CHECK(gui.has("train/growth/4"));
  CHECK_FALSE(gui.has("train/growth/16"));
  const std::uint64_t before = gui.state().train.growth_run;
  gui.push(StartRun{true});
  settle(gui);
  CHECK(gui.state().train.growth_run != before);
  CHECK(steps_of(gui) == std::vector<std::int64_t>{0});
  gui.push(PlanRun{small_plan()});  // letters of a task are no text
  gui.push(StartRun{});
  settle(gui);
  CHECK(steps_of(gui).empty());
  CHECK_FALSE(gui.has("label/train/growth"));
  CHECK_FALSE(gui.has("label/train/shifted"));
}

TEST_CASE("train growth: the row that is learned from stands beside itself, shifted by one") {
  Gui gui({}, {1440, 1400});
  RunPlan plan = text_plan();
  plan.text_options.cut = TextCut::kWords;
  plan.text_options.context = 8;
  open_panel(gui, plan);
  CHECK(gui.has("label/train/shifted"));
  const TaskExample& example = run_of(gui).examples.at(0);
  for (std::size_t t = 0; t + 1 < example.tokens.size(); ++t)
    CHECK(example.targets[t] == example.tokens[t + 1]);
  gui.push(PlayRun{true, 8});
  settle(gui);
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{language});
    gui.frame(2);
    CHECK(gui.has("label/train/shifted"));
    CHECK(gui.has("label/train/growth"));
  }
}

TEST_CASE("train: a run that learns hidden tokens says nothing of a sentence without [MASK]") {
  Gui gui({}, {1440, 900});
  open_panel(gui, with_masked(text_plan(), 15));
  gui.push(PlayRun{true, 4});
  gui.push(DoEdit{SetSentence{"the cat sat"}, ""});
  settle(gui);
  CHECK(gui.shows("Hidden word"));
  CHECK(gui.shows("this sentence has no [MASK]"));
  CHECK_FALSE(gui.shows("Next token"));
  gui.push(DoEdit{SetSentence{"the [MASK]at sat"}, ""});
  settle(gui);
  CHECK(gui.shows("Hidden word"));
  CHECK_FALSE(gui.shows("this sentence has no [MASK]"));
}

}  // namespace headlight::test
