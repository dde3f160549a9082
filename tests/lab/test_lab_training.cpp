// Training in a lab: what it keeps, that it can be stopped, and that a model comes back from it.
#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "tests/support/error_text.h"

namespace headlight::test_lab_training {
namespace {

LabTraining short_training() {
  LabTraining training{"one", default_plan("induction"), nullptr, 10, {}, 0, 1};
  Config& c = training.plan.config;
  c.layers = 1, c.heads = 2, c.d_model = 16;
  training.plan.settings.batch = 4;
  training.plan.stop.steps = 25;
  training.task = lab_task(training.plan);
  return training;
}

struct TrainingBench {
  Runner runner;
  std::unique_ptr<Backend> backend = make_backend("cpu", 1);
  Document document;
  std::int64_t told = 0, most = 1000, shown = 0;
  Lab lab = scale_lab();
  LabInput input{document, runner, *backend, [this](const Progress&) { return ++told <= most; },
                 [this](const LabResult& r) {
                   if (!r.trained.empty()) ++shown;
                 }};
  LabRun run{lab, input, {}};
};

}  // namespace

TEST_CASE("labs: a training run keeps its curve and its weights, and is shown as it goes") {
  TrainingBench bench;
  LabTraining training = short_training();
  std::vector<std::int64_t> seen;
  training.seen = [&](const TrainingRun& run) { seen.push_back(run.steps_done()); };
  std::vector<Tensor> kept;
  const std::shared_ptr<const Model> model = train(bench.run, training, kept);
  CHECK(seen == std::vector<std::int64_t>{0, 10, 20, 25});
  CHECK(bench.shown == 4);
  CHECK(kept_curve(kept, "one", LabCurve::kStep) == std::vector<double>{0, 10, 20});
  const std::vector<double> loss = kept_curve(kept, "one", LabCurve::kLoss);
  CHECK(loss[2] < loss[0]);
  keep_weights(*model, "one", kept);
  const std::shared_ptr<const Model> again = kept_model(training.plan, training.task, "one", kept);
  CHECK(again->file == model->file);
  const auto a = read_with(bench.run, model, "a b c a"), b = read_with(bench.run, again, "a b c a");
  REQUIRE(a->program().logits >= 0);
  CHECK(std::ranges::equal(a->tensor(a->program().logits).cells(),
                           b->tensor(b->program().logits).cells()));
  kept.pop_back();
  CHECK(error_of([&] { kept_model(training.plan, training.task, "one", kept); }) != "");
  CHECK(error_of([&] { read_with(bench.run, model, "A"); }) != "");
}

TEST_CASE("labs: training stops in the middle") {
  TrainingBench bench;
  bench.most = 12;
  std::vector<Tensor> kept;
  CHECK_THROWS_AS(train(bench.run, short_training(), kept), Cancelled);
  CHECK(bench.told == 13);
  CHECK(kept_curve(kept, "one", LabCurve::kStep).size() == 2);
}

}  // namespace headlight::test_lab_training
