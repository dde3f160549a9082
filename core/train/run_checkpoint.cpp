#include "core/train/run_checkpoint.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"
#include "core/graph/program.h"
#include "core/io/atomic_folder.h"
#include "core/model/own_folder.h"

namespace headlight {
namespace {

// What a checkpoint calls the kind of a task.
const char* kind_word(TaskKind kind) {
  switch (kind) {
    case TaskKind::kMasked:
      return "masked";
    case TaskKind::kClassify:
      return "classify";
    case TaskKind::kTranslate:
      return "translate";
    case TaskKind::kNumbers:
      return "numbers";
    case TaskKind::kNextToken:
      break;
  }
  return "next-token";
}

const std::string kNewest = "now.", kMemory = "memory.";

// Writes what the run goes on with over the best weights. Nothing where these are the same.
void restore_newest(Learner& learner, std::span<const NamedArray> arrays) {
  if (arrays.empty()) return;
  for (Tensor& tensor : learner.parameters()) {
    const auto found = std::ranges::find(arrays, kNewest + tensor.name, &NamedArray::name);
    const bool fits = found != arrays.end() &&
                      element_count(*found) == static_cast<std::uint64_t>(tensor.data.size());
    if (!fits) throw Error(Message{"train.newest_weights", {{"name", tensor.name}}});
    std::ranges::copy(std::get<std::span<const float>>(found->data), tensor.data.begin());
  }
}

std::vector<StoredArray> stored(std::span<const Tensor> weights) {
  std::vector<StoredArray> arrays;
  for (const Tensor& tensor : weights) {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : tensor.axes) shape.push_back(axis.size);
    arrays.push_back({tensor.name, shape, {tensor.data.begin(), tensor.data.end()}});
  }
  return arrays;
}

}  // namespace

ModelFile model_file(const Config& config, const RunShape& shape, const Task* task) {
  ModelFile file{config, shape.vocab, shape.positions, task ? task->id() : "rows",
                 kind_word(task ? task->kind() : TaskKind::kNextToken)};
  if (task) file.classes = task->classes();
  file.source = shape.source;
  file.source_vocab = shape.source_vocab;
  return file;
}

RunCheckpoint checkpoint_of(const Model& model) {
  TokenizerTexts texts = tokenizer_texts(model);
  return {0,
          model.file,
          std::move(texts.tokenizer),
          {},
          stored(model.weights),
          {},
          std::move(texts.target)};
}

RunCheckpoint checkpoint_of(ModelFile model, std::string tokenizer, const Learner& learner,
                            const RunSettings& settings, const TrainState& state,
                            std::span<const Tensor> best) {
  TrainState told = state;
  if (settings.storage == NumberFormat::kFloat16) told.loss_scale = learner.loss_scale();
  RunCheckpoint made{state.step,
                     std::move(model),
                     std::move(tokenizer),
                     train_text(settings, told),
                     stored(best.empty() ? learner.parameters() : best),
                     {}};
  std::vector<NamedArray> arrays = learner.optimizer().state();
  std::ranges::move(learner.memory(), std::back_inserter(arrays));
  for (const NamedArray& array : arrays) {
    const auto& data = std::get<std::span<const float>>(array.data);
    made.optimizer.push_back({array.name, array.shape, {data.begin(), data.end()}});
  }
  if (best.empty()) return made;
  for (StoredArray& array : stored(learner.parameters())) {
    array.name = kNewest + array.name;
    made.optimizer.push_back(std::move(array));
  }
  return made;
}

void restore_run(Learner& learner, const TrainState& state, std::span<const StoredArray> arrays) {
  std::vector<NamedArray> moments, memory, newest;
  for (NamedArray& array : array_views(arrays))
    (array.name.starts_with(kMemory)   ? memory
     : array.name.starts_with(kNewest) ? newest
                                       : moments)
        .push_back(std::move(array));
  restore_newest(learner, newest);
  learner.optimizer().restore(state.step, moments);
  if (state.loss_scale) learner.loss_scale() = *state.loss_scale;
  learner.restore_memory(memory);
}

void RunCheckpoint::save(const std::filesystem::path& folder, FloatStorage storage) const {
  CheckpointParts parts;
  parts.storage = storage;
  parts.model = model;
  parts.tokenizer = tokenizer;
  parts.target_tokenizer = target_tokenizer;
  parts.weights = array_views(weights);
  if (!training.empty()) parts.training = {training, array_views(optimizer)};
  save_checkpoint(folder, parts);
}

void RunCheckpoint::check_place(const std::filesystem::path& folder) const {
  expect_replaceable(folder);
  std::uint64_t bytes = tokenizer.size() + training.size() + target_tokenizer.size();
  for (const auto* arrays : {&weights, &optimizer}) {
    for (const StoredArray& array : *arrays) bytes += array.data.size() * sizeof(float);
  }
  check_folder_atomic(folder, bytes, kCheckpointFiles);
}

}  // namespace headlight
