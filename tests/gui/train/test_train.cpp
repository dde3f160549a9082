// The Train panel: a run is started, played, paused, scrubbed and reset, and every number that it
// shows is the run's own.
#include <cmath>

#include "app/ui/kit/chart.h"
#include "app/ui/kit/number_row.h"
#include "core/base/number_text.h"
#include "core/model/checkpoint.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {
namespace {

// The pattern on the stage is that of these weights.
void check_pattern(Gui& gui, const Model& model) {
  Runner runner;
  const auto backend = make_cpu_backend(1);
  const RunResult expected =
      runner.run(gui.document(), *backend, std::make_shared<const Model>(model));
  REQUIRE(expected.trace);
  const TensorView own = gui.tensor("blocks.1.attn.pattern");
  const TensorView other = expected.trace->tensor("blocks.1.attn.pattern");
  REQUIRE(own.size() == other.size());
  for (std::int64_t i = 0; i < own.size(); ++i) CHECK(own.data[i] == other.data[i]);
}

}  // namespace

TEST_CASE("train: the panel opens with a run at its first step, and T closes it") {
  Gui gui;
  gui.key({'T'});
  settle(gui);
  CHECK(gui.has("train/play"));
  CHECK(gui.shows("Your sentence, as of step 0"));
  REQUIRE(run_of(gui).live);
  CHECK(gui.document().model == kRunRef);
  CHECK(gui.trace().config().layers == run_of(gui).plan->config.layers);
  CHECK(gui.shows(count_text(run_of(gui).status.parameters)));
  gui.click("train/step");
  settle(gui);
  gui.key({'T'});
  gui.frame();
  CHECK_FALSE(gui.has("train/play"));
  CHECK(gui.has("step/next"));
  CHECK(gui.document().model == kRunRef);  // its steps can be looked at
  gui.click("model");
  CHECK(gui.has("panel/model_settings"));
  CHECK(gui.shows(count_text(run_of(gui).status.parameters) + " parameters"));
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.has("panel/model_settings"));
  gui.ctrl('Z');
  gui.frame();
  CHECK(gui.document() == Document{});  // what was there before comes back
}

TEST_CASE("train: single steps and playing give the run's own numbers") {
  Gui gui;
  open_panel(gui);
  TrainingRun expected(small_plan(), make_plan_task(small_plan()).task, 1);
  gui.click("train/step");
  settle(gui);
  CHECK(run_of(gui).status.step == 1);
  REQUIRE(run_of(gui).curve.size() == 1);
  CHECK(run_of(gui).curve[0].loss == expected.step().loss);
  gui.click("train/play");
  settle(gui);
  CHECK(run_of(gui).status.phase == TrainPhase::kDone);
  REQUIRE(run_of(gui).curve.size() == 40);
  while (!expected.finished()) expected.step();
  for (std::size_t i = 0; i < 40; ++i)
    CHECK(run_of(gui).curve[i].loss == expected.history().curve()[i].loss);
  REQUIRE(run_of(gui).validation.size() == 5);
  CHECK(run_of(gui).validation[4].loss == expected.history().validation()[4].loss);
  CHECK(gui.shows("step 40 of 40"));
  check_pattern(gui, *expected.model());
}

