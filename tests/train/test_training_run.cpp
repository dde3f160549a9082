// A training run as a whole: the same plan gives the same numbers, a reset gives them again, a
// saved run goes on, and its history is thinned without losing its ends.
#include "core/train/training_run.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "core/model/checkpoint.h"
#include "core/train/metrics/curve_summary.h"
#include "core/train/trainer.h"

namespace headlight::test_training_run {
namespace {

RunPlan small_plan(const std::string& task = "induction") {
  RunPlan plan;
  plan.settings.task = task;
  plan.settings.batch = 8;
  plan.settings.seed = 7;
  plan.settings.schedule.peak = 2e-3;
  plan.config.layers = 2;
  plan.config.heads = 2;
  plan.config.d_model = 16;
  plan.config.positions = PositionKind::kLearned;
  plan.stop.steps = 24;
  return plan;
}

TrainingRun make_run(const RunPlan& plan, int threads = 1, std::size_t bytes = kHistoryBytes) {
  return {plan, make_plan_task(plan).task, threads, bytes};
}

bool same_weights(const Model& a, const Model& b) {
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    if (a.weights[i].data != b.weights[i].data) return false;
  }
  return a.weights.size() == b.weights.size();
}

}  // namespace

TEST_CASE("a run gives the same numbers again, on any number of threads") {
  TrainingRun first = make_run(small_plan()), second = make_run(small_plan(), 3);
  while (!first.finished()) first.step();
  while (!second.finished()) second.step();
  REQUIRE(first.steps_done() == 24);
  REQUIRE(first.history().curve().size() == 24);
  for (std::size_t i = 0; i < 24; ++i) {
    CHECK(first.history().curve()[i].loss == second.history().curve()[i].loss);
    CHECK(first.history().curve()[i].step == static_cast<std::int64_t>(i));
  }
  CHECK(same_weights(*first.model(), *second.model()));
  REQUIRE(first.history().validation().size() == 3);  // at 0, 10, 20
  CHECK(first.history().validation()[2].step == 20);
  CHECK(first.history().validation()[2].loss == second.history().validation()[2].loss);
}

TEST_CASE("every snapshot has the weights of its step") {
  const RunPlan plan = small_plan();
  TrainingRun run = make_run(plan);
  while (!run.finished()) run.step();
  TrainingRun again = make_run(plan);
  const auto snapshots = run.history().snapshots();
  REQUIRE(snapshots.size() == 25);
  CHECK(snapshots.front()->step == 0);
  for (const auto& snapshot : snapshots) {
    while (again.steps_done() < snapshot->step) again.step();
    CHECK(same_weights(*snapshot->model, *again.model()));
    REQUIRE(snapshot->probe.heads.size() == 4);
    REQUIRE(snapshot->probe.predicted.size() == kProbeExamples);
    CHECK(snapshot->probe.score.sequences == kProbeExamples);
  }
  CHECK(run.history().nearest(13)->step == 13);
  CHECK(run.history().nearest(1000)->step == 24);
}

TEST_CASE("another seed gives other weights, the same data") {
  RunPlan plan = small_plan();
  TrainingRun first = make_run(plan);
  plan.config.seed = 2;
  TrainingRun second = make_run(plan);
  CHECK_FALSE(same_weights(*first.model(), *second.model()));
  CHECK(first.probe_examples()[0] == second.probe_examples()[0]);
}

TEST_CASE("a saved run goes on as if it had never stopped") {
  const auto folder = std::filesystem::temp_directory_path() / "headlight_test_training_run";
  std::filesystem::remove_all(folder);
  TrainingRun run = make_run(small_plan());
  for (int i = 0; i < 5; ++i) run.step();
  run.save(folder);
  const Checkpoint saved = load_checkpoint(folder, true);
  std::filesystem::remove_all(folder);
  REQUIRE(saved.training);
  RunSettings settings;
  TrainState state;
  parse_train(saved.training->json, settings, state);
  CHECK(state.step == 5);
  CHECK(saved.model.task == "induction");
  const std::shared_ptr<const Task> task = make_plan_task(run.plan()).task;
  Trainer trainer(saved.model.config, saved.model.vocab, saved.model.context, saved.weights,
                  {settings.optimizer, settings.schedule, settings.clip, 8, 1});
  trainer.optimizer().restore(state.step, array_views(saved.training->optimizer));
  TaskBatches batches(task, settings.batch, settings.seed, Split::kTraining);
  batches.restore(state.data);
  for (int i = 0; i < 5; ++i) CHECK(trainer.step(batches.next()).loss == run.step().loss);
}

TEST_CASE("the rate can be changed while a run runs") {
  TrainingRun run = make_run(small_plan());
  run.step();
  run.set_rate(5e-4);
  CHECK(run.step().learning_rate == doctest::Approx(5e-4));
  CHECK_THROWS_WITH(run.set_rate(0), doctest::Contains("rate"));
  CHECK_THROWS_WITH(run.set_rate(1e9), doctest::Contains("rate"));
  CHECK_THROWS_WITH(run.set_clip(-1), doctest::Contains("0 (any) or more"));
  CHECK(run.step().learning_rate == doctest::Approx(5e-4));
}

