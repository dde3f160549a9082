// Models written as folders: what is read again gives the same numbers, and what a type has no way
// to say is refused by its name.
#include "core/io/atomic_file.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "tests/support/convert_models.h"

namespace headlight::test_convert {

using namespace converting;

TEST_CASE("convert: GPT-2, with and without biases, with a head of its own") {
  check_same(own_model(gpt2_config()), "gpt2", "gpt2");
  check_same(own_model(gpt2_config()), "", "gpt2");
  check_same(own_model(with(gpt2_config(), [](Config& c) { c.bias = false; })), "gpt2", "gpt2");
  check_same(own_model(with(gpt2_config(),
                            [](Config& c) {
                              c.tied_head = false;
                              c.head_bias = false;
                              c.activation = Activation::kRelu;
                              c.norm_epsilon = 1e-3;
                              c.scale = false;
                            })),
             "gpt2", "gpt2");
  // Others look for biases whatever the config says: zeros.
  const OutFolder place;
  convert_model(own_model(with(gpt2_config(), [](Config& c) { c.bias = false; })), place / "out",
                {.to = "gpt2"});
  const SafetensorsFile file = read_safetensors(place / "out" / "model.safetensors", 1u << 26);
  for (const char* name : {"transformer.h.1.attn.c_attn.bias", "transformer.ln_f.bias"})
    CHECK(std::ranges::count(tensor_as_float(file, name), 0.0f) > 0);
  // The training's options change no number.
  check_same(own_model(with(gpt2_config(),
                            [](Config& c) {
                              c.seed = 5;
                              c.fused_attention = true;
                              c.mask.window = 7;
                            })),
             "gpt2", "gpt2");
}

TEST_CASE("convert: Llama, and Mistral and Qwen 2 where the recipe needs them") {
  check_same(own_model(llama_config()), "llama", "llama");
  check_same(own_model(llama_config()), "", "llama");
  const auto check = [](auto change, const char* type) {
    check_same(own_model(with(llama_config(), change)), "llama", type);
  };
  check([](Config& c) { c.tied_head = false; }, "llama");
  check([](Config& c) { c.qkv_bias = c.output_bias = c.mlp_bias = true; }, "llama");
  check([](Config& c) { c.attention = AttentionKind::kWide, c.d_head = 0; }, "llama");
  check(
      [](Config& c) {
        c.rotary_scaling = RotaryScaling::kLinear;
        c.rotary_factor = 2.5;
      },
      "llama");
  check(
      [](Config& c) {
        c.rotary_scaling = RotaryScaling::kLlama3;
        c.rotary_factor = 8;
        c.rotary_low = 1.5;
        c.rotary_high = 5;
        c.rotary_context = 30;
      },
      "llama");
  check([](Config& c) { c.local_layers = {0, 1}, c.local_window = 3; }, "mistral");
  check([](Config& c) { c.qkv_bias = true; }, "qwen2");
  check([](Config& c) { c.qkv_bias = true, c.local_layers = {1}, c.local_window = 3; }, "qwen2");
  check([](Config& c) { c.local_layers = {1}, c.local_window = 3; }, "qwen2");
}

TEST_CASE("convert: BERT of hidden tokens and as a classifier, with and without segments") {
  check_same(own_model(bert_config()), "bert", "bert");
  check_same(own_model(bert_config()), "", "bert");
  check_same(own_model(with(bert_config(), [](Config& c) { c.segments = false; })), "bert", "bert");
  check_same(own_model(with(bert_config(), [](Config& c) { c.head_bias = false; })), "bert",
             "bert");
  check_same(own_model(with(bert_config(), [](Config& c) { c.segment_rows = 1; })), "bert", "bert");
  const Model judge = own_model(bert_classifier_config(), {"no", "yes", "maybe"});
  check_same(judge, "bert", "bert");
  const OutFolder place;
  convert_model(judge, place / "out", {.to = "bert"});
  const auto read = load_model((place / "out").string());
  CHECK(read->file.classes == judge.file.classes);
  CHECK(read->before == std::vector{1});  // [CLS], which the program puts there by itself
  const SegmentedTokens pair = read->vocabulary->pieces()->encode_pair("ab", "c");
  std::vector<int> ids;
  for (const PlacedToken& token : pair.tokens) ids.push_back(token.id);
  CHECK(ids == std::vector{1, 5, 6, 2, 7, 2});
  CHECK(pair.segments == std::vector{0, 0, 0, 0, 1, 1});
}

TEST_CASE("convert: what a type has no way to say is refused by the option's name") {
  const auto gpt2 = [](auto change) {
    return refusal(own_model(with(gpt2_config(), change)), {.to = "gpt2"});
  };
  CHECK(has(gpt2([](Config& c) { c.positions = PositionKind::kRotary; }),
            "--positions rotary (gpt2: learned)"));
  CHECK(has(gpt2([](Config& c) { c.positions = PositionKind::kSinusoidal; }),
            "--positions sinusoidal (gpt2: learned)"));
  CHECK(has(gpt2([](Config& c) { c.norm = NormKind::kRms; }), "--norm rms"));
  CHECK(has(gpt2([](Config& c) { c.head_bias = true; }), "--head-bias on (gpt2: off)"));
  CHECK(has(gpt2([](Config& c) { c.kv_heads = 1; }), "--kv-heads 1"));
  CHECK(has(gpt2([](Config& c) { c.d_head = 6; }), "--d-head 6"));
  CHECK(has(gpt2([](Config& c) { c.block = BlockKind::kPostNorm; }), "--block post-norm"));
  CHECK(has(gpt2([](Config& c) { c.block = BlockKind::kParallel; }), "--block parallel"));
  CHECK(has(gpt2([](Config& c) { c.mask.kind = MaskKind::kNone; }), "--mask none"));
  CHECK(has(gpt2([](Config& c) { c.mask.kind = MaskKind::kLocal; }), "--mask local"));
  CHECK(has(gpt2([](Config& c) { c.activation = Activation::kSwiglu; }), "--activation swiglu"));
  CHECK(has(gpt2([](Config& c) { c.softcap = 5; }), "--softcap"));
  CHECK(has(gpt2([](Config& c) { c.temperature = 2; }), "--temperature 2"));
  CHECK(has(gpt2([](Config& c) { c.residual = false; }), "--residual off"));
  CHECK(has(gpt2([](Config& c) { c.embed_scale = true; }), "--embed-scale on"));
  CHECK(has(gpt2([](Config& c) { c.position_offset = 1; }), "--position-offset 1"));
  CHECK(has(gpt2([](Config& c) { c.masked_heads = {{HeadsOf::kOwn, 0, 1}}; }), "--head-mask"));
  CHECK(has(gpt2([](Config& c) { c.local_layers = {1}, c.local_window = 2; }), "--local-layers"));
  CHECK(has(gpt2([](Config& c) { c.experts = 3; }), "--experts 3"));
  CHECK(has(gpt2([](Config& c) { c.bias_kv = true; }), "--bias-kv on"));
  const auto llama = [](auto change) {
    return refusal(own_model(with(llama_config(), change)), {.to = "llama"});
  };
  CHECK(has(llama([](Config& c) { c.rotary = RotaryPairs::kInterleaved; }),
            "--rotary interleaved (llama: half)"));
  CHECK(has(llama([](Config& c) { c.rotary_width = 4; }), "--rotary-width 4"));
  CHECK(has(llama([](Config& c) { c.output_bias = true; }), "--output-bias on (llama: off)"));
  CHECK(has(llama([](Config& c) { c.local_layers = {0}, c.local_window = 2; }), "--local-layers"));
  CHECK(has(llama([](Config& c) { c.tied_head = false, c.head_bias = true; }), "--head-bias on"));
  CHECK(has(llama([](Config& c) { c.memory = 4; }), "--memory 4"));
  CHECK(has(llama([](Config& c) { c.score_scale = 0.3; }), "--score-scale 0.3"));
  const auto bert = [](auto change) {
    return refusal(own_model(with(bert_config(), change)), {.to = "bert"});
  };
  CHECK(has(bert([](Config& c) { c.embed_norm = false; }), "--embed-norm off (bert: on)"));
  CHECK(has(bert([](Config& c) { c.tied_head = false; }), "--tied-head off (bert: on)"));
  CHECK(has(bert([](Config& c) { c.mask.kind = MaskKind::kCausal; }), "--mask causal"));
  const Config judge = with(bert_classifier_config(), [](Config& c) { c.pool = PoolKind::kMean; });
  CHECK(has(refusal(own_model(judge, {"a", "b"}), {.to = "bert"}), "--pool mean (bert: cls)"));
  // Without a type, the reasons of all.
  const std::string none =
      refusal(own_model(with(gpt2_config(), [](Config& c) { c.mixer = MixerKind::kGru; })), {});
  CHECK(has(none, "(gpt2: "));
  CHECK(has(none, "--mixer gru"));
  CHECK(has(none, "; llama: "));
  CHECK(has(none, "; bert: "));
}

TEST_CASE("convert: every folder from elsewhere becomes one of this program, and stays as it was") {
  for (const fs::path& from : reference_folders()) {
    CAPTURE(from.filename().string());
    const OutFolder place;
    const auto model = load_model(from.string());
    CHECK(convert_model(*model, place / "own", {}).type == "headlight");
    const auto own = load_model((place / "own").string());
    CHECK(own->file == model->file);
    CHECK(has_ids_alone(*own));
    CHECK(read_file(place / "own" / "tokenizer.json", 1 << 20) == kNoTokenizer);
    for (std::size_t i = 0; i < model->weights.size(); ++i)
      CHECK(own->weights[i].data == model->weights[i].data);
    const bool two = model->file.config.form == ModelForm::kTranslate;
    const std::vector<int> ids = {1, 5, 2, 8}, source = two ? ids : std::vector<int>{};
    CHECK(logits_of(own, ids, source) == logits_of(model, ids, source));
  }
}

TEST_CASE("convert: a folder written as its own type has the same tensors") {
  const char* names[] = {"gpt2",    "gpt2-prefixed", "gpt2-own-head",
                         "llama",   "llama-linear",  "llama-llama3",
                         "mistral", "qwen2",         "bert-classifier"};
  for (const std::string name : names) {
    CAPTURE(name);
    const OutFolder place;
    const auto model = load_model(reference_folder(name).string());
    const std::string type = name.substr(0, name.find('-'));
    const bool other = type == "mistral" || type == "qwen2";
    CHECK(convert_model(*model, place / "out", {.to = other ? "llama" : type}).type == type);
    const SafetensorsFile before = read_safetensors(reference_folder(name) / "model.safetensors",
                                                    1u << 26),
                          after = read_safetensors(place / "out" / "model.safetensors", 1u << 26);
    CHECK(after.metadata.at("format") == "pt");
    for (const auto& one : after.entries) {
      const std::string& written = one.first;
      const SafetensorsEntry& entry = one.second;
      CAPTURE(written);
      auto old = before.entries.find(written);
      const std::string prefix = "transformer.";
      if (old == before.entries.end()) old = before.entries.find(written.substr(prefix.size()));
      REQUIRE(old != before.entries.end());
      CHECK(old->second.shape == entry.shape);
      CHECK(before.data_of(old->second) == after.data_of(entry));
    }
    const auto again = load_model((place / "out").string());
    CHECK(logits_of(again, {1, 5, 2, 8}) == logits_of(model, {1, 5, 2, 8}));
  }
}

}  // namespace headlight::test_convert
