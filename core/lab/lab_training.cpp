#include "core/lab/lab_training.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kHistoryOfLab = 1u << 20, kCurveColumns = 3;

std::string joined_name(std::string_view prefix, std::string_view name) {
  return std::string(prefix) + "." + std::string(name);
}

void add_point(const TrainingRun& run, Tensor& curve) {
  const ValidationPoint& point = run.history().validation().back();
  if (curve.axes[0].size > 0 &&
      curve.data[curve.data.size() - kCurveColumns] == static_cast<float>(point.step))
    return;
  for (const double x : {static_cast<double>(point.step), point.loss, point.accuracy})
    curve.data.push_back(static_cast<float>(x));
  curve.axes[0].size += 1;
}

}  // namespace

RunPlan copying_plan(int d_model, std::int64_t steps) {
  RunPlan plan = default_plan("copy");
  plan.settings.schedule = {ScheduleKind::kCosine, 5e-3, 0, 40, steps};
  plan.stop.steps = steps;
  plan.init = Init::kGlorot;
  plan.config = Config{};
  plan.config.layers = 1;
  plan.config.d_model = d_model;
  return plan;
}

std::shared_ptr<const Task> lab_task(const RunPlan& plan) {
  return make_task(plan.settings.task, plan.settings.task_options);
}

std::shared_ptr<const Model> train(LabRun& run, const LabTraining& training,
                                   std::vector<Tensor>& kept) {
  run.tell(training.begin);
  TrainingRun one(training.plan, training.task, kLabThreads, kHistoryOfLab);
  const std::size_t at = kept.size();
  kept.push_back(
      lab_tensor(joined_name(training.name, "curve"), {{"kept", 0}, {"kept", kCurveColumns}}, {}));
  const std::int64_t steps = training.plan.stop.steps;
  for (std::int64_t step = 0;; ++step) {
    if (step % training.every == 0 || step == steps) {
      add_point(one, kept[at]);
      if (training.seen) training.seen(one);
      run.result.trained = kept;
      run.show();
    }
    const double share =
        static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(steps, 1));
    run.tell(training.begin + share * (training.end - training.begin));
    if (step == steps) return one.model();
    one.step();
  }
}

const Tensor& kept_tensor(std::span<const Tensor> kept, std::string_view name) {
  const auto found = std::ranges::find(kept, name, &Tensor::name);
  if (found == kept.end()) throw Error("no " + std::string(name) + " was kept");
  return *found;
}

std::vector<double> kept_curve(std::span<const Tensor> kept, std::string_view name, LabCurve of) {
  const Tensor& curve = kept_tensor(kept, joined_name(name, "curve"));
  std::vector<double> column;
  for (std::size_t i = static_cast<std::size_t>(of); i < curve.data.size(); i += kCurveColumns)
    column.push_back(static_cast<double>(curve.data[i]));
  return column;
}

void keep_weights(const Model& model, std::string_view prefix, std::vector<Tensor>& kept) {
  for (const Tensor& weight : model.weights)
    kept.push_back({joined_name(prefix, weight.name), weight.axes, weight.data});
}

std::shared_ptr<const Model> kept_model(const RunPlan& plan, std::shared_ptr<const Task> task,
                                        std::string_view prefix, std::span<const Tensor> kept) {
  auto model = std::make_shared<Model>();
  model->ref = kRunRef;
  model->name = task->id();
  model->vocabulary = task->shared_vocabulary();
  const RunShape shape = shape_of(*task, plan.config);
  model->file = model_file(plan.config, shape, task.get());
  const Program program = build_program(plan.config, shape);
  for (const TensorSpec& spec : program.tensors) {
    if (spec.kind != TensorKind::kParameter) continue;
    const Tensor& weight = kept_tensor(kept, joined_name(prefix, spec.name));
    if (std::ssize(weight.data) != cell_count(spec.axes))
      throw Error(weight.name + " is not " + shape_text(spec.axes));
    model->weights.push_back({spec.name, spec.axes, weight.data});
  }
  return model;
}

std::vector<int> likeliest(Predictor& predictor, const std::vector<std::vector<int>>& rows,
                           std::size_t first) {
  std::vector<int> ids;
  for (const auto& row : rows) ids.insert(ids.end(), row.begin(), row.end());
  const std::size_t width = rows[0].size();
  const auto logits = predictor.logits(ids, static_cast<std::int64_t>(width));
  const std::size_t vocab = logits.size() / ids.size();
  std::vector<int> said;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = first; i < width; ++i) {
      const auto cells = logits.subspan((r * width + i) * vocab, vocab);
      said.push_back(static_cast<int>(std::ranges::max_element(cells) - cells.begin()));
    }
  }
  return said;
}

double mean_loss(std::span<const float> logits, std::span<const int> targets) {
  const std::size_t vocab = logits.size() / targets.size();
  double sum = 0, counted = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0) continue;
    const auto row = logits.subspan(i * vocab, vocab);
    const double most = static_cast<double>(*std::ranges::max_element(row));
    double all = 0;
    for (const float x : row) all += std::exp(static_cast<double>(x) - most);
    sum += std::log(all) + most - static_cast<double>(row[static_cast<std::size_t>(targets[i])]);
    ++counted;
  }
  return sum / counted;
}

std::string spaced(const Vocabulary& vocabulary, std::span<const int> ids) {
  std::string text;
  for (const int id : ids) text += (text.empty() ? "" : " ") + vocabulary.token(id);
  return text;
}

std::shared_ptr<const Trace> read_with(LabRun& run, std::shared_ptr<const Model> model,
                                       const std::string& sentence, const Config& config) {
  Document document;
  document.sentence = sentence;
  document.config = config;
  RunResult done = run.runner().run(document, run.backend(), std::move(model));
  if (done.trace) return done.trace;
  if (done.is_usage) throw UsageError(done.message);
  throw Error(done.message);
}

}  // namespace headlight