TEST_CASE("train: dragging the mark shows the weights of that step, Newest goes back") {
  Gui gui;
  open_panel(gui);
  gui.push(PlayRun{true});
  settle(gui);
  const DrawnControl chart = gui.rect("train/chart");
  // The axis spans the 40 steps of the plan.
  const float x = chart.min.x + (chart.max.x - chart.min.x) * 12 / 40;
  gui.click_at({x, chart.center().y});
  gui.frame(2);
  REQUIRE(gui.state().session.train.at);
  CHECK(*gui.state().session.train.at == 12);
  CHECK(gui.shows("Your sentence, as of step 12"));
  check_pattern(gui, *nearest_snapshot(run_of(gui).snapshots, 12)->model);
  // The newest weights' probabilities are the bars, this step's are the marks.
  REQUIRE(gui.state().train.newest);
  CHECK(gui.shows("The mark is the newest step, 40."));
  gui.key({kKeyRight});
  gui.frame(2);
  CHECK(*gui.state().session.train.at == 13);
  gui.key({kKeyLeft});
  gui.key({kKeyLeft});
  gui.frame(2);
  CHECK(*gui.state().session.train.at == 11);
  check_pattern(gui, *nearest_snapshot(run_of(gui).snapshots, 11)->model);
  gui.click("train/newest");
  gui.frame(2);
  CHECK_FALSE(gui.state().session.train.at);
  check_pattern(gui, *run_of(gui).live);
}

TEST_CASE("train: the same start gives the same numbers again, a new one others") {
  Gui gui;
  open_panel(gui);
  gui.push(PlayRun{true, 10});
  settle(gui);
  const std::vector<TrainStep> first = run_of(gui).curve;
  REQUIRE(first.size() == 10);
  gui.click("train/same");
  settle(gui);
  CHECK(run_of(gui).status.step == 0);
  REQUIRE(gui.state().train.earlier.size() == 1);  // the first run stays in the chart
  const std::string first_run = std::to_string(gui.state().train.earlier[0]->status.run);
  CHECK(gui.shows("run " + first_run));
  gui.push(PlayRun{true, 10});
  settle(gui);
  REQUIRE(run_of(gui).curve.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(run_of(gui).curve[i].loss == first[i].loss);
  gui.click("train/new");
  settle(gui);
  gui.push(PlayRun{true, 10});
  settle(gui);
  CHECK(run_of(gui).plan->config.seed == small_plan().config.seed + 1);
  CHECK(run_of(gui).curve[0].loss != first[0].loss);
  REQUIRE(gui.state().train.earlier.size() == 2);
  for (const auto& run : gui.state().train.earlier)  // each has its name in the chart
    CHECK(gui.has("train/forget/" + std::to_string(run->status.run)));
  gui.click("train/forget/" + std::to_string(gui.state().train.earlier[1]->status.run));
  gui.frame();
  CHECK(gui.state().train.earlier.size() == 1);
  CHECK(gui.has("train/forget/" + first_run));
}

TEST_CASE("train: a pinned step is compared with the shown one, cell by cell") {
  Gui gui;
  open_panel(gui);
  gui.push(PlayRun{true});
  settle(gui);
  gui.push(MarkStep{0});
  gui.frame(2);
  gui.click("train/pin");
  gui.frame(2);
  const TensorView before = gui.tensor("blocks.0.attn.pattern");
  const std::vector<float> pinned(before.cells().begin(), before.cells().end());
  gui.push(MarkStep{});
  gui.frame(2);
  REQUIRE(gui.state().train.differences);
  const TensorView now = gui.tensor("blocks.0.attn.pattern");
  const auto& cells = gui.state().train.differences->at("blocks.0.attn.pattern");
  REQUIRE(cells.size() == pinned.size());
  float largest = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CHECK(cells[i] == now.data[i] - pinned[i]);
    largest = std::max(largest, std::fabs(cells[i]));
  }
  CHECK(largest > 0);
  CHECK(gui.shows("Compared with step 0"));
}

TEST_CASE("train: the settings make the next run, rate and clipping change this one") {
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  gui.push(PlayRun{true, 5});
  settle(gui);
  gui.click("train/set/rate/number");
  gui.frame(2);
  gui.type("0.0005");
  gui.edit_key({ImGuiKey_Enter});
  settle(gui);
  CHECK(run_of(gui).plan->settings.schedule.peak == doctest::Approx(5e-4));
  CHECK_FALSE(gui.state().session.train.changed);
  CHECK(run_of(gui).status.step == 5);
  gui.click("train/set/task");
  gui.frame(2);
  gui.click("train/set/task/copy");
  gui.frame(2);
  CHECK(gui.state().session.train.changed);
  CHECK(gui.shows("changed settings"));
  CHECK(run_of(gui).status.step == 5);  // nothing is lost before the start
  gui.click("train/same");
  settle(gui);
  CHECK(run_of(gui).task->id() == "copy");
  CHECK_FALSE(gui.state().session.train.changed);
  CHECK(gui.document().sentence.find("[SEP]") != std::string::npos);  // one that it can read
}

