// Model folders of other programs: their numbers, and what is said of folders that are not right.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/io/atomic_file.h"
#include "core/io/file_steps.h"
#include "core/model/folders/folder.h"
#include "core/model/model_file.h"
#include "core/run/model_input.h"
#include "core/run/runner.h"
#include "core/run/sentence_tokens.h"
#include "core/train/predictor.h"
#include "tests/model/worded_folder.h"
#include "tests/support/error_text.h"
#include "tests/support/folder_checks.h"

namespace headlight::test_folders {
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
  void set_null(const char* key) const {
    Json json = Json::parse(read_file(path_ / "config.json", 1 << 20));
    json[key] = nullptr;
    write_file_atomic(path_ / "config.json", json.dump());
  }
  ModelFile file() const { return ModelFolder(path_).file(); }
  Config config() const { return file().config; }
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

TEST_CASE("folders: what config.json leaves out is what each type takes by itself") {
  const auto without = [](const char* name, std::initializer_list<const char*> keys) {
    const Copy copy(name);
    for (const char* key : keys) copy.set(key, nullptr);
    return copy.file();
  };
  CHECK(without("gpt2", {"layer_norm_epsilon"}).config.norm_epsilon == 1e-5);
  const Config neo = without("gpt_neo", {"layer_norm_epsilon", "window_size"}).config;
  CHECK(neo.norm_epsilon == 1e-5);
  CHECK(neo.local_window == 256);
  // A quarter of 8 features turns; attention and feed-forward stand side by side.
  const Config neox =
      without("gpt_neox", {"rotary_pct", "rotary_emb_base", "use_parallel_residual"}).config;
  CHECK(neox.rotary_width == 2);
  CHECK(neox.rotary_base == 10000);
  CHECK(neox.block == BlockKind::kParallel);
  const Config llama =
      without("llama", {"rms_norm_eps", "rope_theta", "num_key_value_heads"}).config;
  CHECK(llama.norm_epsilon == 1e-6);
  CHECK(llama.rotary_base == 10000);
  CHECK(llama.kv_heads == 4);
  CHECK(without("bert", {"layer_norm_eps"}).config.norm_epsilon == 1e-12);
  CHECK(without("roberta", {"pad_token_id"}).config.position_offset == 2);
  const Config bart = without("bart", {"normalize_embedding", "scale_embedding"}).config;
  CHECK(bart.embed_norm);
  CHECK(!bart.embed_scale);
  CHECK(!without("marian", {"scale_embedding"}).config.embed_scale);
  CHECK(without("m2m_100", {"scale_embedding"}).config.embed_scale);
  CHECK(without("m2m_100", {"pad_token_id"}).config.position_offset == 2);
  for (const char* name : {"bart", "marian", "m2m_100"})
    CHECK(without(name, {}).config.norm_epsilon == 1e-5);
  // Null is no window; a key that is missing is a long one.
  const Copy mistral("mistral"), qwen("qwen2");
  qwen.set("use_sliding_window", true);
  qwen.set("max_window_layers", 1);
  for (const Copy* each : {&mistral, &qwen}) {
    each->set("sliding_window", nullptr);
    CHECK(each->config().local_window == 4096);
    CHECK(each->config().local_layers.size() == (each == &mistral ? 2 : 1));
    each->set_null("sliding_window");
    CHECK(each->config().local_layers.empty());
  }
  const Copy scaled("llama-llama3");
  Json rope = {
      {"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 2}, {"high_freq_factor", 3}};
  scaled.set("rope_scaling", rope);
  scaled.set("max_position_embeddings", 77);
  CHECK(scaled.config().rotary_stretch() == RotaryStretch{RotaryScaling::kLlama3, 8, 2, 3, 77});
  scaled.set("original_max_position_embeddings", 55);
  CHECK(scaled.config().rotary_stretch() == RotaryStretch{RotaryScaling::kLlama3, 8, 2, 3, 55});
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"}) {
    Json less = rope;
    less.erase(key);
    CHECK(has(scaled.problem_with("rope_scaling", less), key));
  }
  CHECK(without("mistral", {"max_position_embeddings"}).context == kLargestContext);
  CHECK(without("qwen2", {"max_position_embeddings"}).context == 32768);
  const Copy heads("mistral");  // which has 4
  heads.set("num_key_value_heads", nullptr);
  CHECK(has(heads.problem(), "8 heads of keys and values"));
}

TEST_CASE("folders: the same under another name, or in another place") {
  const auto backend = make_reference_backend();
  const auto rotary = [](const Copy& copy, double base, int width) {
    CHECK(copy.config().rotary_base == base);
    CHECK(copy.config().rotary_width == width);
  };
  const Copy neox("gpt_neox"), llama("llama"), linear("llama-linear"), gpt2("gpt2"),
      apart("marian-apart");
  for (const char* key : {"rotary_emb_base", "rotary_pct"}) neox.set(key, nullptr);
  neox.set("rope_theta", 500);
  neox.set("partial_rotary_factor", 0.5);
  rotary(neox, 500, 4);
  for (const char* key : {"rope_theta", "partial_rotary_factor"}) neox.set(key, nullptr);
  const Json rope = {
      {"rope_type", "default"}, {"rope_theta", 700}, {"partial_rotary_factor", 0.75}};
  neox.set("rope_parameters", rope);
  rotary(neox, 700, 6);
  CHECK(has(neox.problem_with("rope_parameters", {{"rope_type", "linear"}, {"factor", 2}}),
            "rope_parameters.rope_type"));
  llama.set("rope_theta", nullptr);
  llama.set("rope_parameters", {{"rope_type", "default"}, {"rope_theta", 700}});
  rotary(llama, 700, 0);
  linear.set("rope_theta", nullptr);
  linear.set("rope_scaling", nullptr);
  linear.set("rope_parameters", {{"rope_type", "linear"}, {"factor", 2.5}, {"rope_theta", 5000}});
  check_folder(linear.path(), *backend);
  gpt2.set("n_positions", nullptr);
  CHECK(gpt2.file().context == 20);
  gpt2.set("n_ctx", nullptr);
  gpt2.set("block_size", 20);
  CHECK(gpt2.file().context == 20);
  apart.set("decoder_vocab_size", nullptr);
  apart.set("tgt_vocab_size", 34);
  check_folder(apart.path(), *backend);
  for (const auto& [name, activation] :
       {std::pair{"gelu", Activation::kGelu}, std::pair{"gelu_python", Activation::kGelu},
        std::pair{"gelu_new", Activation::kGeluTanh}, std::pair{"gelu_fast", Activation::kGeluTanh},
        std::pair{"gelu_pytorch_tanh", Activation::kGeluTanh}, std::pair{"relu", Activation::kRelu},
        std::pair{"silu", Activation::kSilu}, std::pair{"swish", Activation::kSilu}}) {
    gpt2.set("activation_function", name);
    CHECK(gpt2.config().activation == activation);
  }
}

TEST_CASE("folders: each key of a config is read by itself") {
  // The first row of a table of positions is another one where padding has another id; not BART's.
  const Copy roberta("roberta"), m2m("m2m_100"), bart("bart"), bias("llama-bias"), neo("gpt_neo");
  for (const Copy* copy : {&roberta, &m2m, &bart}) copy->set("pad_token_id", 4);
  CHECK(roberta.config().position_offset == 5);
  CHECK(roberta.file().context == 9);
  CHECK(m2m.config().position_offset == 5);
  CHECK(bart.config().position_offset == 2);
  bias.set("attention_bias", false);
  CHECK(!bias.config().has_qkv_bias());
  CHECK(bias.config().has_mlp_bias());
  bias.set("attention_bias", true);
  bias.set("mlp_bias", false);
  CHECK(bias.config().has_output_bias());
  CHECK(!bias.config().has_mlp_bias());
  neo.set("layer_norm_epsilon", 1e-3);
  CHECK(neo.config().norm_epsilon == 1e-3);
  // Layers in two groups, counted on from one to the next.
  neo.set("attention_layers", nullptr);
  neo.set("attention_types", Json::parse(R"([[["global"], 1], [["local"], 1]])"));
  CHECK(neo.config().local_layers == std::vector{1});
  neo.set("num_layers", 5);
  neo.set("attention_types",
          Json::parse(R"([[["local", "global"], 1], [["global", "local", "local"], 1]])"));
  CHECK(neo.config().local_layers == std::vector{0, 3, 4});
  // Said one by one, layers are as that list has them, whatever the groups say.
  neo.set("attention_layers", {"global", "local", "global", "global", "local"});
  CHECK(neo.config().local_layers == std::vector{1, 4});
  CHECK(has(neo.problem_with("attention_layers", {"global"}), "attention_layers"));
  const Copy gpt2("gpt2");  // its norms have shifts
  CHECK(has(gpt2.problem_with("bias", false), "bias"));
  CHECK(gpt2.problem_with("bias", true) == "");
}

TEST_CASE("folders: RoBERTa adds the first row of segments, of however many there are") {
  const auto backend = make_reference_backend();
  const Copy copy("roberta");
  constexpr const char* kTable = "roberta.embeddings.token_type_embeddings.weight";
  copy.change_weights([&](auto& all) {
    auto& [shape, numbers] = all.at(kTable);
    shape[0] = 2;
    numbers.resize(2 * numbers.size(), 5);
  });
  CHECK(has(copy.problem(), "token_type_embeddings"));  // the config says one
  copy.set("type_vocab_size", 2);
  check_folder(copy.path(), *backend);
  copy.set("type_vocab_size", nullptr);
  check_folder(copy.path(), *backend);
}

TEST_CASE("folders: a head is tied as the config says, and where the file has none") {
  const auto backend = make_reference_backend();
  // Saved though it is tied: the numbers are not those of the head that is there.
  struct Head {
    const char *name, *weight, *table;
  };
  for (const Head& head : {Head{"gpt2", "lm_head.weight", "wte.weight"},
                           Head{"qwen2", "lm_head.weight", "model.embed_tokens.weight"}}) {
    const Copy copy(head.name);
    copy.change_weights([&](auto& all) {
      all[head.weight] = all.at(head.table);
      for (float& number : all[head.weight].second) number += 1;
    });
    CAPTURE(head.name);
    CHECK(copy.config().tied_head);
    check_folder(copy.path(), *backend);
    copy.set("tie_word_embeddings", false);
    CHECK(!copy.config().tied_head);
  }
  const Copy neox("gpt_neox"), gpt2("gpt2");
  neox.set("tie_word_embeddings", true);
  CHECK(neox.config().tied_head);
  gpt2.set("tie_word_embeddings", false);  // but there is none
  CHECK(has(gpt2.problem(), "lm_head.weight"));
  gpt2.set("architectures", Json::array({"GPT2Model"}));  // which has none
  check_folder(gpt2.path(), *backend);
  for (const auto& missing :
       {std::pair{"gpt_neo", "lm_head.weight"}, {"bert", "cls.predictions.decoder.weight"}}) {
    const std::string name = missing.first;
    CAPTURE(name);
    CHECK(has(Copy(missing.first).problem_with("tie_word_embeddings", false), missing.second));
  }
}

TEST_CASE("folders: what an encoder-decoder's row begins and ends with") {
  const ModelFile marian = Copy("marian").file(), bart = Copy("bart").file(),
                  m2m = Copy("m2m_100").file();
  CHECK(marian.begin == 39);
  CHECK(marian.ends == std::vector{0});
  CHECK(marian.forced.empty());
  CHECK(marian.never == std::vector{39});
  CHECK(bart.begin == 2);
  CHECK(bart.ends == std::vector{2});
  CHECK(bart.forced == std::vector{0});
  CHECK(m2m.forced == std::vector{36});
  const Copy other("bart");  // where nothing is said, as the class has it
  other.set("decoder_start_token_id", nullptr);
  other.set("bos_token_id", 1);
  CHECK(other.file().begin == 2);
  // What a second file says counts before that; what it does not say is as it was.
  write_file_atomic(other / "generation_config.json",
                    R"({"decoder_start_token_id": 5, "eos_token_id": [3, 2, 9999]})");
  CHECK(other.file().begin == 5);
  CHECK(other.file().ends == std::vector{3, 2});
  CHECK(other.file().forced == std::vector{0});
  write_file_atomic(other / "generation_config.json", R"({"forced_bos_token_id": 7})");
  CHECK(other.file().forced == std::vector{7});
  CHECK(other.file().ends == std::vector{2});
  write_file_atomic(other / "generation_config.json", R"({"eos_token_id": ["</s>"]})");
  CHECK(has(other.problem(), "generation_config.json"));
  CHECK_FALSE(has(other.problem(), "/config.json"));
  CHECK(has(other.problem(), "eos_token_id"));
  // What is never written: bad words apart from what ends a row, and what is suppressed.
  write_file_atomic(other / "generation_config.json",
                    R"({"bad_words_ids": [[9], [2], [4]], "suppress_tokens": [11, 9]})");
  CHECK(other.file().never == std::vector{4, 9, 11});
  CHECK(ModelFolder(other.path()).unfollowed().empty());
  write_file_atomic(other / "generation_config.json", R"({"suppress_tokens": "all"})");
  CHECK(has(other.problem(), "suppress_tokens"));
  write_file_atomic(
      other / "generation_config.json",
      R"({"repetition_penalty": 1.5, "min_length": 0, "begin_suppress_tokens": [2]})");
  CHECK(ModelFolder(other.path()).unfollowed() ==
        std::vector<std::string>{"repetition_penalty 1.5", "begin_suppress_tokens"});
  const Copy decoder("gpt2");
  decoder.set("bad_words_ids", Json::parse("[[30]]"));
  CHECK(ModelFolder(decoder.path()).unfollowed() == std::vector<std::string>{"bad_words_ids"});
  // Older files of BART say it so.
  const Copy old("bart");
  fs::remove(old / "generation_config.json");
  old.set("forced_bos_token_id", nullptr);
  CHECK(old.file().forced.empty());
  old.set("force_bos_token_to_be_generated", true);
  CHECK(old.file().forced == std::vector{0});
  fs::remove(other / "generation_config.json");
  other.set("forced_bos_token_id", "</s>");
  CHECK(has(other.problem(), "/config.json"));
}

TEST_CASE("folders: any of the tokens that end a text ends what is written") {
  const Copy copy("gpt2");
  const SafetensorsFile expected = read_safetensors(copy / "expected.safetensors", 1u << 26);
  const std::vector<int> greedy = ids_of(expected, "greedy"), given = ids_of(expected, "token_ids");
  REQUIRE(greedy.size() > 3);
  // The first token that did not come before.
  std::size_t at = 1;
  while (std::ranges::count(greedy.begin(), greedy.begin() + std::ptrdiff_t(at), greedy[at])) ++at;
  SamplingOptions sampling;
  sampling.temperature = 0;
  for (const Json& ends : {Json(greedy[at]), Json{39, greedy[at]}}) {
    CAPTURE(ends.dump());
    copy.set("eos_token_id", ends);
    Generator generator(load_model(copy.path().string()), given, sampling, 1, 1);
    for (int i = 0; i < 20; ++i) (void)generator.next();
    CHECK(generator.ids().size() == given.size() + at + 1);
    const std::string text = model_text(copy.file());
    CHECK(parse_model(text) == copy.file());
  }
}

TEST_CASE("folders: a head that is not read is refused, and one that is missing is named") {
  const auto with = [](const char* folder, const char* architecture) {
    return Copy(folder).problem_with("architectures", Json::array({architecture}));
  };
  for (const char* name : {"BertForTokenClassification", "BertForQuestionAnswering"}) {
    CAPTURE(name);
    CHECK(has(with("bert-classifier", name), name));
    CHECK(has(with("bert", name), "ForMaskedLM, ForPreTraining, ForSequenceClassification"));
  }
  CHECK(has(with("llama", "LlamaForSequenceClassification"), "ForCausalLM"));
  CHECK(has(with("gpt2", "GPT2ForTokenClassification"), "GPT2ForTokenClassification"));
  CHECK(has(with("bart", "BartForSequenceClassification"), "ForConditionalGeneration"));
  for (const auto& [folder, one] :
       {std::pair{"bert", "BertForMaskedLM"}, std::pair{"bert", "BertForPreTraining"},
        std::pair{"bert-bare", "BertModel"}, std::pair{"gpt2", "GPT2LMHeadModel"},
        std::pair{"llama", "LlamaForCausalLM"}, std::pair{"marian", "MarianMTModel"},
        std::pair{"roberta-classifier", "RobertaForSequenceClassification"}}) {
    const std::string name = one;
    CAPTURE(name);
    CHECK(with(folder, one) == "");
  }
  for (const auto& [folder, head, name] :
       {std::tuple{"llama", "lm_head.weight", "LlamaForCausalLM"},
        std::tuple{"gpt_neox", "embed_out.weight", "GPTNeoXForCausalLM"}}) {
    const Copy copy(folder);
    copy.set("tie_word_embeddings", false);
    copy.set("architectures", nullptr);
    copy.change_weights([&, key = head](auto& all) { all.erase(key); });
    CHECK(copy.config().tied_head);  // a model without its head
    copy.set("architectures", Json::array({name}));
    CHECK(has(copy.problem(), head));
  }
  // Both heads in one file, or the other one: the named head is read, or missed by its name.
  const auto names = [](const Copy& copy, const char* head) {
    copy.set("architectures", Json::array({head}));
  };
  const Copy classes("bert-classifier"), tokens("bert");
  names(classes, "BertForMaskedLM");
  CHECK(has(classes.problem(), "cls.predictions.transform.dense.weight"));
  names(tokens, "BertForSequenceClassification");
  CHECK(has(tokens.problem(), "classifier.weight"));
  tokens.change_weights([&](auto& all) { all["classifier.weight"] = {{3, 1}, {1, 2, 3}}; });
  names(tokens, "BertForMaskedLM");
  CHECK(tokens.problem() == "");
  CHECK(tokens.config().form == ModelForm::kTokens);
}

TEST_CASE("folders: hidden tokens are scored by another matrix than the table where one counts") {
  struct Head {
    const char *folder, *weight, *table, *bias;
  };
  for (const Head& head :
       {Head{"bert", "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight",
             "cls.predictions.bias"},
        Head{"roberta", "lm_head.decoder.weight", "roberta.embeddings.word_embeddings.weight",
             "lm_head.bias"},
        Head{"distilbert", "vocab_projector.weight", "distilbert.embeddings.word_embeddings.weight",
             "vocab_projector.bias"}}) {
    CAPTURE(head.folder);
    const Copy copy(head.folder);
    std::vector<float> bias;
    copy.change_weights([&](auto& all) {
      all[head.weight] = all.at(head.table);
      for (float& number : all[head.weight].second) number *= 2;
      bias = all.at(head.bias).second;
    });
    const auto logits = [&] {
      Document doc;
      doc.model = copy.path().string();
      doc.ids = {3, 7, 2, 12};
      const RunResult result = Runner().run(doc, *make_reference_backend());
      REQUIRE_MESSAGE(result.trace, result.problem);
      const auto cells = result.trace->tensor(result.trace->program().logits).cells();
      return std::vector<float>(cells.begin(), cells.end());
    };
    copy.set("tie_word_embeddings", true);
    const std::vector<float> tied = logits();
    copy.set("tie_word_embeddings", false);
    const std::vector<float> own = logits();
    REQUIRE(own.size() == tied.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const float b = bias[i % bias.size()];
      CHECK(own[i] == doctest::Approx(2 * (tied[i] - b) + b).epsilon(1e-4));
    }
  }
}

TEST_CASE("folders: what a class computes whatever its config says") {
  CHECK(has(Copy("roberta").problem_with("hidden_act", "relu"), "hidden_act"));
  CHECK(Copy("roberta-classifier").problem_with("hidden_act", "relu") == "");
  const Copy distilbert("distilbert"), bart("bart"), mistral("mistral"), qwen("qwen2"),
      neo("gpt_neo");
  distilbert.set("layer_norm_eps", 0.5);
  CHECK(distilbert.config().norm_epsilon == 1e-12);
  bart.set("normalize_embedding", false);
  CHECK(bart.config().embed_norm);
  mistral.set("attention_bias", true);
  CHECK(!mistral.config().has_qkv_bias());
  // Layers by name, or from one on; where that is behind the last one there are none.
  qwen.set("use_sliding_window", true);
  qwen.set("sliding_window", 3);
  qwen.set("max_window_layers", 28);
  CHECK(qwen.problem() == "");
  CHECK(qwen.config().local_layers.empty());
  qwen.set("layer_types", Json{"sliding_attention", "full_attention"});
  CHECK(qwen.config().local_layers == std::vector{0});
  qwen.set("use_sliding_window", false);
  CHECK(qwen.config().local_layers.empty());
  qwen.set("use_sliding_window", true);
  CHECK(has(qwen.problem_with("layer_types", Json{"sliding_attention"}), "layer_types"));
  CHECK(has(qwen.problem_with("layer_types", Json{"sliding_attention", "odd"}), "layer_types"));
  for (const char* key : {"attention_types", "attention_layers"}) neo.set(key, nullptr);
  CHECK(has(neo.problem(), "attention_types"));
  neo.set("num_layers", 24);
  CHECK(neo.config().local_layers == std::vector{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23});
}

TEST_CASE("folders: a row that is typed behind a source opens as one that is written") {
  Document doc;
  const Copy copy("bart");
  make_worded_folder("bart", copy / "worded", {{0, "<s>"}, {2, "</s>"}, {39, "<unk>"}});
  doc.model = (copy / "worded").string();
  doc.sentence = "w4 w5 w6 -> w9 w11";
  const RunResult result = Runner().run(doc, *make_reference_backend());
  REQUIRE_MESSAGE(result.trace, result.problem);
  CHECK(result.trace->input().ids == std::vector{2, 0, 9, 11});
  // Going on from there leaves what it opens with out of the sentence.
  const auto longer = sentence_with(doc, *result.trace, result.model.get(), 12, std::nullopt);
  CHECK(longer.value_or("") == "w4 w5 w6 → w9 w11 w12");
  std::optional<Tokenizer> kept;
  const SentenceTokens placed = sentence_tokens(doc, result.model.get(), kept);
  REQUIRE(placed.tokens.size() == 4);
  CHECK(placed.tokens[1].id == 0);
  CHECK(doc.sentence.substr(placed.tokens[2].begin) == "w9 w11");
}

TEST_CASE("folders: an encoder-decoder's tables and the bias of the logits by all their names") {
  const auto backend = make_reference_backend();
  const Copy bart("bart"), bert("bert"), roberta("roberta");
  for (const auto& [copy, from, to] :
       {std::tuple{&bart, "final_logits_bias", "lm_head.bias"},
        std::tuple{&bert, "cls.predictions.bias", "cls.predictions.decoder.bias"},
        std::tuple{&roberta, "lm_head.bias", "lm_head.decoder.bias"}}) {
    copy->change_weights([from = from, to = to](auto& all) {
      auto bias = all.extract(from);
      REQUIRE(!bias.empty());
      bias.key() = to;
      all.insert(std::move(bias));
    });
    check_folder(copy->path(), *backend);
  }
  CHECK(bart.file().source_vocab == 0);
  // Two tables of the same size, and no word of it in the config.
  bart.change_weights([](auto& all) {
    CHECK(all.erase("model.shared.weight") == 1);
    CHECK(all.contains("model.encoder.embed_tokens.weight"));
  });
  CHECK(bart.file().source_vocab == 40);
  check_folder(bart.path(), *backend);
}

TEST_CASE("folders: what the files hold besides has to say the same") {
  const auto backend = make_reference_backend();
  const Copy marian("marian"), bart("bart"), bert("bert"), roberta("roberta");
  // Positions that are computed, stored as well: as they are, rounded, and as others.
  constexpr const char* kPositions = "model.decoder.embed_positions.weight";
  const ModelFile file = marian.file();
  std::vector<float> sinusoids;
  for (std::int64_t t = 0; t < file.context; ++t) {
    for (int f = 0; f < file.config.d_model; ++f) {
      const int half = file.config.d_model / 2;
      const double angle =
          static_cast<double>(t) / std::pow(10000.0, static_cast<double>(f % half) / half);
      sinusoids.push_back(static_cast<float>(f < half ? std::sin(angle) : std::cos(angle)));
    }
  }
  const auto store = [&](const std::vector<float>& numbers) {
    marian.change_weights([&](auto& all) {
      all[kPositions] = {{file.context, file.config.d_model}, numbers};
    });
  };
  store(sinusoids);
  check_folder(marian.path(), *backend);
  for (float& number : sinusoids) number += 1e-3f;
  store(sinusoids);
  check_folder(marian.path(), *backend);
  sinusoids[7] += 0.01f;
  store(sinusoids);
  CHECK(has(marian.problem(), "decoder.embed_positions.weight"));
  // In a type that is not read, and shorter than numbers would be.
  const Copy odd("marian");
  const std::string bytes = read_file(odd / "model.safetensors", 1 << 24);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  Json header = Json::parse(bytes.substr(sizeof(length), length));
  const std::string data = bytes.substr(sizeof(length) + length);
  const auto cells = static_cast<std::size_t>(file.context * file.config.d_model);
  header[kPositions] = {{"dtype", "I8"},
                        {"shape", {file.context, file.config.d_model}},
                        {"data_offsets", {data.size(), data.size() + cells}}};
  const std::string text = header.dump();
  length = text.size();
  std::string changed(sizeof(length), 0);
  std::memcpy(changed.data(), &length, sizeof(length));
  write_file_atomic(odd / "model.safetensors", changed + text + data + std::string(cells, 1));
  CHECK(has(odd.problem(), "holds I8"));
  // Two tables with different numbers, where the config says that they need not be one.
  const auto own = [](auto& all) {
    for (float& number : all.at("model.decoder.embed_tokens.weight").second) number *= 2;
  };
  bart.change_weights(own);
  CHECK(bart.file().source_vocab == 0);
  bart.set("tie_word_embeddings", false);
  CHECK(bart.file().source_vocab == 40);
  // Of two biases that of the projection counts.
  for (const auto& [copy, bias, other] :
       {std::tuple{&bert, "cls.predictions.bias", "cls.predictions.decoder.bias"},
        std::tuple{&roberta, "lm_head.bias", "lm_head.decoder.bias"}}) {
    copy->change_weights([bias = bias, other = other](auto& all) {
      all[other] = all.at(bias);
      for (float& number : all[bias].second) number += 1;
    });
    check_folder(copy->path(), *backend);
  }
}

TEST_CASE("folders: of an encoder-decoder's one table the copy of its own name counts") {
  const auto backend = make_reference_backend();
  const Copy bart("bart"), m2m("m2m_100");
  for (const Copy* copy : {&bart, &m2m}) {
    copy->change_weights([](auto& all) {
      for (const char* stack : {"encoder", "decoder"}) {
        const std::string name = "model." + std::string(stack) + ".embed_tokens.weight";
        for (float& number : all.at(name).second) number *= 2;
      }
    });
    check_folder(copy->path(), *backend);
  }
}

TEST_CASE("folders: classes of one name are told apart by their numbers") {
  const Copy copy("bert-classifier");
  const std::size_t count = copy.file().classes.size();
  REQUIRE(count >= 3);
  copy.set("id2label", {{"0", "good"}, {"1", "bad"}, {"2", "good"}});
  const std::vector<std::string> names = copy.file().classes;
  CHECK(names[0] == "good (0)");
  CHECK(names[1] == "bad");
  CHECK(names[2] == "good (2)");
}

TEST_CASE("folders: a token without a position is refused with its place") {
  const auto problem = [](const char* name, std::vector<int> ids, std::vector<int> own) {
    Document doc;
    doc.model = Copy::reference_folder(name).string();
    doc.ids = std::move(ids);
    doc.target_ids = std::move(own);
    return std::string(Runner().run(doc, *make_reference_backend()).problem);
  };
  CHECK(has(problem("roberta", {0, 5, 1, 6}, {}), "position 2"));
  CHECK(problem("roberta", {0, 5, 3, 6}, {}) == "");
  CHECK(has(problem("m2m_100", {5, 1, 6}, {}), "position 1"));
  CHECK(has(problem("m2m_100", {5, 6}, {2, 7, 9, 1}), "position 3"));
  CHECK(problem("bart", {5, 1, 6}, {2, 1, 9}) == "");  // there padding is a token like others
  CHECK(problem("bert", {5, 0, 6}, {}) == "");
}

TEST_CASE("folders: decoders go on as the independent implementation does") {
  int tried = 0;
  for (const fs::path& folder : reference_folders()) {
    const auto model = load_model(folder.string());
    const SafetensorsFile expected = read_safetensors(folder / "expected.safetensors", 1u << 26);
    if (!expected.entries.contains("greedy") || model->file.config.form != ModelForm::kTokens)
      continue;
    CAPTURE(folder.filename().string());
    std::vector<int> greedy = ids_of(expected, "greedy");
    // The other one goes on behind what ends a text.
    const auto end = std::ranges::find_if(greedy, [&](int id) { return ends_row(*model, id); });
    if (end != greedy.end()) greedy.erase(end + 1, greedy.end());
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

TEST_CASE("folders: a config that is a pipe is refused, not waited for") {
  const Copy copy("gpt2");
  fs::remove(copy / "config.json");
  REQUIRE(::mkfifo((copy / "config.json").c_str(), 0600) == 0);
  CHECK(has(copy.problem(), "this is a pipe or a device"));
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

}  // namespace headlight::test_folders
