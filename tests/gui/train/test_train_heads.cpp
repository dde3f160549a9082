// What Train says of heads and of the sentence: which score a number and a curve are, and a
// sentence of the task that is trained.
#include "core/base/number_text.h"
#include "core/train/heads/head_scores.h"
#include "core/train/model_recipe.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {
namespace {

// What is written in this part of the window.
std::string words_in(Gui& gui, const DrawnControl& r) {
  std::string words;
  for (const DrawnText& text : gui.texts()) {
    const float x = (text.min.x + text.max.x) / 2, y = (text.min.y + text.max.y) / 2;
    if (x > r.min.x && x < r.max.x && y > r.min.y && y < r.max.y) words += text.words + "|";
  }
  return words;
}

}  // namespace

TEST_CASE(
    "train heads: a score has its name, with and without a badge, and the curve is the same") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui({}, {1920, 1200});
    gui.push(ChooseLanguage{language});
    // Until one head has no badge any more: at the start all are even.
    std::shared_ptr<const Snapshot> shown;
    const auto bare = [](const HeadScores& scores) { return !best_badge(scores); };
    RunPlan plan = small_plan();
    plan.stop.steps = 400;
    plan.settings.schedule.steps = 400;
    plan.settings.schedule.peak = 0.02;
    open_panel(gui, plan);
    for (std::int64_t step = 20; step <= 400; step += 20) {
      gui.push(PlayRun{true, step});
      settle(gui);
      shown = nearest_snapshot(run_of(gui).snapshots, step);
      REQUIRE(shown);
      if (std::ranges::any_of(shown->probe.heads, bare)) break;
    }
    int named = 0, plain = 0;
    for (int i = 0; i < 4; ++i) {
      const std::string number = std::to_string(i / 2) + "." + std::to_string(i % 2);
      CAPTURE(number);
      const HeadScores& scores = shown->probe.heads[static_cast<std::size_t>(i)];
      // Which of the scores it may be: that of the badge, or the highest of those that have rows.
      std::optional<Badge> kind = best_badge(scores);
      (kind ? named : plain) += 1;
      for (const BadgeInfo& info : badges()) {
        if (best_badge(scores) || scores[info.badge].rows < kBadgeRows) continue;
        if (!kind || scores[info.badge].value > scores[*kind].value) kind = info.badge;
      }
      REQUIRE(kind);
      const DrawnControl card = gui.rect("train/head/" + number);
      std::string label(tr(language, badge_info(*kind).label));
      const std::string score = cell_number(scores[*kind].value, kShareCell);
      std::erase(label, ' ');
      const std::string words = words_in(gui, card);
      CAPTURE(words);
      CHECK(words.find(label) != std::string::npos);
      CHECK(words.find(score) != std::string::npos);
      // The curve's own words: the same score to more digits.
      gui.move_to({card.max.x - 12, (card.min.y + card.max.y) / 2});
      gui.frame(2);
      CHECK(gui.shows(label));
      CHECK(gui.shows(number_text(scores[*kind].value, 3)));
      gui.move_to({-1, -1});
      gui.frame();
    }
    CHECK(named + plain == 4);
    CHECK(plain > 0);
  }
}

TEST_CASE("train heads: another task takes a sentence of its own, and judges all of it") {
  Gui gui;
  gui.push(ChooseModel{"bundled:grammar"});
  gui.push(DoEdit{SetSentence{bundled_recipe("grammar").example}, ""});
  open_panel(gui, small_plan("grammar"));
  gui.push(PlayRun{true, 2});
  settle(gui);
  CHECK(gui.document().sentence == bundled_recipe("grammar").example);
  RunPlan plan = small_plan("sentiment");
  gui.push(PlanRun{plan});
  gui.push(StartRun{});
  settle(gui);
  REQUIRE(gui.document().model == kRunRef);
  CHECK(gui.document().sentence != bundled_recipe("grammar").example);
  CHECK(inconsistency(gui.state()) == "");
  const std::vector<int> all =
      gui.state().derived.model->vocabulary->encode(gui.document().sentence);
  CHECK(gui.trace().length() == static_cast<std::int64_t>(all.size()));
  CHECK(gui.notices() == "");
}

TEST_CASE("train heads: the sentence of a run ends where the model learned to say something") {
  for (const char* task : {"recall", "induction", "copy", "addition"}) {
    CAPTURE(task);
    Gui gui;
    open_panel(gui, small_plan(task));
    gui.push(PlayRun{true, 2});
    settle(gui);
    REQUIRE(gui.document().model == kRunRef);
    const RunView& run = run_of(gui);
    const std::vector<int> ids =
        gui.state().derived.model->vocabulary->encode(gui.document().sentence);
    REQUIRE(!ids.empty());
    REQUIRE(ids.size() <= run.examples[0].targets.size());
    CHECK(run.examples[0].targets[ids.size() - 1] >= 0);
  }
}

}  // namespace headlight::test