TEST_CASE("train: gradient checkpointing is explained, and a choice for the next run") {
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  gui.push(PlayRun{true, 5});
  settle(gui);
  gui.hover("train/set/checkpointing");
  gui.frame(2);
  CHECK(gui.shows("Keeps only"));
  gui.click("train/set/checkpointing");
  gui.frame(2);
  gui.click("train/set/checkpointing/on");
  gui.frame(2);
  CHECK(gui.state().session.train.changed);
  gui.click("train/same");
  settle(gui);
  CHECK(run_of(gui).plan->settings.checkpointing);
  CHECK_FALSE(gui.state().session.train.changed);
  gui.push(PlayRun{true, 5});
  settle(gui);
  CHECK(run_of(gui).status.step == 5);
}

TEST_CASE("train: numbers out of range are refused where they are typed") {
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  for (const char* bad : {"0", "-1", "1e9"}) {
    CAPTURE(std::string(bad));
    gui.click("train/set/rate/number");
    gui.frame(2);
    gui.type(bad);
    gui.edit_key({ImGuiKey_Enter});
    gui.frame(2);
    CHECK(gui.shows("from 1e−6 to 10"));
    gui.key({kKeyEscape});  // leaves the field
    gui.frame(2);
    gui.key({kKeyEscape});  // and what it stands in
    gui.frame(2);
    CHECK(gui.state().session.train.plan.settings.schedule.peak ==
          small_plan().settings.schedule.peak);
  }
}

TEST_CASE("train: a token that is drawn stands behind the sentence") {
  Gui gui;
  open_panel(gui);
  const std::int64_t before = gui.trace().length();
  SamplingOptions greedy;
  greedy.temperature = 0;
  gui.push(SetSampling{greedy, 3});
  const TensorView logits = gui.tensor("logits");
  const std::int64_t vocab = logits.axes.back().size;
  const float* row = logits.data + (before - 1) * vocab;
  const auto best = static_cast<std::size_t>(std::max_element(row, row + vocab) - row);
  gui.frame();
  gui.click("train/side/generate");
  gui.frame(2);
  REQUIRE(gui.trace().length() == before + 1);
  CHECK(gui.trace().input().tokens.back() == gui.trace().input().vocab[best]);
  gui.ctrl('Z');
  gui.frame(2);
  CHECK(gui.trace().length() == before);
}

TEST_CASE("train: a run that breaks keeps its last good weights and says what to try") {
  Gui gui;
  RunPlan plan = small_plan();
  plan.settings.optimizer = default_options(OptimizerKind::kSgd);
  plan.settings.schedule.peak = 100;
  plan.settings.clip = 0;
  plan.stop.steps = 400;
  open_panel(gui, plan);
  gui.push(PlayRun{true});
  settle(gui);
  CHECK(run_of(gui).status.phase == TrainPhase::kBroken);
  CHECK(gui.notices_say("lower learning rate"));
  for (const Tensor& tensor : run_of(gui).live->weights) {
    for (const float cell : tensor.data) REQUIRE(std::isfinite(cell));
  }
  gui.click("train/same");  // and it can be started again
  settle(gui);
  CHECK(run_of(gui).status.phase == TrainPhase::kPaused);
}

