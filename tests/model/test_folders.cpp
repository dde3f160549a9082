// Model folders of other programs: their numbers, and what is said of folders that are not right.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/io/atomic_file.h"
#include "core/io/file_steps.h"
#include "core/model/folders/folder.h"
#include "core/run/runner.h"
#include "core/train/predictor.h"
#include "tests/support/error_text.h"
#include "tests/support/folder_checks.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A copy of one of the folders, to be spoiled.
class Copy {
 public:
  explicit Copy(const char* name) {
    std::string path = (fs::temp_directory_path() / "headlight_folder_XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
    for (const auto& entry : fs::directory_iterator(reference_folder(name)))
      fs::copy(entry.path(), path_ / entry.path().filename());
  }
  ~Copy() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  fs::path operator/(const char* file) const { return path_ / file; }
  const fs::path& path() const { return path_; }
  std::string problem() const {
    return error_of([&] { (void)load_model(path_.string()); });
  }
  /// Another value of a key of config.json; null: without it.
  void set(const char* key, Json value) const {
    Json json = Json::parse(read_file(path_ / "config.json", 1 << 20));
    if (value.is_null())
      json.erase(key);
    else
      json[key] = std::move(value);
    write_file_atomic(path_ / "config.json", json.dump());
  }
  std::string problem_with(const char* key, Json value) const {
    const std::string before = read_file(path_ / "config.json", 1 << 20);
    set(key, std::move(value));
    std::string said = problem();
    write_file_atomic(path_ / "config.json", before);
    return said;
  }
  /// The weights file with some of its tensors changed.
  template <class F>
  void change_weights(F&& change) const {
    const SafetensorsFile file = read_safetensors(path_ / "model.safetensors", 1 << 24);
    std::map<std::string, std::pair<std::vector<std::int64_t>, std::vector<float>>> all;
    for (const auto& [name, entry] : file.entries)
      all[name] = {entry.shape, tensor_as_float(file, name)};
    change(all);
    std::vector<NamedArray> arrays;
    for (const auto& [name, one] : all)
      arrays.push_back({name, one.first, std::span<const float>(one.second)});
    write_file_atomic(path_ / "model.safetensors", to_safetensors(arrays));
  }

  static fs::path reference_folder(const char* name) {
    return fs::path(HEADLIGHT_TEST_DIR) / "reference" / "folders" / name;
  }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("folders: every number of each type is that of an independent implementation") {
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = make_backend(name, 2);
    for (const auto& folder : reference_folders()) check_folder(folder, *backend);
  }
}

TEST_CASE("folders: decoders go on as the independent implementation does") {
  int tried = 0;
  for (const fs::path& folder : reference_folders()) {
    const auto model = load_model(folder.string());
    const SafetensorsFile expected = read_safetensors(folder / "expected.safetensors", 1u << 26);
    if (!expected.entries.contains("greedy") || model->file.config.form != ModelForm::kTokens)
      continue;
    CAPTURE(folder.filename().string());
    const std::vector<int> greedy = ids_of(expected, "greedy");
    SamplingOptions sampling;
    sampling.temperature = 0;
    std::vector<int> all = ids_of(expected, "token_ids");
    Generator generator(model, all, sampling, 1, 2);
    for (std::size_t i = 0; i < greedy.size(); ++i) (void)generator.next();
    all.insert(all.end(), greedy.begin(), greedy.end());
    CHECK(generator.ids() == all);
    ++tried;
  }
  CHECK(tried >= 10);
}

TEST_CASE("folders: without a tokenizer the ids of a sentence are the whole row") {
  Document doc;
  doc.model = Copy::reference_folder("bert-classifier").string();
  doc.sentence = "1 5 7 3";
  const RunResult result = Runner().run(doc, *make_reference_backend());
  REQUIRE_MESSAGE(result.trace, result.problem);
  CHECK(result.trace->input().ids == std::vector{1, 5, 7, 3});
}

TEST_CASE("folders: an unknown type or value is refused by its name") {
  const Copy gpt2("gpt2"), llama("llama"), bert("bert"), neox("gpt_neox"), neo("gpt_neo"),
      marian("marian");
  CHECK(has(gpt2.problem_with("model_type", "mamba"), "mamba"));
  CHECK(has(gpt2.problem_with("model_type", "mamba"), "gpt2, gpt_neo, gpt_neox, llama"));
  CHECK(has(gpt2.problem_with("activation_function", "quick_gelu"), "activation_function"));
  CHECK(has(gpt2.problem_with("scale_attn_by_inverse_layer_idx", true),
            "scale_attn_by_inverse_layer_idx"));
  CHECK(has(llama.problem_with("rope_scaling", {{"type", "yarn"}, {"factor", 2}}),
            "rope_scaling.type"));
  CHECK(has(llama.problem_with("hidden_act", "gelu"), "hidden_act"));
  CHECK(has(bert.problem_with("position_embedding_type", "relative_key"), "relative_key"));
  CHECK(has(neox.problem_with("hidden_act", "tanh"), "hidden_act"));
  CHECK(has(neo.problem_with("attention_types", Json::array({Json::array({"global", 2})})),
            "attention_types"));
  CHECK(has(marian.problem_with("normalize_before", true), "normalize_before"));
}

TEST_CASE("folders: sizes that no model has are refused before anything is made") {
  const Copy gpt2("gpt2"), llama("llama");
  CHECK(has(gpt2.problem_with("n_head", 0), "n_head"));
  CHECK(has(gpt2.problem_with("n_layer", 1000000000), "n_layer"));
  CHECK(has(gpt2.problem_with("n_embd", -4), "n_embd"));
  CHECK(has(gpt2.problem_with("n_embd", "wide"), "n_embd"));
  CHECK(has(gpt2.problem_with("vocab_size", nullptr), "vocab_size"));
  CHECK(has(llama.problem_with("rms_norm_eps", 0), "rms_norm_eps"));
  CHECK(has(error_of([&] { (void)ModelFolder(gpt2.path()).load(1000); }), "memory"));
}

TEST_CASE("folders: a tensor that is missing, of another shape or of no number is named") {
  const Copy gpt2("gpt2");
  const std::string name = "h.1.mlp.c_fc.weight";
  gpt2.change_weights([&](auto& all) { all[name].first = {28, 16}; });
  CHECK(has(gpt2.problem(), name));
  CHECK(has(gpt2.problem(), "(16, 28)"));
  CHECK(has(gpt2.problem(), "(28, 16)"));
  gpt2.change_weights([&](auto& all) { all.erase(name); });
  CHECK(has(gpt2.problem(), name));
  CHECK(has(gpt2.problem(), "(16, 28)"));
  const Copy odd("gpt2");
  odd.change_weights([&](auto& all) { all["wpe.weight"].second[3] = std::nanf(""); });
  CHECK(load_model(odd.path().string())->not_finite == std::vector<std::string>{"pos_embed.W_pos"});
}

TEST_CASE("folders: missing files and files that can run code are told of") {
  const Copy whole("gpt2");
  fs::remove(whole / "model.safetensors");
  CHECK(has(whole.problem(), "model.safetensors"));
  write_file_atomic(whole / "pytorch_model.bin", "PK");
  CHECK(has(whole.problem(), "pytorch_model.bin"));
  CHECK(has(whole.problem(), "run any code"));
  fs::remove(whole / "config.json");
  CHECK(has(whole.problem(), "config.json"));
  // A part that the index names, and one that lies elsewhere.
  const Copy parts("gpt2");
  write_file_atomic(parts / "model.safetensors.index.json",
                    R"({"weight_map": {"wte.weight": "model-00001-of-00002.safetensors"}})");
  fs::remove(parts / "model.safetensors");
  CHECK(has(parts.problem(), "model-00001-of-00002.safetensors"));
  write_file_atomic(parts / "model.safetensors.index.json",
                    R"({"weight_map": {"wte.weight": "../../etc/passwd"}})");
  CHECK(has(parts.problem(), "../../etc/passwd"));
  // Links that lead to each other.
  const Copy loop("gpt2");
  fs::remove(loop / "model.safetensors");
  fs::create_symlink(loop / "b", loop / "model.safetensors");
  fs::create_symlink(loop / "model.safetensors", loop / "b");
  CHECK(loop.problem() != "");
  // A file that ends early.
  const Copy cut("gpt2");
  fs::resize_file(cut / "model.safetensors", fs::file_size(cut / "model.safetensors") - 8);
  CHECK(has(cut.problem(), "model.safetensors"));
}

TEST_CASE("folders: ids that are no rows of the table are refused with their place") {
  const auto model = load_model(Copy::reference_folder("gpt2").string());
  const std::vector<int> ids = {1, 2, 40};
  CHECK(has(error_of([&] { check_ids(*model, ids); }), "position 2"));
  CHECK(has(error_of([&] { check_ids(*model, ids); }), "from 0 to 39"));
  check_ids(*model, std::vector<int>{0, 39});
}

}  // namespace headlight
