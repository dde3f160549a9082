// Small models to be written as folders, and what is read of them again.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/model/checkpoint.h"
#include "core/model/convert/convert.h"
#include "tests/support/error_text.h"
#include "tests/support/folder_checks.h"

namespace headlight::converting {

namespace fs = std::filesystem;

// A folder that goes away, with places for others in it.
class OutFolder {
 public:
  OutFolder() {
    std::string path = (fs::temp_directory_path() / "headlight_convert_XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~OutFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  OutFolder(const OutFolder&) = delete;
  OutFolder& operator=(const OutFolder&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

// Every weight is another number, so that none can stand for its neighbour.
inline Model own_model(const Config& config, std::vector<std::string> classes = {}) {
  Model model;
  model.ref = "bundled:of-a-test";
  model.name = "of-a-test";
  model.file.config = config;
  model.file.vocab = 11;
  model.file.context = 9;
  model.file.classes = std::move(classes);
  model.vocabulary = std::make_shared<const Vocabulary>(
      TextCut::kCharacters, std::vector<std::string>{"[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]",
                                                     "a", "b", "c", "d", " ", "."});
  std::uint64_t drawn = 0;
  for (const TensorSpec& spec : program_parameters(model.file)) {
    Tensor& tensor = model.weights.emplace_back();
    tensor.name = spec.name;
    tensor.axes = spec.axes;
    for (std::int64_t i = 0; i < cell_count(spec.axes); ++i)
      tensor.data.push_back(static_cast<float>(uniform(7, drawn++) - 0.5));
  }
  return model;
}

inline std::vector<float> logits_of(const std::shared_ptr<const Model>& model, std::vector<int> ids,
                                    std::vector<int> source = {}) {
  RunInput input;
  input.ids = std::move(ids);
  input.source_ids = std::move(source);
  input.tokens.resize(input.ids.size());
  input.source_tokens.resize(input.source_ids.size());
  RunShape shape = shape_of(model->file);
  shape.positions = std::ssize(input.ids);
  shape.context = model->file.context;
  shape.source = std::ssize(input.source_ids);
  shape.context_source = model->file.source;
  shape.separator = model->file.config.tells_sentences() ? 2 : -1;
  if (model->file.config.segments)
    input.segment_ids = model->file.config.tells_sentences()
                            ? segments_of(input.ids, 2)
                            : std::vector<int>(input.ids.size(), 0);
  const auto program = std::make_shared<const Program>(build_program(model->file.config, shape));
  ModelParameters parameters;
  parameters.use(model);
  const auto backend = make_backend("cpu", 2);
  const auto trace = run_trace(program, input, parameters, *backend);
  const auto cells = trace->tensor(program->logits).cells();
  return {cells.begin(), cells.end()};
}

inline std::vector<float> logits_of(const Model& model, const std::vector<int>& ids) {
  return logits_of(std::make_shared<const Model>(model), ids);
}

// What is expected: the type, and the same numbers from what was written.
inline void check_same(const Model& model, const char* to, const char* type) {
  const OutFolder place;
  CAPTURE(type);
  const ConvertedFolder made = convert_model(model, place / "out", {.to = to});
  CHECK(made.type == type);
  CHECK(made.has_tokenizer);
  const auto read = load_model((place / "out").string());
  const std::vector<int> ids = {1, 5, 7, 2, 8, 10, 5};
  // A folder has no word for fused attention, which rounds in another order.
  Model plain = model;
  plain.file.config.fused_attention = false;
  CHECK(logits_of(read, ids) == logits_of(plain, ids));
  CHECK(read->vocabulary->encode("abcd. a") == model.vocabulary->encode("abcd. a"));
}

inline std::string refusal(const Model& model, const ConvertOptions& options) {
  const OutFolder place;
  const std::string said = error_of([&] { convert_model(model, place / "out", options); });
  CHECK(!fs::exists(place / "out"));
  return said;
}

inline Config gpt2_config() {
  Config c;
  c.d_model = 12;
  c.heads = 3;
  c.d_hidden = 20;
  c.positions = PositionKind::kLearned;
  c.activation = Activation::kGeluTanh;
  c.tied_head = true;
  return c;
}

inline Config llama_config() {
  Config c = gpt2_config();
  c.heads = 4;
  c.kv_heads = 2;
  c.d_head = 6;
  c.norm = NormKind::kRms;
  c.norm_epsilon = 3e-5;
  c.positions = PositionKind::kRotary;
  c.rotary_base = 5000;
  c.activation = Activation::kSwiglu;
  c.bias = false;
  return c;
}

inline Config bert_config() {
  Config c = gpt2_config();
  c.block = BlockKind::kPostNorm;
  c.activation = Activation::kGelu;
  c.mask.kind = MaskKind::kNone;
  c.embed_norm = c.segments = c.head_transform = true;
  c.head_bias = true;
  return c;
}

inline Config bert_classifier_config() {
  Config c = bert_config();
  c.form = ModelForm::kClasses;
  c.pool = PoolKind::kFirst;
  c.pooler = Pooler::kTanh;
  c.tied_head = c.head_transform = false;
  c.head_bias.reset();
  return c;
}

template <class Change>
Config with(Config c, Change change) {
  change(c);
  return c;
}

inline fs::path reference_folder(const std::string& name) {
  return fs::path(HEADLIGHT_TEST_DIR) / "reference" / "folders" / name;
}

}  // namespace headlight::converting
