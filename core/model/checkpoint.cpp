#include "core/model/checkpoint.h"

#include <cstring>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/io/atomic_file.h"
#include "core/io/atomic_folder.h"
#include "core/io/file_steps.h"
#include "core/io/plain_file.h"
#include "core/io/safetensors.h"
#include "core/model/own_folder.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxText = std::uint64_t{1} << 28;     // bytes of a .json
constexpr std::uint64_t kMaxNumbers = std::uint64_t{1} << 34;  // bytes of a .safetensors

std::map<std::string, std::string> metadata() {
  return {{"producer", "headlight " HEADLIGHT_VERSION}};
}

// "(4, 64, 16)"
std::string numbers_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (const std::int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + ")";
}

template <class Read>
auto in_file(const fs::path& path, Read read) {
  if (!is_there(path)) throw Error(Message{"checkpoint.missing_file", {{"path", shown(path)}}});
  return naming_file(path, read);
}

std::string read_text(const fs::path& path) {
  return in_file(path, [&] { return PlainFile(path, kMaxText).all(); });
}

void expect_float(const std::string& name, const SafetensorsEntry& entry) {
  if (entry.dtype == "F32" || entry.dtype == "F16") return;
  throw Error(Message{"checkpoint.dtype", {{"name", name}, {"dtype", entry.dtype}}});
}

// The tensor that `spec` names, checked.
const SafetensorsEntry& expect_tensor(const SafetensorsFile& file, const TensorSpec& spec) {
  const std::string& name = spec.file_name;
  const auto found = file.entries.find(name);
  if (found == file.entries.end()) {
    throw Error(
        Message{"checkpoint.tensor_missing", {{"name", name}, {"shape", shape_text(spec.axes)}}});
  }
  const SafetensorsEntry& entry = found->second;
  expect_float(name, entry);
  std::vector<std::int64_t> shape;
  for (const Axis& axis : spec.axes) shape.push_back(axis.size);
  if (entry.shape != shape) {
    throw Error(Message{"checkpoint.shape",
                        {{"name", name},
                         {"expected", shape_text(spec.axes)},
                         {"shape", numbers_text(entry.shape)}}});
  }
  return entry;
}

// The file has these tensors and no others.
void expect_tensors(const SafetensorsFile& file, std::span<const TensorSpec> expected) {
  std::set<std::string> known;
  for (const TensorSpec& spec : expected) {
    (void)expect_tensor(file, spec);
    known.insert(spec.file_name);
  }
  for (const auto& entry : file.entries) {
    if (known.contains(entry.first)) continue;
    throw Error(Message{"checkpoint.tensor_unknown", {{"name", entry.first}}});
  }
}

std::vector<Tensor> weights_of(const SafetensorsFile& file, std::span<const TensorSpec> expected) {
  expect_tensors(file, expected);
  std::vector<Tensor> weights;
  for (const TensorSpec& spec : expected) {
    const SafetensorsEntry& entry = expect_tensor(file, spec);
    const std::string_view bytes = file.data_of(entry);
    Tensor& tensor = weights.emplace_back();
    tensor.name = spec.name;
    tensor.axes = spec.axes;
    if (entry.dtype == "F16") {
      const std::vector<float> cells = tensor_as_float(file, spec.file_name);
      tensor.data.assign(cells.begin(), cells.end());
      continue;
    }
    tensor.data.resize(bytes.size() / sizeof(float));
    if (!bytes.empty()) std::memcpy(tensor.data.data(), bytes.data(), bytes.size());
  }
  return weights;
}

std::vector<StoredArray> read_optimizer(const fs::path& path) {
  const SafetensorsFile file = read_safetensors(path, kMaxNumbers);
  std::vector<StoredArray> arrays;
  for (const auto& entry : file.entries) {
    expect_float(entry.first, entry.second);
    arrays.push_back({entry.first, entry.second.shape, tensor_as_float(file, entry.first)});
  }
  return arrays;
}

}  // namespace

