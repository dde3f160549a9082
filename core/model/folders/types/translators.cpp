// Encoder-decoders: Marian (Junczys-Dowmunt et al. 2018), as which the OPUS-MT models are saved,
// BART (Lewis et al. 2020) and M2M-100 (Fan et al. 2021).
#include "core/model/folders/types/types.h"

namespace headlight {
namespace {

// What the rows of BART and M2M-100 begin with where the config does not say it: </s>.
constexpr int kUsualBegin = 2;

// Both stacks are told of apart, but are one here in all but their number of layers.
int same_in_both(const FolderConfig& in, const char* encoder, const char* decoder, int most) {
  const int value = in.whole(decoder, 1, most);
  if (in.whole(encoder, 1, most) != value)
    in.refuse(encoder, std::to_string(value) + ", as " + decoder);
  return value;
}

ModelFile read_translator(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file;
  Config& c = file.config;
  c.form = ModelForm::kTranslate;
  file.context = file.source = in.whole("max_position_embeddings", 1, kLargestContext);
  c.layers = in.whole("decoder_layers", 1, kMaxLayers);
  c.encoder_layers = in.whole("encoder_layers", 1, kMaxLayers);
  if (c.encoder_layers == c.layers) c.encoder_layers = 0;
  c.heads = same_in_both(in, "encoder_attention_heads", "decoder_attention_heads", kMaxHeads);
  c.d_hidden = same_in_both(in, "encoder_ffn_dim", "decoder_ffn_dim", kMaxWidth);
  c.d_model = in.whole("d_model", 1, kMaxWidth);
  c.embed_scale = in.flag_or("scale_embedding", false);
  const int vocab = in.whole("vocab_size", 1, kLargestVocab);
  file.vocab = in.whole_or(in.has("tgt_vocab_size") ? "tgt_vocab_size" : "decoder_vocab_size",
                           vocab, 1, kLargestVocab);
  const int source = in.whole_or("src_vocab_size", vocab, 1, kLargestVocab);
  const bool apart = !shape_of_tensor("shared.weight") &&
                     shape_of_tensor("encoder.embed_tokens.weight") &&
                     shape_of_tensor("decoder.embed_tokens.weight");
  const bool differ = source != file.vocab || !in.flag_or("share_encoder_decoder_embeddings", true);
  if (differ || (apart && in.flag_or("share_encoder_decoder_embeddings", !apart) == false))
    file.source_vocab = source;
  c.tied_head = ties_head(in, shape_of_tensor("lm_head.weight") != nullptr);
  c.head_bias = shape_of_tensor("final_logits_bias") || shape_of_tensor("lm_head.bias");
  c.norm_epsilon = 1e-5;
  return file;
}

ModelFile read_marian(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file = read_translator(in, shape_of_tensor);
  Config& c = file.config;
  in.only("normalize_before", false);
  in.only("normalize_embedding", false);
  in.only("static_position_embeddings", true);
  c.block = BlockKind::kPostNorm;
  c.activation = in.activation("activation_function", "gelu");
  c.positions = PositionKind::kSinusoidal;
  c.sinusoid = Sinusoid::kHalves;
  return file;
}

ModelFile read_bart(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file = read_translator(in, shape_of_tensor);
  Config& c = file.config;
  in.only("normalize_before", false);
  in.only("add_final_layer_norm", false);
  in.only("static_position_embeddings", false);
  c.block = BlockKind::kPostNorm;
  c.activation = in.activation("activation_function", "gelu");
  c.positions = PositionKind::kLearned;
  c.position_offset = 2;  // whatever the id of padding is
  file.begin = kUsualBegin;
  // As older files say it.
  if (in.flag_or("force_bos_token_to_be_generated", false))
    file.forced = {in.whole_or("bos_token_id", 0, 0, static_cast<int>(file.vocab) - 1)};
  c.embed_norm = true;
  return file;
}

ModelFile read_m2m_100(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file = read_translator(in, shape_of_tensor);
  Config& c = file.config;
  c.block = BlockKind::kPreNorm;
  c.activation = in.activation("activation_function", "relu");
  c.embed_scale = in.flag_or("scale_embedding", true);
  c.positions = PositionKind::kSinusoidal;
  c.sinusoid = Sinusoid::kHalvesToEnd;
  c.position_offset = in.whole_or("pad_token_id", 1, 0, kMaxPositionOffset - 1) + 1;
  file.unplaced = c.position_offset - 1;
  file.begin = kUsualBegin;
  return file;
}

// One table for both stacks, of which the file may hold several copies: as others read it, that of
// its own name counts.
bool has_one_table(const FolderConfig& in) {
  return in.flag_or("tie_word_embeddings", true) &&
         in.flag_or("share_encoder_decoder_embeddings", true);
}

// Of the stack: "layers.{l}." of the encoder or of the decoder.
std::vector<WeightRow> translator_rows(const FolderConfig& in, const TensorShapes&) {
  const Section attention = Section::kAttention, crosses = Section::kCrossAttention,
                network = Section::kFeedForward, input = Section::kInput,
                end = Section::kPrediction;
  const bool one = has_one_table(in);
  return {
      {Role::kTokenTable,
       one ? "shared.weight|encoder.embed_tokens.weight|decoder.embed_tokens.weight"
           : "encoder.embed_tokens.weight|shared.weight|decoder.embed_tokens.weight",
       {},
       0,
       1,
       {},
       Stack::kEncoder},
      {Role::kTokenTable,
       one ? "shared.weight|decoder.embed_tokens.weight|lm_head.weight"
           : "decoder.embed_tokens.weight|shared.weight|lm_head.weight",
       {},
       0,
       1,
       {},
       Stack::kDecoder},
      {Role::kPositionTable, "{s}.embed_positions.weight"},
      {Role::kNormScale, "{s}.layernorm_embedding.weight", {}, 0, 1, input},
      {Role::kNormShift, "{s}.layernorm_embedding.bias", {}, 0, 1, input},
      {Role::kNormScale, "{s}.layers.{l}.self_attn_layer_norm.weight", {}, 0, 1, attention},
      {Role::kNormShift, "{s}.layers.{l}.self_attn_layer_norm.bias", {}, 0, 1, attention},
      {Role::kQueryWeight, "{s}.layers.{l}.self_attn.q_proj.weight", kProduct, 0, 1, attention},
      {Role::kKeyWeight, "{s}.layers.{l}.self_attn.k_proj.weight", kProduct, 0, 1, attention},
      {Role::kValueWeight, "{s}.layers.{l}.self_attn.v_proj.weight", kProduct, 0, 1, attention},
      {Role::kOutputWeight, "{s}.layers.{l}.self_attn.out_proj.weight", kProduct, 0, 1, attention},
      {Role::kQueryBias, "{s}.layers.{l}.self_attn.q_proj.bias", kProduct, 0, 1, attention},
      {Role::kKeyBias, "{s}.layers.{l}.self_attn.k_proj.bias", kProduct, 0, 1, attention},
      {Role::kValueBias, "{s}.layers.{l}.self_attn.v_proj.bias", kProduct, 0, 1, attention},
      {Role::kOutputBias, "{s}.layers.{l}.self_attn.out_proj.bias", {}, 0, 1, attention},
      {Role::kNormScale, "decoder.layers.{l}.encoder_attn_layer_norm.weight", {}, 0, 1, crosses},
      {Role::kNormShift, "decoder.layers.{l}.encoder_attn_layer_norm.bias", {}, 0, 1, crosses},
      {Role::kQueryWeight, "decoder.layers.{l}.encoder_attn.q_proj.weight", kProduct, 0, 1,
       crosses},
      {Role::kKeyWeight, "decoder.layers.{l}.encoder_attn.k_proj.weight", kProduct, 0, 1, crosses},
      {Role::kValueWeight, "decoder.layers.{l}.encoder_attn.v_proj.weight", kProduct, 0, 1,
       crosses},
      {Role::kOutputWeight, "decoder.layers.{l}.encoder_attn.out_proj.weight", kProduct, 0, 1,
       crosses},
      {Role::kQueryBias, "decoder.layers.{l}.encoder_attn.q_proj.bias", kProduct, 0, 1, crosses},
      {Role::kKeyBias, "decoder.layers.{l}.encoder_attn.k_proj.bias", kProduct, 0, 1, crosses},
      {Role::kValueBias, "decoder.layers.{l}.encoder_attn.v_proj.bias", kProduct, 0, 1, crosses},
      {Role::kOutputBias, "decoder.layers.{l}.encoder_attn.out_proj.bias", {}, 0, 1, crosses},
      {Role::kNormScale, "{s}.layers.{l}.final_layer_norm.weight", {}, 0, 1, network},
      {Role::kNormShift, "{s}.layers.{l}.final_layer_norm.bias", {}, 0, 1, network},
      {Role::kHiddenWeight, "{s}.layers.{l}.fc1.weight", kProduct},
      {Role::kHiddenBias, "{s}.layers.{l}.fc1.bias"},
      {Role::kFeedForwardWeight, "{s}.layers.{l}.fc2.weight", kProduct},
      {Role::kFeedForwardBias, "{s}.layers.{l}.fc2.bias"},
      {Role::kNormScale, "{s}.layer_norm.weight", {}, 0, 1, end},
      {Role::kNormShift, "{s}.layer_norm.bias", {}, 0, 1, end},
      {Role::kUnembedding, "lm_head.weight", kProduct},
      {Role::kUnembeddingBias, "final_logits_bias|lm_head.bias"}};
}

}  // namespace

FolderType marian_type() { return {"marian", read_marian, translator_rows, {}, {"model."}}; }
FolderType bart_type() {
  return {"bart", read_bart, translator_rows, {"ConditionalGeneration"}, {"model."}};
}
FolderType m2m_100_type() {
  return {"m2m_100", read_m2m_100, translator_rows, {"ConditionalGeneration"}, {"model."}};
}

}  // namespace headlight
