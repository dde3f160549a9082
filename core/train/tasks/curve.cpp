// Numbers for numbers: a curve with two regions, and one with several branches.
#include <algorithm>
#include <cmath>

#include "core/text/number_words.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

// An example is a row of points: each token is an x, its target the y that belongs to it.
class PointsTask : public Task {
 public:
  PointsTask(std::string id, const TaskOptions& options)
      : Task({.id = std::move(id),
              .kind = TaskKind::kNumbers,
              .vocabulary = std::make_shared<const Vocabulary>(
                  Vocabulary::of_numbers(option(options, "numbers"))),
              .context = option(options, "points"),
              .source_length = 0,
              .classes = {},
              .options = options}),
        noise_(option(options, "noise") / 100.0) {}

 protected:
  struct Point {
    double x, y;
  };
  /// A point of the curve, without noise.
  virtual Point draw_point(Random& random) const = 0;
  double number(int id) const { return -1 + 2.0 * id / (vocabulary().size() - 1); }

 private:
  TaskExample make(Random& random, Split) const override {
    TaskExample example;
    const int count = vocabulary().size();
    for (int i = 0; i < context(); ++i) {
      const Point point = draw_point(random);
      // Twelve numbers that are equally likely add up to nearly a bell curve of deviation 1.
      double bell = -6;
      for (int draw = 0; draw < 12; ++draw) bell += random.uniform();
      example.tokens.push_back(nearest_grid_id(point.x, count));
      example.targets.push_back(nearest_grid_id(point.y + noise_ * bell, count));
    }
    return example;
  }

  double noise_;
};

// A straight line left of 0, a parabola from there on: at 0 it jumps.
class CurveTask final : public PointsTask {
 public:
  explicit CurveTask(const TaskOptions& options) : PointsTask("curve", options) {}

 private:
  Point draw_point(Random& random) const override {
    const double x = number(random.between(0, vocabulary().size() - 1));
    return {x, x < 0 ? -0.8 - 1.2 * x : 2.2 * (x - 0.5) * (x - 0.5) - 0.4};
  }
};

// The inverse of a wave (Bishop 1994, section 4): y is drawn, x follows from it, and for x in the
// middle three y go with it.
class BranchesTask final : public PointsTask {
 public:
  explicit BranchesTask(const TaskOptions& options) : PointsTask("branches", options) {}

 private:
  Point draw_point(Random& random) const override {
    const double pi = std::acos(-1.0), y = number(random.between(0, vocabulary().size() - 1));
    return {y - 0.8 * std::sin(pi * y), 0.9 * y};
  }
};

std::vector<TaskOption> sizes() {
  return {{"points", 32, 1, 1024, "task.option.points"},
          {"numbers", kGridNumbers, 2, 2001, "task.option.numbers_of_grid"},
          {"noise", 3, 0, 50, "task.option.noise"}};
}

}  // namespace

TaskEntry curve_task() {
  return {
      {"curve", TaskKind::kNumbers, "task.curve", "task.curve.about", "task.curve.look", sizes()},
      [](const TaskOptions& options) -> std::unique_ptr<Task> {
        return std::make_unique<CurveTask>(options);
      }};
}

TaskEntry branches_task() {
  return {{"branches", TaskKind::kNumbers, "task.branches", "task.branches.about",
           "task.branches.look", sizes()},
          [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<BranchesTask>(options);
          }};
}

}  // namespace headlight
