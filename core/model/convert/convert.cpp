#include "core/model/convert/convert.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/similar.h"
#include "core/io/atomic_folder.h"
#include "core/io/file_steps.h"
#include "core/model/checkpoint.h"
#include "core/model/convert/folder_writer.h"
#include "core/model/convert/tokenizer_files.h"
#include "core/model/folders/folder.h"
#include "core/model/own_folder.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// What this program writes into such folders, now or before.
constexpr std::array<std::string_view, 7> kWrittenFiles = {
    "config.json",           "model.safetensors",     "tokenizer.json", "target_tokenizer.json",
    "tokenizer_config.json", "optimizer.safetensors", "train.json"};

constexpr std::pair<NumberFormat, std::string_view> kFormatWords[] = {
    {NumberFormat::kFloat32, "f32"},
    {NumberFormat::kFloat16, "f16"},
    {NumberFormat::kBfloat16, "bf16"}};

const char* torch_type(NumberFormat format) {
  return format == NumberFormat::kFloat32   ? "float32"
         : format == NumberFormat::kFloat16 ? "float16"
                                            : "bfloat16";
}

const FolderType& type_named(std::string_view name) {
  const auto types = folder_types();
  return *std::ranges::find(types, name, &FolderType::model_type);
}

// Others have ids of their own where a config says none.
void name_special_ids(const Model& model, OrderedJson& config) {
  const auto name = [&](const char* key, Special special, std::optional<int> named) {
    const auto known = model.vocabulary->id_of(special), id = known ? known : named;
    config[key] = id ? OrderedJson(*id) : OrderedJson(nullptr);
  };
  name("bos_token_id", Special::kBegin, model.named_begin);
  name("eos_token_id", Special::kEnd, std::nullopt);
  name("pad_token_id", Special::kPad, model.named_pad);
  const std::vector<int>& ends = model.file.ends;
  if (!ends.empty())
    config["eos_token_id"] = ends.size() == 1 ? OrderedJson(ends[0]) : OrderedJson(ends);
}

ConvertedFolder write_planned(const Model& model, FolderPlan plan, const fs::path& folder,
                              const ConvertOptions& options) {
  ConvertedFolder made{std::string(plan.type->model_type)};
  made.has_tokenizer = options.tokenizer && !has_ids_alone(model);
  TokenizerFiles tokenizer;
  if (made.has_tokenizer) {
    try {
      tokenizer = tokenizer_files(model);
    } catch (const Error& error) {
      throw Error(Message{"convert.no_tokenizer"}.with(error.message()));
    }
  }
  name_special_ids(model, plan.config);
  plan.config["torch_dtype"] = torch_type(options.format);
  const std::string config = json_text(plan.config),
                    weights = folder_weights(plan, model, options.format);
  std::vector<FolderFile> files = {{"config.json", config}, {"model.safetensors", weights}};
  if (made.has_tokenizer) {
    files.push_back({"tokenizer.json", tokenizer.tokenizer});
    files.push_back({"tokenizer_config.json", tokenizer.config});
  }
  write_folder_atomic(folder, files, kWrittenFiles);
  return made;
}

// The type of a target that can say the model, or else the one that comes nearest.
struct Candidate {
  FolderPlan plan;
  std::vector<OptionDifference> unsaid;
};
Candidate best_of(const ModelFile& file, const ConvertTarget& target) {
  std::vector<Candidate> all(target.types.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].plan = plan_folder(file, type_named(target.types[i]), all[i].unsaid);
  return *std::ranges::min_element(all, {}, [](const Candidate& c) { return c.unsaid.size(); });
}

// "--positions rotary (gpt2: learned), …"
std::string list_of_options(const Candidate& candidate, bool theirs) {
  std::string list;
  for (const OptionDifference& one : candidate.unsaid) {
    list += (list.empty() ? "" : ", ") + one.option + " " + one.own;
    if (theirs)
      list += " (" + std::string(candidate.plan.type->model_type) + ": " + one.other + ")";
  }
  return list;
}

FolderPlan plan_for(const ModelFile& file, const ConvertTarget& target) {
  Candidate best = best_of(file, target);
  if (best.unsaid.empty()) return std::move(best.plan);
  throw Error(Message{"convert.cannot_say",
                      {{"type", std::string(best.plan.type->model_type)},
                       {"options", list_of_options(best, true)}}});
}

