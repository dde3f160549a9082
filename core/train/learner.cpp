#include "core/train/learner.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/train/data/batch_inputs.h"

namespace headlight {
namespace {

// The parameters in the order of the program, whatever order they came in.
std::vector<Tensor> in_order(const Program& program, std::vector<Tensor> given) {
  std::unordered_map<std::string, Tensor*> by_name;
  for (Tensor& tensor : given) by_name[tensor.name] = &tensor;
  std::vector<Tensor> ordered;
  for (const TensorSpec& spec : program.tensors) {
    if (spec.kind != TensorKind::kParameter) continue;
    const auto found = by_name.find(spec.name);
    if (found == by_name.end())
      throw Error(Message{"train.missing_parameter", {{"name", spec.name}}});
    if (found->second->axes != spec.axes) {
      throw Error(Message{"train.parameter_shape",
                          {{"name", spec.name},
                           {"expected", shape_text(spec.axes)},
                           {"got", shape_text(found->second->axes)}}});
    }
    ordered.push_back(std::move(*found->second));
    by_name.erase(found);
  }
  if (!by_name.empty())
    throw Error(Message{"train.unknown_parameter", {{"name", by_name.begin()->first}}});
  return ordered;
}

std::vector<std::int64_t> sizes_of(std::span<const Axis> axes) {
  std::vector<std::int64_t> sizes;
  for (const Axis& axis : axes) sizes.push_back(axis.size);
  return sizes;
}

constexpr Choice<NumberFormat> kStorages[] = {{NumberFormat::kFloat32, "float32"},
                                              {NumberFormat::kFloat16, "float16"},
                                              {NumberFormat::kBfloat16, "bfloat16"}};

}  // namespace

std::span<const Choice<NumberFormat>> choices(NumberFormat) { return kStorages; }

bool keeps_weights(const TensorSpec& spec, int frozen) {
  if (frozen < 0) return false;
  if (spec.place.layer >= 0) return spec.place.layer < frozen;
  if (spec.place.section == Section::kInput) return true;
  const bool norm = spec.role == Role::kNormScale || spec.role == Role::kNormShift;
  return norm && frozen == kAllFrozen;  // the last one
}

Learner::Learner(const Config& config, const RunShape& shape, std::vector<Tensor> parameters,
                 const TrainerOptions& options)
    : config_(config), shape_(shape), options_(options) {
  validate(options_.schedule);
  if (!(options_.dropout >= 0 && options_.dropout <= kMaxDropout)) {
    throw UsageError(Message{"train.dropout", {{"got", number_text(options_.dropout, 4)}}});
  }
  shape_.batch = 1;
  const Program program = build_training_program(config_, shape_, options_.dropout > 0);
  parameters_ = in_order(program, std::move(parameters));
  for (const TensorSpec& spec : program.tensors) {
    if (spec.kind != TensorKind::kParameter) continue;
    parameter_kinds_.push_back(role_info(spec.role).parameter);
    frozen_.push_back(keeps_weights(spec, options_.frozen));
  }
}

Learner::~Learner() = default;

void Learner::make_optimizer(std::span<const std::span<float>> gradients) {
  std::vector<TrainedTensor> trained;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& p = parameters_[i];
    trained.push_back({p.name,
                       sizes_of(p.axes),
                       {p.data.data(), p.data.size()},
                       gradients[i],
                       parameter_kinds_[i],
                       frozen_[i]});
  }
  optimizer_ = std::make_unique<Optimizer>(options_.optimizer, std::move(trained));
}

TrainStep Learner::begin(std::span<const TokenBatch> batches) const {
  TrainStep result;
  for (const TokenBatch& batch : batches) {
    check_batch(batch, config_, shape_);
    result.counted += std::count_if(batch.targets.begin(), batch.targets.end(),
                                    [](int target) { return target >= 0; });
  }
  if (result.counted == 0) throw Error(Message{"train.nothing_counted"});
  result.step = optimizer_->steps();
  result.learning_rate = learning_rate(options_.schedule, result.step);
  return result;
}

std::span<Tensor> Learner::parameters() {
  bring_parameters();
  return parameters_;
}

std::span<const Tensor> Learner::parameters() const {
  bring_parameters();
  return parameters_;
}

Optimizer& Learner::optimizer() {
  bring_moments();
  return *optimizer_;
}

const Optimizer& Learner::optimizer() const {
  bring_moments();
  return *optimizer_;
}

std::int64_t Learner::parameter_count() const {
  std::int64_t cells = 0;
  for (const Tensor& tensor : parameters_) cells += cell_count(tensor.axes);
  return cells;
}

Evaluation evaluate_all(Learner& learner, std::span<const TokenBatch> batches) {
  if (batches.size() == 1) return learner.evaluate(batches[0]);
  Evaluation all;
  double nats = 0, hidden = 0;
  for (const TokenBatch& batch : batches) {
    const Evaluation part = learner.evaluate(batch);
    nats += part.class_loss() * static_cast<double>(part.counted);
    hidden += part.hidden.loss * static_cast<double>(part.hidden.counted);
    all.hidden.counted += part.hidden.counted;
    all.hidden.correct += part.hidden.correct;
    all.counted += part.counted;
    all.correct += part.correct;
    all.rows += part.rows;
    all.rows_correct += part.rows_correct;
    all.chosen.insert(all.chosen.end(), part.chosen.begin(), part.chosen.end());
  }
  all.loss = all.counted ? nats / static_cast<double>(all.counted) : 0;
  if (all.hidden.counted > 0) all.hidden.loss = hidden / static_cast<double>(all.hidden.counted);
  all.loss += all.hidden.loss;
  return all;
}

}  // namespace headlight
