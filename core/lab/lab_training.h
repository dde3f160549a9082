// What labs need to train small models: a plan trained with progress and a way to stop, its curve
// and its weights as named tensors that LabRun::trained() keeps, and a model made of these again.
#pragma once

#include "core/lab/lab_run.h"
#include "core/train/predictor.h"
#include "core/train/training_run.h"

namespace headlight {

inline constexpr int kLabThreads = 2;  // the same numbers on any number of them

struct LabTraining {
  std::string name;  // of what is kept: "<name>.curve"
  RunPlan plan;      // as many updates as its stop says
  std::shared_ptr<const Task> task;
  // A point of the curve, `seen`, and what is there so far shown: before the first update, then
  // every so many (a multiple of kValidateEvery), and after the last.
  std::int64_t every = 20;
  std::function<void(const TrainingRun&)> seen{};
  double begin = 0, end = 1;  // of the work that the lab tells of, this is from where to where
};

/// A plan by which one small layer learns to go on with what it has read: the task copy.
RunPlan copying_plan(int d_model, std::int64_t steps);
/// The task of a plan without data of a person's own.
std::shared_ptr<const Task> lab_task(const RunPlan&);

/// Trains, and appends "<name>.curve" to `kept`: (points, 3) with the step, the loss and the share
/// of right targets on fresh examples. What is kept so far is the result's, so `seen` may draw it.
/// Throws Cancelled between two steps.
std::shared_ptr<const Model> train(LabRun&, const LabTraining&, std::vector<Tensor>& kept);

enum class LabCurve : std::size_t { kStep, kLoss, kAccuracy };
/// A column of "<name>.curve".
std::vector<double> kept_curve(std::span<const Tensor> kept, std::string_view name, LabCurve);

/// Throws Error where there is none of this name.
const Tensor& kept_tensor(std::span<const Tensor> kept, std::string_view name);

/// Appends the model's weights, "<prefix>.<weight>".
void keep_weights(const Model&, std::string_view prefix, std::vector<Tensor>& kept);
/// The model of a plan with weights that were kept. Throws Error where one is missing or of another
/// size.
std::shared_ptr<const Model> kept_model(const RunPlan&, std::shared_ptr<const Task>,
                                        std::string_view prefix, std::span<const Tensor> kept);

/// The likeliest token at the places from `first` on of rows of one length, (rows, places).
std::vector<int> likeliest(Predictor&, const std::vector<std::vector<int>>& rows,
                           std::size_t first);

/// −log p of the targets that count (not −1), the mean; logits (targets, vocab).
double mean_loss(std::span<const float> logits, std::span<const int> targets);
/// The tokens with spaces between them.
std::string spaced(const Vocabulary&, std::span<const int> ids);

/// A sentence run with such a model, or with one that computes as `config` says. Throws as
/// LabRun::run().
std::shared_ptr<const Trace> read_with(LabRun&, std::shared_ptr<const Model>,
                                       const std::string& sentence, const Config& config);
inline std::shared_ptr<const Trace> read_with(LabRun& run, std::shared_ptr<const Model> model,
                                              const std::string& sentence) {
  const Config& config = model->file.config;
  return read_with(run, model, sentence, config);
}

}  // namespace headlight
