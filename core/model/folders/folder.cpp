#include "core/model/folders/folder.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/thread_pool.h"
#include "core/graph/program_cost.h"
#include "core/io/atomic_file.h"
#include "core/io/file_steps.h"
#include "core/model/checkpoint.h"
#include "core/model/folders/folder_type.h"
#include "core/model/folders/mapped_safetensors.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestJson = std::uint64_t{1} << 26;  // bytes
constexpr std::size_t kMostShards = 1000;
constexpr int kFolderThreads = 2;

template <class Read>
auto naming_file(const fs::path& path, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    if (std::string(error.what()).find(path.string()) != std::string::npos) throw;
    throw Error(Message{"checkpoint.in_file", {{"path", shown(path)}}}.with(error.message()));
  }
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// ---- which files ----

// The parts that an index names, in the order of their names.
std::vector<fs::path> shards_of(const fs::path& index) {
  std::set<std::string> names;
  naming_file(index, [&] {
    const FolderConfig json(read_file(index, kLargestJson));
    const OrderedJson& map = json.at("weight_map");
    if (!map.is_object()) json.refuse("weight_map", "{\"name\": \"file\", …}");
    for (const auto& entry : map.items()) {
      const std::string name = entry.value().is_string() ? entry.value().get<std::string>() : "";
      // A part lies beside its index, and nowhere else.
      if (name.empty() || fs::path(name).filename() != name || names.size() > kMostShards)
        throw Error(Message{"folder.shard_name", {{"name", shown(name)}}});
      names.insert(name);
    }
  });
  std::vector<fs::path> paths;
  for (const std::string& name : names) paths.push_back(index.parent_path() / name);
  return paths;
}

std::vector<fs::path> weight_files(const fs::path& folder) {
  const fs::path one = folder / "model.safetensors",
                 index = folder / "model.safetensors.index.json";
  if (is_there(one)) return {one};
  if (is_there(index)) {
    std::vector<fs::path> parts = shards_of(index);
    for (const fs::path& part : parts) {
      if (!is_there(part))
        throw Error(Message{"folder.no_shard", {{"path", shown(part)}, {"index", shown(index)}}});
    }
    return parts;
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".bin" || ending == ".pt" || ending == ".pth" || ending == ".ckpt")
      throw Error(Message{"folder.pickle", {{"path", shown(entry.path())}}});
  }
  throw Error(Message{"folder.no_weights", {{"path", shown(one)}}});
}

// ---- the weights ----

struct Place {
  std::size_t file = 0;
  const SafetensorsEntry* entry = nullptr;
};

class FolderWeights {
 public:
  FolderWeights(const std::vector<fs::path>& paths, const std::vector<std::string_view>& prefixes)
      : prefixes_(prefixes) {
    for (const fs::path& path : paths)
      naming_file(path, [&] { files_.push_back(std::make_unique<MappedSafetensors>(path)); });
    for (std::size_t f = 0; f < files_.size(); ++f) {
      for (const auto& [name, entry] : files_[f]->entries())
        places_.emplace(name, Place{f, &entry});
    }
  }

  const Place* find(std::string_view name) const {
    const auto at = places_.find(name);
    if (at != places_.end()) return &at->second;
    for (const std::string_view prefix : prefixes_) {
      const auto with = places_.find(std::string(prefix) + std::string(name));
      if (with != places_.end()) return &with->second;
    }
    return nullptr;
  }

  TensorShapes shapes() const {
    return [this](std::string_view name) -> const std::vector<std::int64_t>* {
      const Place* place = find(name);
      return place ? &place->entry->shape : nullptr;
    };
  }

  double bytes() const {
    double all = 0;
    for (const auto& file : files_) all += static_cast<double>(file->size());
    return all;
  }

  // The parameters, checked first, each in its own axes.
  std::vector<Tensor> take(const std::vector<TensorSpec>& specs, std::span<const WeightRow> rows);

 private:
  struct Taken {
    const MappedSafetensors* file = nullptr;
    const SafetensorsEntry* entry = nullptr;
    StridedSource from;
  };
  Taken check(const TensorSpec&, std::span<const WeightRow>) const;

  std::vector<std::unique_ptr<MappedSafetensors>> files_;
  std::map<std::string, Place, std::less<>> places_;
  std::vector<std::string_view> prefixes_;
};