TEST_CASE("train: what was wrong with a task's sizes is not said of a text") {
  Gui gui({}, {1440, 1000});
  open_panel(gui);
  RunPlan plan = small_plan();
  plan.settings.task_options["shortest"] = 9;
  plan.settings.task_options["longest"] = 8;
  gui.push(PlanRun{plan});
  settle(gui);
  REQUIRE(gui.notices_say("shortest"));
  gui.click("train/set/task");
  gui.frame(2);
  gui.click("train/set/task/text");
  settle(gui);
  CHECK_FALSE(gui.notices_say("shortest"));
}

TEST_CASE("train: a text of one's own, pasted, and what is wrong with it") {
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  gui.click("train/set/task");
  gui.frame(2);
  gui.click("train/set/task/text");
  gui.frame(2);
  ImGui::SetClipboardText("too short");
  gui.click("train/set/text_paste");
  settle(gui);
  CHECK_FALSE(run_of(gui).status.start_problem.empty());
  CHECK(run_of(gui).plan->settings.task == "induction");  // the run before is still there
  CHECK(gui.notices_say("tokens"));
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat on the mat and the dog lay on the log. ";
  ImGui::SetClipboardText(text.c_str());
  gui.click("train/set/text_paste");
  settle(gui);
  gui.click("train/same");
  settle(gui);
  REQUIRE(run_of(gui).status.phase == TrainPhase::kPaused);
  CHECK(run_of(gui).task->vocabulary().cut() == TextCut::kCharacters);
  gui.click("train/step");
  settle(gui);
  CHECK(run_of(gui).curve.size() == 1);
}

TEST_CASE("train: what is trained is kept, by hand and when the window closes") {
  const TemporaryFolder folder;
  UserFolders folders{folder.path("settings.json"), folder.path("autosave"), folder.path("runs")};
  std::vector<float> weights;
  std::string told;
  {
    Gui gui({}, {1440, 900}, 1, {}, folders);
    gui.shell().start_keeping(1'000'000);
    open_panel(gui);
    gui.push(PlayRun{true, 3});
    settle(gui);
    gui.push(KeepRun{folder.path("mine")});
    settle(gui);
    CHECK(gui.notices_say(folder.path("mine")));
    CHECK(load_checkpoint(folder.path("mine"), true).training);
    gui.push(PlayRun{true, 6});
    settle(gui);
    const FloatBuffer& last = run_of(gui).live->weights[0].data;
    weights.assign(last.begin(), last.end());
    gui.shell().finish_keeping();
  }
  std::vector<std::string> runs;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("runs")))
    runs.push_back(entry.path().string());
  REQUIRE(runs.size() == 1);
  const Checkpoint kept = load_checkpoint(runs[0]);
  CHECK(std::equal(weights.begin(), weights.end(), kept.weights[0].data.begin()));
  Gui next({}, {1440, 900}, 1, {}, folders);
  next.shell().start_keeping(1'000'100);
  next.frame();
  CHECK(next.notices_say(runs[0]));
  next.shell().finish_keeping();
  Gui third({}, {1440, 900}, 1, {}, folders);
  third.shell().start_keeping(1'000'200);
  third.frame();
  CHECK_FALSE(third.notices_say(runs[0]));  // said once
}

