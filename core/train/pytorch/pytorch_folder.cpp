#include "core/train/pytorch/pytorch_folder.h"

#include <vector>

#include "core/base/error.h"
#include "core/io/plain_file.h"
#include "core/model/checkpoint.h"
#include "core/model/folders/folder.h"
#include "core/model/own_folder.h"
#include "core/train/pytorch/pytorch_data.h"
#include "core/train/pytorch/pytorch_lacks.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

void refuse(const std::string& lacking) {
  if (lacking.empty()) return;
  throw UsageError(Message{"pytorch.cannot", {{"options", lacking}}});
}

// The parameters of which train.py has to know more than their names.
void tell_parameters(const ModelFile& model, const RunSettings& settings, OrderedJson& json) {
  OrderedJson frozen = OrderedJson::array(), plain = frozen, names = OrderedJson::object();
  for (const TensorSpec& spec : program_parameters(model)) {
    const bool matrix = role_info(spec.role).parameter == ParameterKind::kMatrix;
    if (keeps_weights(spec, settings.frozen)) frozen.push_back(spec.file_name);
    if (settings.optimizer.decay_matrices_only && !matrix) plain.push_back(spec.file_name);
    if (spec.name != spec.file_name) names[spec.file_name] = spec.name;
  }
  json["frozen"] = std::move(frozen);
  json["no_decay"] = std::move(plain);
  json["moments"] = std::move(names);  // what the optimizer's file calls them, where otherwise
}

}  // namespace

// Also of rows of ids, which no sentence can be read by, so that it is no Model.
RunCheckpoint exported_run(const std::string& ref) {
  const fs::path folder(ref);
  if (ref.starts_with(kBundledRef) || is_foreign_folder(folder))
    return checkpoint_of(*load_model(ref));
  Checkpoint saved = load_checkpoint(folder, true);
  RunCheckpoint run{0,  std::move(saved.model),           std::move(saved.tokenizer), {}, {},
                    {}, std::move(saved.target_tokenizer)};
  for (const Tensor& tensor : saved.weights) {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : tensor.axes) shape.push_back(axis.size);
    run.weights.push_back({tensor.name, shape, {tensor.data.begin(), tensor.data.end()}});
  }
  if (!saved.training) return run;
  run.training = std::move(saved.training->json);
  run.optimizer = std::move(saved.training->optimizer);
  RunSettings settings;
  TrainState state;
  naming_file(folder / kTrainFile, [&] { parse_train(run.training, settings, state); });
  run.step = state.step;
  return run;
}

void write_pytorch_folder(const fs::path& to, const RunCheckpoint& run,
                          const PytorchSource& source) {
  RunSettings settings;
  TrainState state;
  if (!run.training.empty()) parse_train(run.training, settings, state);
  refuse(pytorch_lacks(run.model.config));
  refuse(pytorch_lacks(settings));
  int separator = -1;
  if (run.model.config.tells_sentences() && run.tokenizer != kNoTokenizer) {
    const Vocabulary vocabulary = Vocabulary::from_json(run.tokenizer);
    separator = separator_of(run.model.config, &vocabulary);
  }
  OrderedJson json = {{"format", "headlight pytorch"},
                      {"version", 1},
                      {"step", run.step},
                      {"separator", separator}};
  tell_parameters(run.model, settings, json);
  PytorchData data;
  if (source.batches) {
    data = pytorch_data(source.task.get(), *source.batches, source.steps * settings.accumulation);
    json["data"] = data.about;
  }
  const std::string about = json_text(json);
  CheckpointParts parts;
  parts.model = run.model;
  parts.tokenizer = run.tokenizer;
  parts.target_tokenizer = run.target_tokenizer;
  parts.weights = array_views(run.weights);
  if (!run.training.empty()) parts.training = {run.training, array_views(run.optimizer)};
  parts.beside = {{"model.py", exported_file("model.py")},
                  {"train.py", exported_file("train.py")},
                  {"README.md", exported_file("README.md")},
                  {"pytorch.json", about}};
  if (source.batches) parts.beside.push_back({"data.safetensors", data.numbers});
  expect_no_run(to);
  save_checkpoint(to, parts);
}

}  // namespace headlight