std::string sizes_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (const std::int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + ")";
}

FolderWeights::Taken FolderWeights::check(const TensorSpec& spec,
                                          std::span<const WeightRow> rows) const {
  const std::optional<WeightSource> source = source_of(rows, spec);
  if (!source)
    throw Error(
        Message{"folder.no_source", {{"name", spec.name}, {"shape", shape_text(spec.axes)}}});
  const StridedSource from = strided_source(*source, spec.axes, spec.role);
  const Place* place = find(source->name);
  if (!place) {
    throw Error(Message{"folder.tensor_missing",
                        {{"name", source->name}, {"shape", sizes_text(from.shape)}}});
  }
  const SafetensorsEntry& entry = *place->entry;
  const MappedSafetensors& file = *files_[place->file];
  return naming_file(file.path(), [&]() -> Taken {
    if (entry.dtype != "F32" && entry.dtype != "F16" && entry.dtype != "BF16")
      throw Error(Message{"folder.dtype", {{"name", source->name}, {"dtype", entry.dtype}}});
    if (entry.shape != from.shape) {
      throw Error(Message{"folder.shape",
                          {{"name", source->name},
                           {"expected", sizes_text(from.shape)},
                           {"shape", sizes_text(entry.shape)}}});
    }
    return {&file, &entry, from};
  });
}

std::vector<Tensor> FolderWeights::take(const std::vector<TensorSpec>& specs,
                                        std::span<const WeightRow> rows) {
  std::vector<Taken> taken;
  for (const TensorSpec& spec : specs) taken.push_back(check(spec, rows));
  std::vector<Tensor> weights(specs.size());
  ThreadPool pool(kFolderThreads);
  pool.parallel_for(static_cast<std::int64_t>(specs.size()), [&](std::int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    const TensorSpec& spec = specs[at];
    Tensor& tensor = weights[at];
    tensor.name = spec.name;
    tensor.axes = spec.axes;
    tensor.data.resize(static_cast<std::size_t>(cell_count(spec.axes)));
    (void)copy_weights(taken[at].file->bytes(*taken[at].entry), taken[at].entry->dtype,
                       taken[at].from, spec.axes, tensor.data.data());
  });
  for (const auto& file : files_) file->check_unchanged();
  return weights;
}

std::shared_ptr<const Vocabulary> read_tokens(const fs::path&, std::int64_t rows) {
  std::vector<std::string> numbers;
  for (std::int64_t id = 0; id < rows; ++id) numbers.push_back(std::to_string(id));
  return std::make_shared<const Vocabulary>(TextCut::kWords, std::move(numbers));
}

}  // namespace

bool is_foreign_folder(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  if (!is_there(path)) return is_there(folder / "model.safetensors.index.json");
  try {
    return !FolderConfig(read_file(path, kLargestJson)).has("format");
  } catch (const Error&) {
    return false;
  }
}

Model load_folder(const fs::path& folder, double memory) {
  const fs::path path = folder / "config.json";
  if (!is_there(path)) throw Error(Message{"folder.no_config", {{"path", shown(path)}}});
  const FolderConfig config =
      naming_file(path, [&] { return FolderConfig(read_file(path, kLargestJson)); });
  const FolderType& type =
      naming_file(path, [&]() -> const FolderType& { return folder_type(config); });
  FolderWeights weights(weight_files(folder), type.prefixes);
  Model model;
  std::vector<TensorSpec> specs;
  naming_file(path, [&] {
    model.file = type.read(config, weights.shapes());
    validate(model.file.config);
    const Config& c = model.file.config;
    if (c.form == ModelForm::kTokens && c.mask.is_causal()) model.file.kind = "next-token";
    model.file.task = std::string(type.model_type);
    specs = program_parameters(model.file);
  });
  double needed = 0;
  for (const TensorSpec& spec : specs) needed += 4 * static_cast<double>(cell_count(spec.axes));
  if (needed > memory)
    throw Error(Message{"folder.memory",
                        {{"path", shown(folder)},
                         {"needed", bytes_text(needed)},
                         {"available", bytes_text(memory)}}});
  model.weights = weights.take(specs, type.rows(config, weights.shapes()));
  model.vocabulary = read_tokens(folder, model.file.vocab);
  return model;
}

}  // namespace headlight
