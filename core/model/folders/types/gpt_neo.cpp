// GPT-Neo (Black et al. 2021), as which the TinyStories models are saved: GPT-2 without ÷ √d_head
// and without biases of Q, K and V, and in some layers a token looks back over a window alone.
#include "core/model/folders/types/types.h"

namespace headlight {
namespace {

// "attention_types": [[["global", "local"], 6]] is six times these two.
std::vector<int> local_by_types(const FolderConfig& in, int layers) {
  const std::string known = "[[[\"global\", \"local\"], times], …] for all layers";
  std::vector<int> local;
  int layer = 0;
  for (const OrderedJson& group : in.at("attention_types")) {
    const bool right = group.is_array() && group.size() == 2 && group[0].is_array() &&
                       group[1].is_number_unsigned() && group[1] <= kMaxLayers;
    if (!right) in.refuse("attention_types", known);
    for (int time = 0; time < group[1].get<int>(); ++time) {
      for (const OrderedJson& kind : group[0]) {
        if (kind != "global" && kind != "local") in.refuse("attention_types", known);
        if (kind == "local") local.push_back(layer);
        ++layer;
        if (layer > layers) in.refuse("attention_types", known);
      }
    }
  }
  if (layer != layers) in.refuse("attention_types", known);
  return local;
}

// "attention_layers": ["global", "local", …], one by one.
std::vector<int> local_by_layers(const FolderConfig& in, int layers) {
  const OrderedJson& kinds = in.at("attention_layers");
  const std::string known = "[\"global\", \"local\", …] for all layers";
  if (!kinds.is_array() || std::ssize(kinds) != layers) in.refuse("attention_layers", known);
  std::vector<int> local;
  for (int layer = 0; layer < layers; ++layer) {
    const OrderedJson& kind = kinds[static_cast<std::size_t>(layer)];
    if (kind != "global" && kind != "local") in.refuse("attention_layers", known);
    if (kind == "local") local.push_back(layer);
  }
  return local;
}

// Where both are there, the list of layers counts. Where neither is, 24 layers look back over a
// window in turn.
void read_windows(const FolderConfig& in, Config& c) {
  constexpr int kUsualLayers = 24, kUsualWindow = 256;
  const bool one_by_one = in.has("attention_layers");
  if (in.has("attention_types") || (!one_by_one && c.layers != kUsualLayers)) {
    c.local_layers = local_by_types(in, c.layers);
  } else {
    for (int layer = 1; layer < c.layers; layer += 2) c.local_layers.push_back(layer);
  }
  if (one_by_one) c.local_layers = local_by_layers(in, c.layers);
  if (!c.local_layers.empty())
    c.local_window = in.whole_or("window_size", kUsualWindow, 1, 1 << 30);
}

ModelFile read_gpt_neo(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file;
  file.vocab = in.whole("vocab_size", 1, kLargestVocab);
  file.context = in.whole("max_position_embeddings", 1, kLargestContext);
  Config& c = file.config;
  c.layers = in.whole("num_layers", 1, kMaxLayers);
  c.heads = in.whole("num_heads", 1, kMaxHeads);
  c.d_model = in.whole("hidden_size", 1, kMaxWidth);
  c.d_hidden = in.whole_or("intermediate_size", 4 * c.d_model, 1, kMaxWidth);
  c.activation = in.activation("activation_function", "gelu_new");
  c.norm_epsilon = in.epsilon_or("layer_norm_epsilon", 1e-5);
  c.positions = PositionKind::kLearned;
  c.scale = false;
  c.qkv_bias = c.head_bias = false;
  c.tied_head = ties_head(in, shape_of_tensor("lm_head.weight") != nullptr);
  read_windows(in, c);
  return file;
}

std::vector<WeightRow> gpt_neo_rows(const FolderConfig&, const TensorShapes&) {
  const Section attention = Section::kAttention, network = Section::kFeedForward,
                end = Section::kPrediction;
  return {{Role::kTokenTable, "wte.weight"},
          {Role::kPositionTable, "wpe.weight"},
          {Role::kNormScale, "h.{l}.ln_1.weight", {}, 0, 1, attention},
          {Role::kNormShift, "h.{l}.ln_1.bias", {}, 0, 1, attention},
          {Role::kQueryWeight, "h.{l}.attn.attention.q_proj.weight", kProduct},
          {Role::kKeyWeight, "h.{l}.attn.attention.k_proj.weight", kProduct},
          {Role::kValueWeight, "h.{l}.attn.attention.v_proj.weight", kProduct},
          {Role::kOutputWeight, "h.{l}.attn.attention.out_proj.weight", kProduct},
          {Role::kOutputBias, "h.{l}.attn.attention.out_proj.bias"},
          {Role::kNormScale, "h.{l}.ln_2.weight", {}, 0, 1, network},
          {Role::kNormShift, "h.{l}.ln_2.bias", {}, 0, 1, network},
          {Role::kHiddenWeight, "h.{l}.mlp.c_fc.weight", kProduct},
          {Role::kHiddenBias, "h.{l}.mlp.c_fc.bias"},
          {Role::kFeedForwardWeight, "h.{l}.mlp.c_proj.weight", kProduct},
          {Role::kFeedForwardBias, "h.{l}.mlp.c_proj.bias"},
          {Role::kNormScale, "ln_f.weight", {}, 0, 1, end},
          {Role::kNormShift, "ln_f.bias", {}, 0, 1, end},
          {Role::kUnembedding, "lm_head.weight", kProduct}};
}

}  // namespace

FolderType gpt_neo_type() {
  return {"gpt_neo", read_gpt_neo, gpt_neo_rows, {"CausalLM"}, {"transformer."}};
}

}  // namespace headlight
