// GPT-NeoX (Black et al. 2022), as which the Pythia models are saved: rotary positions on a part of
// each head's features, attention and feed-forward side by side, Q, K and V joined head by head.
#include <cmath>

#include "core/model/folders/types/types.h"

namespace headlight {
namespace {

// How many of a head's features turn, and how fast. Newer files keep both in "rope_parameters".
void read_rotary(const FolderConfig& in, Config& c) {
  if (in.has("rope_scaling")) in.refuse("rope_scaling", "null");
  c.positions = PositionKind::kRotary;
  c.rotary_base = in.number_or(in.has("rotary_emb_base") ? "rotary_emb_base" : "rope_theta", 10000,
                               kLowestRotaryBase, kHighestRotaryBase);
  double share =
      in.number_or(in.has("rotary_pct") ? "rotary_pct" : "partial_rotary_factor", 0.25, 1e-6, 1);
  if (in.has("rope_parameters")) {
    const FolderConfig rope(in.at("rope_parameters"), "rope_parameters");
    rope.one_of(rope.has("rope_type") ? "rope_type" : "type", "default", {"default"});
    c.rotary_base =
        rope.number_or("rope_theta", c.rotary_base, kLowestRotaryBase, kHighestRotaryBase);
    share = rope.number_or("partial_rotary_factor", share, 1e-6, 1);
  }
  c.rotary_width = static_cast<int>((c.d_model / c.heads) * share);
}

ModelFile read_gpt_neox(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file;
  file.vocab = in.whole("vocab_size", 1, kLargestVocab);
  file.context = in.whole_or("max_position_embeddings", 2048, 1, kLargestContext);
  Config& c = file.config;
  c.layers = in.whole("num_hidden_layers", 1, kMaxLayers);
  c.heads = in.whole("num_attention_heads", 1, kMaxHeads);
  c.d_model = in.whole("hidden_size", 1, kMaxWidth);
  c.d_hidden = in.whole("intermediate_size", 1, kMaxWidth);
  c.activation = in.activation("hidden_act", "gelu");
  c.norm_epsilon = in.epsilon_or("layer_norm_eps", 1e-5);
  read_rotary(in, c);
  if (in.flag_or("use_parallel_residual", true)) c.block = BlockKind::kParallel;
  c.qkv_bias = c.output_bias = in.flag_or("attention_bias", true);
  c.head_bias = false;
  c.tied_head = ties_head(in, shape_of_tensor("embed_out.weight") != nullptr, false);
  return file;
}

std::vector<WeightRow> gpt_neox_rows(const FolderConfig&, const TensorShapes&) {
  constexpr WeightLayout kJoined = WeightLayout::kByHead;
  constexpr std::string_view kWeight = "layers.{l}.attention.query_key_value.weight",
                             kBias = "layers.{l}.attention.query_key_value.bias";
  const Section attention = Section::kAttention, network = Section::kFeedForward,
                end = Section::kPrediction;
  return {{Role::kTokenTable, "embed_in.weight"},
          {Role::kNormScale, "layers.{l}.input_layernorm.weight", {}, 0, 1, attention},
          {Role::kNormShift, "layers.{l}.input_layernorm.bias", {}, 0, 1, attention},
          {Role::kQueryWeight, kWeight, kJoined, 0, 3},
          {Role::kKeyWeight, kWeight, kJoined, 1, 3},
          {Role::kValueWeight, kWeight, kJoined, 2, 3},
          {Role::kQueryBias, kBias, kJoined, 0, 3},
          {Role::kKeyBias, kBias, kJoined, 1, 3},
          {Role::kValueBias, kBias, kJoined, 2, 3},
          {Role::kOutputWeight, "layers.{l}.attention.dense.weight", kProduct},
          {Role::kOutputBias, "layers.{l}.attention.dense.bias"},
          {Role::kNormScale, "layers.{l}.post_attention_layernorm.weight", {}, 0, 1, network},
          {Role::kNormShift, "layers.{l}.post_attention_layernorm.bias", {}, 0, 1, network},
          {Role::kHiddenWeight, "layers.{l}.mlp.dense_h_to_4h.weight", kProduct},
          {Role::kHiddenBias, "layers.{l}.mlp.dense_h_to_4h.bias"},
          {Role::kFeedForwardWeight, "layers.{l}.mlp.dense_4h_to_h.weight", kProduct},
          {Role::kFeedForwardBias, "layers.{l}.mlp.dense_4h_to_h.bias"},
          {Role::kNormScale, "final_layer_norm.weight", {}, 0, 1, end},
          {Role::kNormShift, "final_layer_norm.bias", {}, 0, 1, end},
          {Role::kUnembedding, "embed_out.weight", kProduct}};
}

}  // namespace

FolderType gpt_neox_type() {
  return {"gpt_neox", read_gpt_neox, gpt_neox_rows, {"CausalLM"}, {"gpt_neox."}};
}

}  // namespace headlight