TEST_CASE("a loss that is no number stops a run with the weights before it") {
  RunPlan plan = small_plan();
  plan.settings.optimizer = default_options(OptimizerKind::kSgd);
  plan.settings.schedule.peak = 100;
  TrainingRun run = make_run(plan);
  std::shared_ptr<const Model> before = run.model();
  for (int i = 0; i < 200 && !run.broken(); ++i) {
    before = run.model();
    run.step();
  }
  REQUIRE(run.broken());
  CHECK(same_weights(*before, *run.model()));
  CHECK(run.history().curve().size() == static_cast<std::size_t>(run.steps_done()));
}

TEST_CASE("a run ends at the loss that was asked for") {
  RunPlan plan = small_plan("copy");
  plan.settings.task_options = {{"length", 2}, {"symbols", 2}};
  plan.settings.schedule.peak = 1e-2;
  plan.stop = {400, 0.3, 0};
  TrainingRun run = make_run(plan);
  while (!run.finished()) run.step();
  CHECK(run.steps_done() < 400);
  CHECK(run.history().validation().back().loss <= 0.3);
}

TEST_CASE("snapshots are dense early and thinner later, within their memory") {
  // By hand: with a detail of 4 the gaps double at 8, 16, 32.
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step <= 32; ++step) {
    if (is_snapshot_step(step, 4)) steps.push_back(step);
  }
  CHECK(steps ==
        std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32});
  // A smaller detail keeps a part of a larger one's.
  for (std::int64_t step = 0; step < 3000; ++step) {
    if (is_snapshot_step(step, 8)) CHECK(is_snapshot_step(step, 16));
  }

  TrainingRun sample = make_run(small_plan());
  const std::size_t each = sample.history().snapshots()[0]->bytes();
  RunHistory history(each * 12);
  for (std::int64_t step = 0; step <= 700; ++step) {
    if (!history.wants(step)) continue;
    Snapshot snapshot = *sample.history().snapshots()[0];
    snapshot.step = step;
    history.add(std::make_shared<const Snapshot>(std::move(snapshot)));
    CHECK(history.bytes() <= each * 12);
    CHECK(history.snapshots().front()->step == 0);
    CHECK(history.snapshots().back()->step == step);
  }
  CHECK(history.snapshots().size() >= 6);
  history.set_limit(1);
  CHECK(history.snapshots().size() == 2);
}

TEST_CASE("a snapshot out of turn gives way to the next one") {
  TrainingRun sample = make_run(small_plan());
  RunHistory history(kHistoryBytes);
  const auto add = [&](std::int64_t step) {
    Snapshot snapshot = *sample.history().snapshots()[0];
    snapshot.step = step;
    history.add(std::make_shared<const Snapshot>(std::move(snapshot)));
  };
  add(0);
  add(64);
  add(65);  // a pause
  add(68);
  REQUIRE(history.snapshots().size() == 3);
  CHECK(history.snapshots()[1]->step == 64);
  CHECK(history.snapshots()[2]->step == 68);
}

TEST_CASE("the probe scores heads as head_scores does, and finds the halves of a copy") {
  const TaskExample copy{{}, {1, 2, 3, 0, 1, 2}, {-1, -1, -1, 1, 2, 3}, {}, -1};
  REQUIRE(copy_halves(copy));
  CHECK(copy_halves(copy)->target == 3);
  CHECK(copy_halves(copy)->length == 3);
  CHECK_FALSE(copy_halves(TaskExample{{}, {1, 2, 1, 2}, {-1, 1, 2, 1}, {}, -1}));

  const RunPlan plan = small_plan();
  TrainingRun run = make_run(plan);
  const Snapshot& start = *run.history().snapshots()[0];
  // An untrained head spreads its attention.
  CHECK(start.probe.heads[0][Badge::kUniform].value > 0.95);
  CHECK(start.probe.heads[0][Badge::kPreviousToken].rows > 100);
}

TEST_CASE("a summary of a long curve loses no spike") {
  CurveSummary summary;
  const std::int64_t steps = 100000;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double loss = i == 77777 ? 50 : i == 12345 ? NAN : i == 60001 ? 0.001 : 1;
    summary.add({i, loss, 2, 1e-3, 1});
  }
  CHECK(summary.pieces().size() <= CurveSummary::kMaxPieces);
  CHECK(summary.pieces().size() > CurveSummary::kMaxPieces / 2 - 1);
  bool high = false, low = false;
  for (const CurvePiece& piece : summary.pieces()) {
    high |= piece.high[0].step == 77777 && piece.high[0].value == 50;
    low |= piece.low[0].step == 60001 && piece.low[0].value == 0.001;
    CHECK(piece.low[1].value == 2);
    CHECK(std::isfinite(piece.low[0].value));
  }
  CHECK(high);
  CHECK(low);
}

}  // namespace headlight::test_training_run
