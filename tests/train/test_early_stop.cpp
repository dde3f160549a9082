// Early stopping: a run ends after its patience, keeps the best weights, and goes on as if it had
// never stopped.
#include "core/train/optim/early_stop.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "core/train/training_run.h"
#include "tests/support/text_source_support.h"

namespace headlight::test_early_stop {
namespace {

// Few rows whose labels are chance: what is learned of them says nothing of others.
RunPlan chance_plan(std::int64_t patience) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "word" + std::to_string(i % 13) + " word" + std::to_string(i * i % 11) + " word" +
            std::to_string(i * 7 % 17);
    text += scatter(static_cast<std::uint64_t>(i)) % 2 ? "\tyes\n" : "\tno\n";
  }
  RunPlan plan = default_plan("", OwnData::kLabels);
  plan.text = pasted(text);
  plan.text_options.validation = 30;
  plan.config.layers = 1;
  plan.config.heads = 2;
  plan.config.d_model = 16;
  plan.settings.schedule.peak = 0.01;
  plan.settings.schedule.warmup = 0;
  plan.settings.batch = 8;
  plan.settings.patience = patience;
  plan.stop.steps = 600;
  return plan;
}

TrainingRun make_run(const RunPlan& plan, std::optional<RunStart> start = {}) {
  return {plan, make_plan_task(plan).task, 1, kHistoryBytes, {}, std::move(start)};
}

std::vector<float> weights_of(const Model& model) {
  std::vector<float> cells;
  for (const Tensor& tensor : model.weights)
    cells.insert(cells.end(), tensor.data.begin(), tensor.data.end());
  return cells;
}

}  // namespace

TEST_CASE("early stop: a run ends after its patience, with the weights of its best measurement") {
  TrainingRun run = make_run(chance_plan(4));
  std::vector<float> best;
  double loss = HUGE_VAL;
  while (!run.finished()) {
    run.step();
    const ValidationPoint& last = run.history().validation().back();
    if (last.step == run.steps_done() && last.loss < loss && !run.stopped_early()) {
      loss = last.loss;
      best = weights_of(*run.model());
    }
  }
  REQUIRE(run.stopped_early());
  CHECK(run.steps_done() < 600);
  CHECK(run.steps_done() == run.model_step() + 4 * kValidateEvery);
  REQUIRE(run.early_stop().best());
  if (run.model_step() > 0) {
    CHECK(run.early_stop().best()->score.loss == loss);
    CHECK(weights_of(*run.model()) == best);
  }
  CHECK(weights_of(*run.model()) != weights_of(*run.history().snapshots().back()->model));
  // More patience: it goes on from its newest weights.
  run.set_patience(8);
  CHECK_FALSE(run.finished());
  CHECK(run.model_step() == run.steps_done());
  run.set_patience(0);
  CHECK_FALSE(run.stopped_early());
  CHECK(run.early_stop().weights().empty());
}

TEST_CASE("early stop: a run that was saved on the way is the run that never stopped") {
  const auto folder = std::filesystem::temp_directory_path() / "headlight_test_early_stop";
  std::filesystem::remove_all(folder);
  TrainingRun whole = make_run(chance_plan(6)), half = make_run(chance_plan(6));
  while (!whole.finished()) whole.step();
  REQUIRE(whole.stopped_early());
  // In the midst of waiting, so that best and newest weights differ.
  while (half.steps_done() < whole.model_step() + 25) half.step();
  half.save(folder);
  const Checkpoint saved = load_checkpoint(folder, true);
  RunPlan plan = chance_plan(6);
  plan.from = folder;
  const auto task = make_plan_task(plan).task;
  TrainingRun resumed = make_run(plan, plan_start(plan, *task));
  std::filesystem::remove_all(folder);
  CHECK(resumed.steps_done() == half.steps_done());
  CHECK(weights_of(*resumed.model()) == weights_of(*half.model()));
  // The folder's model is the best one.
  std::vector<float> kept;
  for (const Tensor& tensor : saved.weights)
    kept.insert(kept.end(), tensor.data.begin(), tensor.data.end());
  CHECK(kept == weights_of(*whole.model()));
  while (!resumed.finished()) resumed.step();
  CHECK(resumed.steps_done() == whole.steps_done());
  CHECK(resumed.model_step() == whole.model_step());
  CHECK(weights_of(*resumed.model()) == weights_of(*whole.model()));
  CHECK(weights_of(*resumed.history().snapshots().back()->model) ==
        weights_of(*whole.history().snapshots().back()->model));
}

TEST_CASE("early stop: a loss that is no number is never the best; without rows it is refused") {
  RunPlan plan = chance_plan(2);
  TrainingRun run = make_run(plan);
  EarlyStop early(2);
  early.measured(1, {1.0, 0.5}, run.learner());
  early.measured(2, {std::nan(""), 0.5}, run.learner());
  CHECK_FALSE(early.over());
  early.measured(3, {1.0, 0.5}, run.learner());
  CHECK(early.over());
  CHECK(early.best()->step == 1);
  plan.text_options.validation = 0;
  CHECK_THROWS_WITH(make_run(plan), doctest::Contains("needs a validation loss"));
}

TEST_CASE("confusion: what the classes of the validation rows were taken for adds up") {
  TrainingRun run = make_run(chance_plan(0));
  for (int i = 0; i < 10; ++i) run.step();
  const ValidationPoint& point = run.history().validation().back();
  REQUIRE(point.confusion.size() == 4);
  std::int64_t all = 0;
  for (const std::int64_t count : point.confusion) all += count;
  CHECK(all == 18);  // 30 % of 60, each row once
  const double right = static_cast<double>(point.confusion[0] + point.confusion[3]);
  CHECK(right / 18 == doctest::Approx(point.accuracy));
  std::int64_t of_no = 0;  // in the order of the classes
  const Task& task = run.task();
  for (std::size_t i = 0; i < task.rows(Split::kValidation); ++i)
    of_no += task.row(i, Split::kValidation).label == 0;
  CHECK(point.confusion[0] + point.confusion[1] == of_no);
}

}  // namespace headlight::test_early_stop
