// Llama (Touvron et al. 2023), Mistral (Jiang et al. 2023) and Qwen 2 (Yang et al. 2024): RMS
// norms, rotary positions, SwiGLU, and heads that share keys and values. They differ in biases and
// in how far a token looks back.
#include <algorithm>

#include "core/model/folders/types/types.h"

namespace headlight {
namespace {

// How rotary positions are slowed for rows longer than those first learned from.
void read_rope_scaling(const FolderConfig& in, Config& c) {
  const char* key = in.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  if (!in.has(key)) return;
  const FolderConfig rope(in.at(key), key);
  const std::string kind = rope.one_of(rope.has("rope_type") ? "rope_type" : "type", "default",
                                       {"default", "linear", "llama3"});
  c.rotary_base =
      rope.number_or("rope_theta", c.rotary_base, kLowestRotaryBase, kHighestRotaryBase);
  if (kind == "default") return;
  c.rotary_scaling = kind == "linear" ? RotaryScaling::kLinear : RotaryScaling::kLlama3;
  c.rotary_factor = rope.number("factor", 1, 1e6);
  if (kind == "linear") return;
  c.rotary_low = rope.number("low_freq_factor", 1e-3, 1e6);
  c.rotary_high = rope.number("high_freq_factor", 1e-3, 1e6);
  constexpr const char* kFirst = "original_max_position_embeddings";
  const FolderConfig& from = rope.has(kFirst) ? rope : in;
  c.rotary_context = from.whole(from.has(kFirst) ? kFirst : "max_position_embeddings", 1, 1 << 30);
}

// What the three take where their configs do not say it.
struct Defaults {
  int context = 2048;
  std::optional<int> kv_heads = {};  // none: as many as heads
};

ModelFile read_decoder(const FolderConfig& in, const TensorShapes& shape_of_tensor,
                       const Defaults& other) {
  ModelFile file;
  file.vocab = in.whole("vocab_size", 1, kLargestVocab);
  file.context = in.whole_or("max_position_embeddings", other.context, 1, 1 << 30);
  file.context = std::min(file.context, kLargestContext);
  Config& c = file.config;
  c.layers = in.whole("num_hidden_layers", 1, kMaxLayers);
  c.heads = in.whole("num_attention_heads", 1, kMaxHeads);
  c.kv_heads = in.whole_or("num_key_value_heads", other.kv_heads.value_or(c.heads), 1, kMaxHeads);
  c.d_model = in.whole("hidden_size", 1, kMaxWidth);
  c.d_head = in.whole_or("head_dim", c.d_model / c.heads, 1, kMaxWidth);
  c.d_hidden = in.whole("intermediate_size", 1, kMaxWidth);
  in.one_of("hidden_act", "silu", {"silu", "swish"});
  c.activation = Activation::kSwiglu;
  c.norm = NormKind::kRms;
  c.positions = PositionKind::kRotary;
  c.rotary_base = in.number_or("rope_theta", 10000, kLowestRotaryBase, kHighestRotaryBase);
  read_rope_scaling(in, c);
  c.norm_epsilon = in.epsilon_or("rms_norm_eps", 1e-6);
  c.bias = false;
  c.tied_head = ties_head(in, shape_of_tensor("lm_head.weight") != nullptr, false);
  return file;
}

ModelFile read_llama(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file = read_decoder(in, shape_of_tensor, {});
  Config& c = file.config;
  c.qkv_bias = c.output_bias = in.flag_or("attention_bias", false);
  c.mlp_bias = in.flag_or("mlp_bias", false);
  return file;
}

// A token of these layers looks back over so many, the own one counted.
void look_back(const FolderConfig& in, std::vector<int> layers, Config& c) {
  if (layers.empty() || in.is_null("sliding_window")) return;
  c.local_window = in.whole_or("sliding_window", 4096, 1, 1 << 30);
  c.local_layers = std::move(layers);
}

std::vector<int> layers_from(int first, const Config& c) {
  std::vector<int> layers;
  for (int layer = first; layer < c.layers; ++layer) layers.push_back(layer);
  return layers;
}

ModelFile read_mistral(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file = read_decoder(in, shape_of_tensor, {131072, 8});
  look_back(in, layers_from(0, file.config), file.config);
  return file;
}

// "layer_types", a word for each layer, or else those from "max_window_layers" on.
std::vector<int> sliding_layers(const FolderConfig& in, const Config& c) {
  if (!in.has("layer_types"))
    return layers_from(in.whole_or("max_window_layers", 28, 0, kMaxLayers), c);
  constexpr std::string_view kFull = "full_attention", kSliding = "sliding_attention";
  const OrderedJson& words = in.at("layer_types");
  const bool each = words.is_array() && words.size() == static_cast<std::size_t>(c.layers);
  std::vector<int> layers;
  for (int layer = 0; each && layer < c.layers; ++layer) {
    const OrderedJson& word = words[static_cast<std::size_t>(layer)];
    if (word == kSliding) layers.push_back(layer);
    if (word == kSliding || word == kFull) continue;
    in.refuse("layer_types", "\"full_attention\", \"sliding_attention\" for each layer");
  }
  if (!each) in.refuse("layer_types", "\"full_attention\", \"sliding_attention\" for each layer");
  return layers;
}

ModelFile read_qwen2(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file = read_decoder(in, shape_of_tensor, {32768, {}});
  file.config.qkv_bias = true;
  if (in.flag_or("use_sliding_window", false))
    look_back(in, sliding_layers(in, file.config), file.config);
  return file;
}

std::vector<WeightRow> llama_rows(const FolderConfig&, const TensorShapes&) {
  return {{Role::kTokenTable, "embed_tokens.weight"},
          {Role::kNormScale, "layers.{l}.input_layernorm.weight", {}, 0, 1, Section::kAttention},
          {Role::kQueryWeight, "layers.{l}.self_attn.q_proj.weight", kProduct},
          {Role::kKeyWeight, "layers.{l}.self_attn.k_proj.weight", kProduct},
          {Role::kValueWeight, "layers.{l}.self_attn.v_proj.weight", kProduct},
          {Role::kQueryBias, "layers.{l}.self_attn.q_proj.bias", kProduct},
          {Role::kKeyBias, "layers.{l}.self_attn.k_proj.bias", kProduct},
          {Role::kValueBias, "layers.{l}.self_attn.v_proj.bias", kProduct},
          {Role::kOutputWeight, "layers.{l}.self_attn.o_proj.weight", kProduct},
          {Role::kOutputBias, "layers.{l}.self_attn.o_proj.bias"},
          {Role::kNormScale,
           "layers.{l}.post_attention_layernorm.weight",
           {},
           0,
           1,
           Section::kFeedForward},
          {Role::kGateWeight, "layers.{l}.mlp.gate_proj.weight", kProduct},
          {Role::kGateBias, "layers.{l}.mlp.gate_proj.bias"},
          {Role::kHiddenWeight, "layers.{l}.mlp.up_proj.weight", kProduct},
          {Role::kHiddenBias, "layers.{l}.mlp.up_proj.bias"},
          {Role::kFeedForwardWeight, "layers.{l}.mlp.down_proj.weight", kProduct},
          {Role::kFeedForwardBias, "layers.{l}.mlp.down_proj.bias"},
          {Role::kNormScale, "norm.weight", {}, 0, 1, Section::kPrediction},
          {Role::kUnembedding, "lm_head.weight", kProduct}};
}

OrderedJson rope_scaling(const Config& c) {
  if (c.rotary_scaling == RotaryScaling::kNone) return nullptr;
  const bool linear = c.rotary_scaling == RotaryScaling::kLinear;
  OrderedJson rope = {{"rope_type", linear ? "linear" : "llama3"}, {"factor", c.rotary_factor}};
  if (linear) return rope;
  rope["low_freq_factor"] = c.rotary_low;
  rope["high_freq_factor"] = c.rotary_high;
  rope["original_max_position_embeddings"] = c.rotary_context;
  return rope;
}

OrderedJson write_decoder(const ModelFile& file, std::string_view type,
                          std::string_view architecture) {
  const Config& c = file.config;
  OrderedJson json = {{"architectures", OrderedJson::array({architecture})},
                      {"model_type", type},
                      {"vocab_size", file.vocab},
                      {"max_position_embeddings", file.context},
                      {"num_hidden_layers", c.layers},
                      {"num_attention_heads", c.head_count()},
                      {"num_key_value_heads", c.kv_head_count()},
                      {"hidden_size", c.d_model},
                      {"head_dim", c.head_width()},
                      {"intermediate_size", c.hidden_width()},
                      {"hidden_act", "silu"},
                      {"rms_norm_eps", c.norm_epsilon},
                      {"rope_theta", c.rotary_base}};
  if (OrderedJson rope = rope_scaling(c); !rope.is_null()) json["rope_scaling"] = std::move(rope);
  json["tie_word_embeddings"] = c.tied_head;
  return json;
}

OrderedJson write_llama(const ModelFile& file) {
  OrderedJson json = write_decoder(file, "llama", "LlamaForCausalLM");
  json["attention_bias"] = file.config.has_qkv_bias() && file.config.has_output_bias();
  json["mlp_bias"] = file.config.has_mlp_bias();
  return json;
}

// In all layers or in none.
OrderedJson write_mistral(const ModelFile& file) {
  OrderedJson json = write_decoder(file, "mistral", "MistralForCausalLM");
  json["sliding_window"] = nullptr;
  if (!file.config.local_layers.empty()) json["sliding_window"] = file.config.local_window;
  return json;
}

// In the layers from one on.
OrderedJson write_qwen2(const ModelFile& file) {
  const Config& c = file.config;
  OrderedJson json = write_decoder(file, "qwen2", "Qwen2ForCausalLM");
  json["use_sliding_window"] = !c.local_layers.empty();
  json["sliding_window"] = c.local_layers.empty() ? file.context : c.local_window;
  json["max_window_layers"] = c.local_layers.empty() ? c.layers : c.local_layers.front();
  return json;
}

}  // namespace

FolderType llama_type() {
  return {"llama", read_llama, llama_rows, {"CausalLM"}, {"model."}, write_llama, {"lm_head."}};
}
FolderType mistral_type() {
  return {"mistral",  read_mistral,  llama_rows,  {"CausalLM"},
          {"model."}, write_mistral, {"lm_head."}};
}
FolderType qwen2_type() {
  return {"qwen2", read_qwen2, llama_rows, {"CausalLM"}, {"model."}, write_qwen2, {"lm_head."}};
}

}  // namespace headlight
