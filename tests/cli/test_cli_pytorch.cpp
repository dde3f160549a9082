// The folders for PyTorch of every preset and every bundled model: their logits by model.py, or the
// name of what is not in it.
#include <cstdlib>
#include <fstream>

#include "core/base/error.h"
#include "core/model/bundled.h"
#include "core/model/init.h"
#include "core/model/presets.h"
#include "core/run/run_trace.h"
#include "core/train/pytorch/pytorch_folder.h"
#include "core/train/pytorch/pytorch_lacks.h"
#include "test_paths.h"
#include "tests/cli/child.h"
#include "tests/model/worded_folder.h"

namespace headlight::test_cli_pytorch {

using namespace headlight;
using namespace headlight::test;

namespace {

constexpr int kVocab = 12, kTokens = 7, kSources = 5;

std::shared_ptr<Model> small(const Preset& preset) {
  auto model = std::make_shared<Model>();
  Config c = miniature(preset);
  c.seed = 3;
  model->file = {c, kVocab, kTokens, "text", "next-token"};
  if (c.form == ModelForm::kTranslate) model->file.source = kSources;
  if (c.form == ModelForm::kClasses) model->file.classes = {"next", "other"};
  std::vector<std::string> tokens = {"[SEP]", "[CLS]"};
  while (std::ssize(tokens) < kVocab) tokens.push_back("w" + std::to_string(tokens.size()));
  model->vocabulary = std::make_shared<const Vocabulary>(TextCut::kWords, tokens);
  // Biases and norms are drawn too: at 0 and 1 a forgotten one would not be missed.
  model->weights = initial_parameters(build_program(c, shape_of(model->file)), Init::kKaiming, 3);
  for (Tensor& tensor : model->weights)
    for (std::size_t i = 0; i < tensor.data.size(); ++i)
      tensor.data[i] += 0.1f * bell(hash_text(tensor.name), i);
  return model;
}

std::vector<float> ids_of(std::vector<int>& ids, std::int64_t count, std::int64_t vocab) {
  ids.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int>(3 * i % static_cast<std::size_t>(vocab));
  return {ids.begin(), ids.end()};
}

// Ids and the logits that this program makes of them, beside the folder.
void write_expected(const std::shared_ptr<Model>& model, const std::filesystem::path& to) {
  RunShape shape = shape_of(model->file);
  shape.separator = separator_of(model->file.config, model->vocabulary.get());
  RunInput input;
  const std::vector<float> ids = ids_of(input.ids, shape.positions, shape.vocab),
                           source = ids_of(input.source_ids, shape.source, shape.vocab);
  input.tokens.resize(ids.size());
  input.source_tokens.resize(source.size());
  ModelParameters parameters;
  parameters.use(model);
  const auto trace =
      run_trace(std::make_shared<const Program>(build_program(model->file.config, shape)), input,
                parameters, *make_backend("reference", 1));
  const TensorView logits = trace->tensor("logits");
  std::vector<NamedArray> arrays = {
      {"ids", {1, shape.positions}, std::span(ids)},
      {"logits", {logits.size()}, std::span(logits.data, static_cast<std::size_t>(logits.size()))}};
  if (shape.source > 0) arrays.push_back({"source", {1, shape.source}, std::span(source)});
  const std::string bytes = to_safetensors(arrays);
  std::ofstream(to, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("PyTorch: every preset and every bundled model has its logits there, or is refused") {
  const Folder folder;
  std::vector<std::pair<std::string, std::shared_ptr<Model>>> models;
  for (const Preset& preset : all_presets())
    models.emplace_back(std::string(preset.name), small(preset));
  for (const BundledModel& bundled : bundled_models())
    models.emplace_back(std::string(bundled.name), std::make_shared<Model>(*load_model(bundled)));
  std::map<std::string, std::string> refused;
  std::filesystem::create_directory(folder / "all");
  for (const auto& [name, model] : models) {
    const std::string to = folder / ("all/" + name);
    refused[name] = pytorch_lacks(model->file.config);
    if (refused[name].empty()) {
      refused.erase(name);
      write_pytorch_folder(to, checkpoint_of(*model));
      write_expected(model, to + "/expected.safetensors");
      CHECK(load_checkpoint(to).weights.size() == model->weights.size());
      continue;
    }
    std::string said;
    try {
      write_pytorch_folder(to, checkpoint_of(*model));
    } catch (const UsageError& error) {
      said = error.what();
    }
    CHECK_MESSAGE(contains(said, refused[name]), said);
    CHECK_FALSE(std::filesystem::exists(to));
  }
  CHECK(refused == std::map<std::string, std::string>{{"transformer-xl", "--memory"}});
  const std::string command =
      "bash " HEADLIGHT_TEST_DIR "cli/run_code.sh pytorch_logits.py " + (folder / "all");
  const int status = std::system(command.c_str());
  const bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == 77;
  if (skipped) MESSAGE("logits are not compared: no PyTorch here");
  CHECK((skipped || status == 0));
}

TEST_CASE("PyTorch: rows of ids are promised to what learns the next token alone") {
  const Folder folder;
  const auto said = [&](const char* model) {
    const std::string out = folder / model;
    return run_well({"convert", reference_folder(model), "--to", "pytorch", "--out", out}).err;
  };
  CHECK(contains(said("gpt2"), "on rows of ids that it is given"));
  for (const char* model : {"bert", "bert-classifier", "bart"})
    CHECK(contains(said(model), "cannot be trained there"));
}

TEST_CASE("PyTorch: what a model or a run has that is not there is named") {
  Config c;
  CHECK(pytorch_lacks(c).empty());
  c.memory = 4;
  c.mask.kind = MaskKind::kFree;
  CHECK(pytorch_lacks(c) == "--memory, --mask free");
  RunSettings settings;
  CHECK(pytorch_lacks(settings).empty());
  settings.storage = NumberFormat::kBfloat16;
  CHECK(pytorch_lacks(settings) == "--storage");
}

}  // namespace headlight::test_cli_pytorch