void save_checkpoint(const fs::path& folder, const CheckpointParts& parts) {
  expect_replaceable(folder);
  std::map<std::string, std::string> names;
  for (TensorSpec& spec : program_parameters(parts.model))
    names.emplace(std::move(spec.name), std::move(spec.file_name));
  std::vector<NamedArray> weights = parts.weights;
  for (NamedArray& array : weights) {
    const auto found = names.find(array.name);
    if (found != names.end()) array.name = found->second;
  }
  const std::string config = model_text(parts.model),
                    model = to_safetensors(weights, metadata(), parts.storage);
  std::vector<FolderFile> files = {
      {kConfigFile, config}, {kWeightsFile, model}, {kTokenizerFile, parts.tokenizer}};
  if (!parts.target_tokenizer.empty())
    files.push_back({kTargetTokenizerFile, parts.target_tokenizer});
  std::string optimizer;
  if (parts.training) {
    optimizer = to_safetensors(parts.training->optimizer, metadata());
    files.push_back({kOptimizerFile, optimizer});
    files.push_back({kTrainFile, parts.training->json});
  }
  std::vector<std::string_view> own(kCheckpointFiles.begin(), kCheckpointFiles.end());
  for (const FolderFile& file : parts.beside) own.push_back(file.name);
  files.insert(files.end(), parts.beside.begin(), parts.beside.end());
  write_folder_atomic(folder, files, own);
}

std::vector<NamedArray> array_views(std::span<const StoredArray> arrays) {
  std::vector<NamedArray> views;
  for (const StoredArray& array : arrays) {
    views.push_back({array.name, array.shape, std::span<const float>(array.data)});
  }
  return views;
}

std::vector<TensorSpec> program_parameters(const ModelFile& model) {
  const Program program = build_program(model.config, shape_of(model));
  std::vector<TensorSpec> parameters;
  for (const TensorSpec& spec : program.tensors) {
    if (spec.kind == TensorKind::kParameter) parameters.push_back(spec);
  }
  return parameters;
}

Checkpoint load_checkpoint(const fs::path& folder, bool training, ParameterList parameters) {
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored)) {
    throw Error(Message{"checkpoint.no_folder", {{"path", shown(folder)}}});
  }
  Checkpoint checkpoint;
  const fs::path config = folder / kConfigFile, weights = folder / kWeightsFile;
  std::vector<TensorSpec> expected;
  in_file(config, [&] {
    checkpoint.model = parse_model(PlainFile(config, kMaxText).all());
    expected = parameters(checkpoint.model);
  });
  checkpoint.weights = in_file(weights, [&] {
    expect_tensors(read_safetensors_header(weights, kMaxNumbers), expected);
    return weights_of(read_safetensors(weights, kMaxNumbers), expected);
  });
  checkpoint.tokenizer = read_text(folder / kTokenizerFile);
  if (fs::exists(folder / kTargetTokenizerFile, ignored))
    checkpoint.target_tokenizer = read_text(folder / kTargetTokenizerFile);
  const fs::path optimizer = folder / kOptimizerFile, train = folder / kTrainFile;
  if (!training || (!fs::exists(optimizer, ignored) && !fs::exists(train, ignored))) {
    return checkpoint;
  }
  checkpoint.training.emplace();
  checkpoint.training->json = read_text(train);
  checkpoint.training->optimizer = in_file(optimizer, [&] { return read_optimizer(optimizer); });
  return checkpoint;
}

Checkpoint parse_checkpoint(const CheckpointTexts& texts, ParameterList parameters) {
  Checkpoint checkpoint;
  const fs::path folder(texts.name);
  std::vector<TensorSpec> expected;
  naming_file(folder / kConfigFile, [&] {
    checkpoint.model = parse_model(texts.config);
    expected = parameters(checkpoint.model);
  });
  checkpoint.weights = naming_file(folder / kWeightsFile, [&] {
    return weights_of(parse_safetensors(std::string(texts.weights)), expected);
  });
  checkpoint.tokenizer = texts.tokenizer;
  return checkpoint;
}

}  // namespace headlight