// The first target that can say the model; else Error with the reason of each.
FolderPlan first_plan(const ModelFile& file) {
  std::string reasons;
  for (const ConvertTarget& target : convert_targets()) {
    if (target.types.empty()) continue;
    Candidate best = best_of(file, target);
    if (best.unsaid.empty()) return std::move(best.plan);
    reasons += (reasons.empty() ? "" : "; ") + std::string(best.plan.type->model_type) + ": " +
               list_of_options(best, false);
  }
  throw Error(Message{"convert.none_fits", {{"reasons", reasons}}});
}

// This program's own format, of 32 or 16 bits.
ConvertedFolder write_own(const Model& model, const fs::path& folder,
                          const ConvertOptions& options) {
  if (options.format == NumberFormat::kBfloat16) throw UsageError(Message{"convert.own_bf16"});
  if (!options.tokenizer) throw UsageError(Message{"convert.own_tokenizer"});
  // What its config.json could not give back would be lost.
  if (parse_model(model_text(model.file)) != model.file)
    throw Error(Message{"convert.own_config", {{"name", model.name}}});
  const TokenizerTexts texts = tokenizer_texts(model);
  CheckpointParts parts;
  parts.model = model.file;
  parts.tokenizer = texts.tokenizer;
  parts.target_tokenizer = texts.target;
  if (options.format == NumberFormat::kFloat16) parts.storage = FloatStorage::kFloat16;
  for (const Tensor& tensor : model.weights) {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : tensor.axes) shape.push_back(axis.size);
    parts.weights.push_back({tensor.name, std::move(shape), std::span<const float>(tensor.data)});
  }
  save_checkpoint(folder, parts);
  return {"headlight", !has_ids_alone(model)};
}

const ConvertTarget& target_named(const std::string& name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const ConvertTarget& target : convert_targets()) {
    if (target.name == name) return target;
    names.push_back(target.name);
    list += (list.empty() ? "" : ", ") + std::string(target.name);
  }
  const Message unknown{"convert.unknown_target", {{"got", std::string(name)}, {"known", list}}};
  throw UsageError(unknown.with(did_you_mean(name, names)));
}

bool is_within(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

fs::path whole_path(const fs::path& path) {
  std::error_code ignored;
  const fs::path made = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  return made.has_filename() ? made : made.parent_path();
}

// Throws unless the folder may be written: nobody's files are to be replaced by a slip of the hand.
void check_folder(const std::string& ref, const fs::path& folder) {
  if (!ref.starts_with(kBundledRef)) {
    const fs::path from = whole_path(ref), to = whole_path(folder);
    if (is_within(to, from) || is_within(from, to))
      throw UsageError(Message{"convert.same_folder", {{"path", shown(folder)}}});
  }
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored) || fs::is_empty(folder, ignored)) return;
  if (!wrote_weights(folder))
    throw Error(Message{"convert.folder_taken", {{"path", shown(folder)}}});
  expect_replaceable(folder);
  expect_no_run(folder);
}

}  // namespace

std::span<const ConvertTarget> convert_targets() {
  static const std::vector<ConvertTarget> all = {
      {"gpt2", "GPT-2", {"gpt2"}},
      {"llama",
       "Llama, or Mistral or Qwen 2 where windows or biases ask for it",
       {"llama", "mistral", "qwen2"}},
      {"bert", "BERT", {"bert"}},
      {"headlight", "this program's own", {}, write_own},
      {kPytorchTarget, "PyTorch: the model, its run, and what goes on with it"}};
  return all;
}

NumberFormat number_format(std::string_view word) {
  std::string list;
  for (const auto& [format, name] : kFormatWords) {
    if (name == word) return format;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError(
      Message{"convert.unknown_format", {{"got", std::string(word)}, {"known", list}}});
}

std::string_view number_format_word(NumberFormat format) {
  for (const auto& [one, name] : kFormatWords) {
    if (one == format) return name;
  }
  return "?";
}

ConvertedFolder convert_model(const Model& model, const fs::path& folder,
                              const ConvertOptions& options) {
  std::string to = options.to;
  if (to.empty() && !model.ref.starts_with(kBundledRef) && is_foreign_folder(model.ref))
    to = "headlight";
  check_folder(model.ref, folder);
  if (to.empty()) return write_planned(model, first_plan(model.file), folder, options);
  const ConvertTarget& target = target_named(to);
  if (target.write) return target.write(model, folder, options);
  return write_planned(model, plan_for(model.file, target), folder, options);
}

}  // namespace headlight
