// Tasks whose tokens are numbers: what their examples are, that a gate learns regions, and that a
// mixture density says what one number cannot.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "core/backends/backend.h"
#include "core/model/model.h"
#include "core/run/number_curve.h"
#include "core/text/number_words.h"
#include "core/train/training_run.h"
#include "tests/support/error_text.h"

namespace headlight::test_numbers_task {
namespace {

double number_of(int id) { return -1 + 0.02 * id; }

TrainingRun trained(RunPlan plan, int steps) {
  plan.stop.steps = plan.settings.schedule.steps = steps;
  const std::shared_ptr<const Task> task = make_task(plan.settings.task);
  TrainingRun run(std::move(plan), task, 2);
  while (!run.finished()) (void)run.step();
  return run;
}

NumberCurve curve_of(const TrainingRun& run) {
  ModelParameters weights;
  weights.use(run.model());
  return number_curve(*grid_trace(run.plan().config, kGridNumbers, weights, *make_cpu_backend(1)));
}

double last_loss(const TrainingRun& run) { return run.history().validation().back().loss; }

}  // namespace

TEST_CASE("curve: left of 0 a line, from there on a parabola, with little noise") {
  const auto task = make_task("curve", {{"noise", 0}});
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    const TaskExample e = task->draw(random);
    for (std::size_t t = 0; t < e.tokens.size(); ++t) {
      const double x = number_of(e.tokens[t]);
      const double y = x < -1e-9 ? -0.8 - 1.2 * x : 2.2 * (x - 0.5) * (x - 0.5) - 0.4;
      CHECK(std::abs(number_of(e.targets[t]) - y) <= 0.0101);
    }
  }
}

TEST_CASE("branches: in the middle one x has several y") {
  const auto task = make_task("branches", {{"noise", 0}});
  Random random(3);
  std::set<int> middle, right;
  for (int i = 0; i < 200; ++i) {
    const TaskExample e = task->draw(random);
    for (std::size_t t = 0; t < e.tokens.size(); ++t) {
      if (e.tokens[t] == 50) middle.insert(e.targets[t] / 10);
      if (e.tokens[t] == 95) right.insert(e.targets[t] / 10);
    }
  }
  CHECK(middle.size() >= 3);
  CHECK(right.size() <= 2);
}

TEST_CASE("curve: the gate learns the two regions") {
  const TrainingRun run = trained(default_plan("curve"), 600);
  const NumberCurve curve = curve_of(run);
  REQUIRE(curve.experts.size() == 2);
  // Which expert the gate hears most, left and right of the jump.
  int left[2] = {0, 0}, right[2] = {0, 0};
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const int best = curve.experts[1].weight[i] > curve.experts[0].weight[i];
    ++(curve.x[i] < -1e-9 ? left : right)[best];
  }
  const int agree = std::max(left[0] + right[1], left[1] + right[0]);
  MESSAGE("one expert to a region at ", agree, " of 101 numbers; loss ", last_loss(run));
  CHECK(agree >= 91);
  double worst = 0;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const double x = curve.x[i];
    if (std::abs(x) < 0.1) continue;
    const double y = x < 0 ? -0.8 - 1.2 * x : 2.2 * (x - 0.5) * (x - 0.5) - 0.4;
    worst = std::max(worst, std::abs(curve.y[i] - y));
  }
  CHECK(worst < 0.15);
}

TEST_CASE("branches: components say what one number cannot") {
  RunPlan several = default_plan("branches"), one = several;
  CHECK(several.config.components == 3);
  one.config.components = 0;
  const TrainingRun mixture = trained(several, 600), single = trained(one, 600);
  MESSAGE("one number ", last_loss(single), ", three components ", last_loss(mixture));
  CHECK(last_loss(mixture) < last_loss(single) - 1);
}

TEST_CASE("numbers: a task and a model that do not go together are refused") {
  RunPlan plan = default_plan("curve");
  plan.config.numbers = false;
  const std::shared_ptr<const Task> curve = make_task("curve");
  CHECK(error_of([&] { (void)TrainingRun(plan, curve, 1); }).find("curve") != std::string::npos);
  RunPlan words = default_plan("copy");
  words.config.numbers = true;
  const std::shared_ptr<const Task> copy = make_task("copy");
  CHECK(error_of([&] { (void)TrainingRun(words, copy, 1); }).find("numbers") != std::string::npos);
}

}  // namespace headlight::test_numbers_task
