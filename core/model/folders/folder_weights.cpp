#include "core/model/folders/folder_weights.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "core/base/thread_pool.h"
#include "core/io/plain_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestIndex = std::uint64_t{1} << 26;  // bytes
constexpr std::size_t kMostShards = 1000;
constexpr int kFolderThreads = 2;

// The parts that an index names, in the order of their names.
std::vector<fs::path> shards_of(const fs::path& index) {
  std::set<std::string> names;
  naming_file(index, [&] {
    const FolderConfig json(PlainFile(index, kLargestIndex).all());
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

}  // namespace

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

FolderWeights::FolderWeights(const std::vector<fs::path>& paths,
                             std::vector<std::string_view> prefixes)
    : prefixes_(std::move(prefixes)) {
  for (const fs::path& path : paths)
    naming_file(path, [&] { files_.push_back(std::make_unique<MappedSafetensors>(path)); });
  for (std::size_t f = 0; f < files_.size(); ++f) {
    for (const auto& [name, entry] : files_[f]->entries())
      places_.emplace(name, Place{f, &entry, name});
  }
}

const FolderWeights::Place* FolderWeights::find(std::string_view name) const {
  const auto at = places_.find(name);
  if (at != places_.end()) return &at->second;
  for (const std::string_view prefix : prefixes_) {
    const auto with = places_.find(std::string(prefix) + std::string(name));
    if (with != places_.end()) return &with->second;
  }
  return nullptr;
}

TensorShapes FolderWeights::shapes() const {
  return [this](std::string_view name) -> const std::vector<std::int64_t>* {
    const Place* place = find(name);
    return place ? &place->entry->shape : nullptr;
  };
}

double FolderWeights::bytes() const {
  double all = 0;
  for (const auto& file : files_) all += static_cast<double>(file->size());
  return all;
}

std::string FolderWeights::number_types() const {
  std::set<std::string> types;
  for (const auto& one : places_) types.insert(one.second.entry->dtype);
  std::string text;
  for (const std::string& type : types) text += (text.empty() ? "" : ", ") + type;
  return text;
}

std::optional<std::string_view> FolderWeights::bytes_of(std::string_view name) const {
  const Place* place = find(name);
  if (!place) return std::nullopt;
  return files_[place->file]->bytes(*place->entry);
}

namespace {

void check_numbers(std::string_view name, const SafetensorsEntry& entry) {
  if (entry.dtype != "F32" && entry.dtype != "F16" && entry.dtype != "BF16")
    throw Error(Message{"folder.dtype", {{"name", std::string(name)}, {"dtype", entry.dtype}}});
}

}  // namespace

std::optional<std::vector<float>> FolderWeights::numbers_of(
    std::string_view name, const std::vector<std::int64_t>& shape) const {
  const Place* place = find(name);
  if (!place || place->entry->shape != shape) return std::nullopt;
  check_numbers(name, *place->entry);
  std::vector<Axis> axes;
  for (const std::int64_t size : shape) axes.push_back({"", size});
  std::vector<float> numbers(static_cast<std::size_t>(cell_count(axes)));
  const StridedSource from = strided_source({std::string(name)}, axes, Role::kPositionTable);
  copy_weights(files_[place->file]->bytes(*place->entry), place->entry->dtype, from, axes,
               numbers.data());
  return numbers;
}

std::vector<std::string> FolderWeights::unused(std::span<const TensorSpec> specs,
                                               std::span<const WeightRow> rows) const {
  std::set<std::string_view> used;
  for (const TensorSpec& spec : specs) {
    const std::optional<WeightSource> source = source_of(rows, spec, shapes());
    const Place* place = source ? find(source->name) : nullptr;
    if (place) used.insert(place->name);
  }
  std::vector<std::string> others;
  for (const auto& one : places_) {
    if (!used.contains(one.first)) others.push_back(one.first);
  }
  return others;
}

namespace {

std::string sizes_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (const std::int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + ")";
}

// A bias is saved as (1, n) by some.
std::vector<std::int64_t> without_leading_ones(std::vector<std::int64_t> shape, std::size_t axes) {
  while (shape.size() > axes && shape[0] == 1) shape.erase(shape.begin());
  return shape;
}

}  // namespace

FolderWeights::Taken FolderWeights::check(const TensorSpec& spec,
                                          std::span<const WeightRow> rows) const {
  const std::optional<WeightSource> source = source_of(rows, spec, shapes());
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
    check_numbers(source->name, entry);
    if (without_leading_ones(entry.shape, from.shape.size()) != from.shape) {
      throw Error(Message{"folder.shape",
                          {{"name", source->name},
                           {"expected", sizes_text(from.shape)},
                           {"shape", sizes_text(entry.shape)}}});
    }
    return {&file, &entry, from};
  });
}

void FolderWeights::check_all(std::span<const TensorSpec> specs,
                              std::span<const WeightRow> rows) const {
  for (const TensorSpec& spec : specs) (void)check(spec, rows);
}

std::vector<Tensor> FolderWeights::take(std::span<const TensorSpec> specs,
                                        std::span<const WeightRow> rows,
                                        std::vector<std::string>& not_finite,
                                        const ProgressFunction& progress) const {
  std::vector<Taken> taken;
  double all = 1, done = 0;
  for (const TensorSpec& spec : specs) {
    taken.push_back(check(spec, rows));
    all += static_cast<double>(cell_count(spec.axes));
  }
  std::mutex telling;
  const auto tell_of = [&](const TensorSpec& spec) {
    const std::lock_guard lock(telling);
    tell(progress, "progress.weights", done / all);
    done += static_cast<double>(cell_count(spec.axes));
  };
  std::vector<Tensor> weights(specs.size());
  std::vector<std::int64_t> odd(specs.size(), 0);
  ThreadPool pool(kFolderThreads);
  pool.parallel_for(static_cast<std::int64_t>(specs.size()), [&](std::int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    const TensorSpec& spec = specs[at];
    tell_of(spec);
    Tensor& tensor = weights[at];
    tensor.name = spec.name;
    tensor.axes = spec.axes;
    tensor.data.resize(static_cast<std::size_t>(cell_count(spec.axes)));
    const std::string_view bytes = taken[at].file->bytes(*taken[at].entry);
    will_read(bytes);
    odd[at] =
        copy_weights(bytes, taken[at].entry->dtype, taken[at].from, spec.axes, tensor.data.data());
    was_read(bytes);
  });
  for (const auto& file : files_) file->check_unchanged();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (odd[i] > 0) not_finite.push_back(specs[i].name);
  }
  return weights;
}

}  // namespace headlight