TEST_CASE("train: the sheets that ask for a path open once, and do what they say") {
  const TemporaryFolder folder;
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  gui.push(PlayRun{true, 2});
  settle(gui);
  gui.click("train/side/keep");
  gui.frame(3);
  REQUIRE(gui.has("panel/train_folder"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(folder.path("kept"));
  gui.frame(2);
  gui.click("path/ok");
  settle(gui);
  CHECK_FALSE(gui.has("panel/train_folder"));
  CHECK(load_checkpoint(folder.path("kept"), true).training);
  gui.click("train/side/keep");
  gui.frame(3);
  REQUIRE(gui.has("panel/train_folder"));
  gui.key({kKeyEscape});
  gui.frame(2);
  gui.key({kKeyEscape});
  gui.frame(3);
  CHECK_FALSE(gui.has("panel/train_folder"));

  std::string text;
  for (int i = 0; i < 60; ++i) text += "one two three four. ";
  write_text(folder.path("mine.txt"), text);
  gui.click("train/set/task");
  gui.frame(2);
  gui.click("train/set/task/text");
  gui.frame(2);
  gui.click("train/set/text_file");
  gui.frame(3);
  REQUIRE(gui.has("panel/train_text"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(folder.path("mine.txt"));
  gui.frame(2);
  gui.click("path/ok");
  settle(gui);
  CHECK_FALSE(gui.has("panel/train_text"));
  gui.click("train/same");
  settle(gui);
  CHECK(run_of(gui).status.phase == TrainPhase::kPaused);
  CHECK(run_of(gui).task->id() == "text");
}

TEST_CASE("train: folded panels say what they open") {
  Gui gui({}, {960, 540});
  gui.push(DoCommand{Command::kTrain});
  settle(gui);
  gui.frame(2);
  CHECK(gui.has("train/chart"));
  CHECK_FALSE(gui.shows("Numbers"));
}

TEST_CASE("train: the film goes through the kept steps and ends at the newest") {
  Gui gui;
  open_panel(gui);
  gui.push(PlayRun{true});
  settle(gui);
  gui.click("train/film");
  gui.frame(2);
  REQUIRE(gui.state().session.train.at);
  CHECK(*gui.state().session.train.at < 5);
  std::int64_t last = 0;
  for (int i = 0; i < 60 * 14 && gui.state().session.train.film; ++i) {
    gui.frame();
    const std::int64_t at = gui.state().session.train.at.value_or(40);
    CHECK(at >= last);
    last = at;
  }
  CHECK_FALSE(gui.state().session.train.film);
  CHECK_FALSE(gui.state().session.train.at);
}

TEST_CASE("train: a slider's places and values belong together") {
  NumberRow rate{.id = "r", .low = 1e-6, .high = 10, .logarithmic = true};
  CHECK(row_place(rate, 1e-6) == 0);
  CHECK(row_place(rate, 10) == 1);
  CHECK(row_value(rate, row_place(rate, 0.001)) == 0.001);
  NumberRow clip{.id = "c", .low = 0, .high = 100, .logarithmic = true, .least = 0.01};
  CHECK(row_value(clip, 0) == 0);
  CHECK(row_place(clip, 0) == 0);
  CHECK(row_value(clip, row_place(clip, 1)) == 1);
  constexpr double kSome[] = {8, 16, 64};
  NumberRow width{.id = "w", .low = 8, .high = 64, .integer = true, .choices = kSome};
  CHECK(row_value(width, 0.5) == 16);
  CHECK(row_value(width, row_place(width, 60)) == 64);
}

TEST_CASE("train: ticks are round and within the axis, thinned lines keep their spikes") {
  CHECK(chart_ticks({0, 2500, false}, 6) == std::vector<double>{0, 500, 1000, 1500, 2000, 2500});
  CHECK(chart_ticks({0.08, 3.5, true}, 7) == std::vector<double>{0.1, 0.2, 0.5, 1, 2});
  CHECK(chart_ticks({1e-9, 10, true}, 5).size() <= 5);
  CHECK(chart_ticks({1e-9, 10, true}, 5).size() >= 2);
  for (const double tick : chart_ticks({1.1, 1.3, true}, 5)) {
    CHECK(tick >= 1.1);
    CHECK(tick <= 1.3);
  }
  std::vector<ChartPoint> line;
  for (int i = 0; i < 10000; ++i)
    line.push_back({double(i), i == 4321 ? 9.0 : i == 77 ? NAN : 1.0});
  const std::vector<ChartPoint> thin = thinned(line, {0, 10000, false}, 100);
  CHECK(thin.size() <= 200);
  CHECK(
      std::any_of(thin.begin(), thin.end(), [](ChartPoint p) { return p.y == 9 && p.x == 4321; }));
}

}  // namespace headlight::test
