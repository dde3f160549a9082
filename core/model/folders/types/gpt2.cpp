// GPT-2 (Radford et al. 2019): learned positions, pre-norm, GELU with tanh, the logits by the table
// of tokens. Its products are Conv1D, (in, out); minGPT and nanoGPT save the same names, the second
// as Linear, (out, in).
#include <array>

#include "core/model/folders/types/types.h"

namespace headlight {
namespace {

constexpr std::string_view kFirstProduct = "h.0.attn.c_attn.weight";

ModelFile read_gpt2(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file;
  file.vocab = in.whole("vocab_size", 1, kLargestVocab);
  file.context = in.whole(in.has("n_positions") ? "n_positions"
                          : in.has("n_ctx")     ? "n_ctx"
                                                : "block_size",
                          1, kLargestContext);
  Config& c = file.config;
  c.layers = in.whole("n_layer", 1, kMaxLayers);
  c.heads = in.whole("n_head", 1, kMaxHeads);
  c.d_model = in.whole("n_embd", 1, kMaxWidth);
  c.d_hidden = in.whole_or("n_inner", 4 * c.d_model, 1, kMaxWidth);
  c.activation = in.activation("activation_function", "gelu_new");
  c.positions = PositionKind::kLearned;
  // nanoGPT says it; others leave no bias out that is there.
  const bool stored = shape_of_tensor("h.0.ln_1.bias") != nullptr;
  if (stored) in.only("bias", true);
  c.bias = in.flag_or("bias", stored);
  c.head_bias = false;
  c.norm_epsilon = in.epsilon_or("layer_norm_epsilon", 1e-5);
  c.scale = in.flag_or("scale_attn_weights", true);
  in.only("scale_attn_by_inverse_layer_idx", false);
  in.only("add_cross_attention", false);
  // A head in the file counts only where the config says that it is not the table.
  c.tied_head = ties_head(in, shape_of_tensor("lm_head.weight") != nullptr);
  return file;
}

std::vector<WeightRow> gpt2_rows(const FolderConfig&, const TensorShapes& shape_of_tensor) {
  const auto* first = shape_of_tensor(kFirstProduct);
  const bool conv = !first || first->size() != 2 || (*first)[1] == 3 * (*first)[0];
  const WeightLayout joined = conv ? WeightLayout::kJoinedConv : WeightLayout::kJoined,
                     product = conv ? WeightLayout::kConv1d : WeightLayout::kLinear;
  const Section attention = Section::kAttention, network = Section::kFeedForward,
                end = Section::kPrediction;
  return {{Role::kTokenTable, "wte.weight"},
          {Role::kPositionTable, "wpe.weight"},
          {Role::kNormScale, "h.{l}.ln_1.weight", {}, 0, 1, attention},
          {Role::kNormShift, "h.{l}.ln_1.bias", {}, 0, 1, attention},
          {Role::kQueryWeight, "h.{l}.attn.c_attn.weight", joined, 0, 3},
          {Role::kKeyWeight, "h.{l}.attn.c_attn.weight", joined, 1, 3},
          {Role::kValueWeight, "h.{l}.attn.c_attn.weight", joined, 2, 3},
          {Role::kQueryBias, "h.{l}.attn.c_attn.bias", joined, 0, 3},
          {Role::kKeyBias, "h.{l}.attn.c_attn.bias", joined, 1, 3},
          {Role::kValueBias, "h.{l}.attn.c_attn.bias", joined, 2, 3},
          {Role::kOutputWeight, "h.{l}.attn.c_proj.weight", product},
          {Role::kOutputBias, "h.{l}.attn.c_proj.bias"},
          {Role::kNormScale, "h.{l}.ln_2.weight", {}, 0, 1, network},
          {Role::kNormShift, "h.{l}.ln_2.bias", {}, 0, 1, network},
          {Role::kHiddenWeight, "h.{l}.mlp.c_fc.weight", product},
          {Role::kHiddenBias, "h.{l}.mlp.c_fc.bias"},
          {Role::kFeedForwardWeight, "h.{l}.mlp.c_proj.weight", product},
          {Role::kFeedForwardBias, "h.{l}.mlp.c_proj.bias"},
          {Role::kNormScale, "ln_f.weight", {}, 0, 1, end},
          {Role::kNormShift, "ln_f.bias", {}, 0, 1, end},
          {Role::kUnembedding, "lm_head.weight", WeightLayout::kLinear}};
}

// As Conv1D, and always with biases, which others expect.
OrderedJson write_gpt2(const ModelFile& file) {
  const Config& c = file.config;
  return {{"architectures", OrderedJson::array({"GPT2LMHeadModel"})},
          {"model_type", "gpt2"},
          {"vocab_size", file.vocab},
          {"n_positions", file.context},
          {"n_ctx", file.context},
          {"n_layer", c.layers},
          {"n_head", c.head_count()},
          {"n_embd", c.d_model},
          {"n_inner", c.hidden_width()},
          {"activation_function", activation_name(c.activation)},
          {"layer_norm_epsilon", c.norm_epsilon},
          {"scale_attn_weights", c.scale},
          {"bias", true},
          {"tie_word_embeddings", c.tied_head}};
}

}  // namespace

FolderType gpt2_type() {
  return {"gpt2",
          read_gpt2,
          gpt2_rows,
          {},
          {"transformer.", "_orig_mod.transformer.", "_orig_mod."},
          write_gpt2,
          {"lm_head."}};
}

}  // namespace headlight
