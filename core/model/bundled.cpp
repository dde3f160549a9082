#include "core/model/bundled.h"

#include <filesystem>
#include <vector>

#include "core/base/error.h"
#include "core/base/similar.h"
#include "core/io/plain_file.h"
#include "core/model/model.h"

namespace headlight {

// Made by cmake/embed.cmake from assets/models: the names are NAME/config.json and the like.
std::string_view bundled_file(std::string_view name);
std::span<const std::string_view> bundled_file_names();

namespace {

std::vector<BundledModel> read_models() {
  constexpr std::string_view kWeights = "/model.safetensors";
  std::vector<BundledModel> models;
  for (const std::string_view file : bundled_file_names()) {
    if (!file.ends_with(kWeights)) continue;
    const std::string_view name = file.substr(0, file.size() - kWeights.size());
    const std::string folder = std::string(name) + "/";
    models.push_back({name, bundled_file(folder + "config.json"),
                      bundled_file(folder + "tokenizer.json"), bundled_file(folder + "recipe.json"),
                      bundled_file(file)});
  }
  return models;
}

const BundledModel* find(std::string_view name) {
  for (const BundledModel& model : bundled_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

[[noreturn]] void fail(std::string_view name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const BundledModel& model : bundled_models()) {
    names.push_back(model.name);
    list += (list.empty() ? "" : ", ") + std::string(model.name);
  }
  const Message unknown{"model.unknown",
                        {{"name", "'" + std::string(name.substr(0, 200)) + "'"}, {"list", list}}};
  throw UsageError(unknown.with(did_you_mean(name, names)));
}

}  // namespace

std::span<const BundledModel> bundled_models() {
  static const std::vector<BundledModel> kModels = read_models();
  return kModels;
}

const BundledModel& bundled_model(std::string_view name) {
  const BundledModel* found = find(name);
  if (!found) fail(name);
  return *found;
}

std::string model_ref(const std::string& typed) {
  if (typed.starts_with(kBundledRef)) {
    return std::string(kBundledRef) +
           std::string(bundled_model(std::string_view(typed).substr(kBundledRef.size())).name);
  }
  const std::filesystem::path path(typed);
  const bool named = find(typed) != nullptr;
  const bool here = is_there(named ? path / "config.json" : path);
  if (!typed.empty() && here) return typed;
  return std::string(kBundledRef) + std::string(bundled_model(typed).name);
}

}  // namespace headlight
