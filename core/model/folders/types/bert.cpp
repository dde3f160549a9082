// BERT (Devlin et al. 2019) and what follows its layout: DistilBERT (Sanh et al. 2019) without
// segments, RoBERTa (Liu et al. 2019) with positions that begin behind that of padding. Each as a
// model of hidden tokens, as a classifier, or without a head: then the last step sets the rows
// beside those of the table.
#include <algorithm>

#include "core/model/folders/types/types.h"

namespace headlight {
namespace {

// Of the rows of the last layer onto the vocabulary, where it is not the table of tokens.
constexpr const char *kBertProjection = "cls.predictions.decoder.weight",
                     *kRobertaProjection = "lm_head.decoder.weight",
                     *kDistilbertProjection = "vocab_projector.weight";

// What the three share.
void set_encoder(const FolderConfig& in, ModelFile& file) {
  file.vocab = in.whole("vocab_size", 1, kLargestVocab);
  Config& c = file.config;
  c.block = BlockKind::kPostNorm;
  c.positions = PositionKind::kLearned;
  c.mask.kind = MaskKind::kNone;
  c.embed_norm = true;
  c.norm_epsilon = 1e-12;
  c.tied_head = true;
}

// Names of classes: "id2label" {"0": "LABEL_0", …}, or else as many numbers as the head has rows.
// One that several have has its number behind it, so that they can be told apart.
std::vector<std::string> class_names(const FolderConfig& in, std::int64_t rows) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < rows; ++i) names.push_back(std::to_string(i));
  if (!in.has("id2label") || !in.at("id2label").is_object()) return names;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto found = in.at("id2label").find(std::to_string(i));
    if (found != in.at("id2label").end() && found->is_string())
      names[static_cast<std::size_t>(i)] = found->get<std::string>();
  }
  const std::vector<std::string> said = names;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::ranges::count(said, said[i]) > 1) names[i] += " (" + std::to_string(i) + ")";
  return names;
}

void set_classifier(const FolderConfig& in, ModelFile& file, Pooler pooler, std::int64_t rows) {
  // The others make a probability of each class by itself, or none.
  constexpr const char* kOneClass = "single_label_classification";
  in.one_of("problem_type", kOneClass, {kOneClass});
  file.config.form = ModelForm::kClasses;
  file.config.pool = PoolKind::kFirst;
  file.config.pooler = pooler;
  file.config.tied_head = false;
  file.classes = class_names(in, rows);
}

// A projection in the file counts only where the config says that it is not the table.
void set_hidden_tokens(const FolderConfig& in, bool has_projection, Config& c) {
  c.head_transform = true;
  c.head_bias = true;
  c.tied_head = ties_head(in, has_projection);
}

// The head that the config names, else the one whose weights (`classes`: their shape) are there.
enum class Head { kNone, kClasses, kTokens };
Head head_of(const FolderConfig& in, const std::vector<std::int64_t>* classes, bool tokens) {
  const std::string named = named_head(in);
  if (named == "SequenceClassification") return Head::kClasses;
  if (!named.empty()) return Head::kTokens;
  if (classes && !classes->empty()) return Head::kClasses;
  return tokens ? Head::kTokens : Head::kNone;
}

// As many as the head has rows. Where it has none, that is said by its name.
std::int64_t class_count(const std::vector<std::int64_t>* shape) {
  constexpr std::int64_t kUsual = 2;
  return shape && !shape->empty() ? (*shape)[0] : kUsual;
}

void set_sizes(const FolderConfig& in, Config& c) {
  c.layers = in.whole("num_hidden_layers", 1, kMaxLayers);
  c.heads = in.whole("num_attention_heads", 1, kMaxHeads);
  c.d_model = in.whole("hidden_size", 1, kMaxWidth);
  c.d_hidden = in.whole("intermediate_size", 1, kMaxWidth);
  c.activation = in.activation("hidden_act", "gelu");
  c.norm_epsilon = in.epsilon_or("layer_norm_eps", c.norm_epsilon);
  in.one_of("position_embedding_type", "absolute", {"absolute"});
  in.only("is_decoder", false);
  in.only("add_cross_attention", false);
}

ModelFile read_bert(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file;
  set_encoder(in, file);
  set_sizes(in, file.config);
  file.context = in.whole("max_position_embeddings", 1, kLargestContext);
  const int segments = in.whole_or("type_vocab_size", 2, 0, kSegments);
  file.config.segments = segments > 0;
  if (segments > 0) file.config.segment_rows = segments;
  const auto* classes = shape_of_tensor("classifier.weight");
  const Head head =
      head_of(in, classes, shape_of_tensor("cls.predictions.transform.dense.weight") != nullptr);
  if (head == Head::kClasses) set_classifier(in, file, Pooler::kTanh, class_count(classes));
  if (head == Head::kTokens)
    set_hidden_tokens(in, shape_of_tensor(kBertProjection) != nullptr, file.config);
  return file;
}

// RoBERTa's tokens are all of the first segment: of a table of several rows, which may be there,
// the first is added to every token.
constexpr const char* kSegmentTable = "embeddings.token_type_embeddings.weight";
int segment_rows(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  constexpr int kMost = 1024, kUsual = 2;
  const auto* table = shape_of_tensor(kSegmentTable);
  const bool there = table && !table->empty() && (*table)[0] > 0 && (*table)[0] <= kMost;
  return in.whole_or("type_vocab_size", there ? static_cast<int>((*table)[0]) : kUsual, 0, kMost);
}

ModelFile read_roberta(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file;
  set_encoder(in, file);
  set_sizes(in, file.config);
  Config& c = file.config;
  c.position_offset = in.whole_or("pad_token_id", 1, 0, kMaxPositionOffset - 1) + 1;
  file.unplaced = c.position_offset - 1;
  file.context = in.whole("max_position_embeddings", c.position_offset + 1, kLargestContext) -
                 c.position_offset;
  c.segments = segment_rows(in, shape_of_tensor) > 0;
  if (c.segments) c.segment_rows = 1;
  const auto* classes = shape_of_tensor("classifier.out_proj.weight");
  const Head head = head_of(in, classes, shape_of_tensor("lm_head.dense.weight") != nullptr);
  if (head == Head::kClasses) set_classifier(in, file, Pooler::kTanh, class_count(classes));
  if (head == Head::kTokens) {
    set_hidden_tokens(in, shape_of_tensor(kRobertaProjection) != nullptr, c);
    // The head computes GELU whatever the layers do.
    if (c.activation != Activation::kGelu) in.refuse("hidden_act", "gelu");
  }
  return file;
}

ModelFile read_distilbert(const FolderConfig& in, const TensorShapes& shape_of_tensor) {
  ModelFile file;
  set_encoder(in, file);
  Config& c = file.config;
  c.layers = in.whole("n_layers", 1, kMaxLayers);
  c.heads = in.whole("n_heads", 1, kMaxHeads);
  c.d_model = in.whole("dim", 1, kMaxWidth);
  c.d_hidden = in.whole("hidden_dim", 1, kMaxWidth);
  c.activation = in.activation("activation", "gelu");
  file.context = in.whole("max_position_embeddings", 1, kLargestContext);
  const auto* classes = shape_of_tensor("classifier.weight");
  const Head head = head_of(in, classes, shape_of_tensor("vocab_transform.weight") != nullptr);
  if (head == Head::kClasses) set_classifier(in, file, Pooler::kRelu, class_count(classes));
  if (head == Head::kTokens)
    set_hidden_tokens(in, shape_of_tensor(kDistilbertProjection) != nullptr, c);
  return file;
}

// The layers of BERT and RoBERTa. Older files call a norm's numbers gamma and beta.
std::vector<WeightRow> encoder_rows(int segments = 1) {
  const Section attention = Section::kAttention, network = Section::kFeedForward,
                input = Section::kInput;
  return {
      {Role::kTokenTable, "embeddings.word_embeddings.weight"},
      {Role::kPositionTable, "embeddings.position_embeddings.weight"},
      {Role::kSegmentTable, kSegmentTable, {}, 0, segments},
      {Role::kNormScale, "embeddings.LayerNorm.weight|embeddings.LayerNorm.gamma", {}, 0, 1, input},
      {Role::kNormShift, "embeddings.LayerNorm.bias|embeddings.LayerNorm.beta", {}, 0, 1, input},
      {Role::kQueryWeight, "encoder.layer.{l}.attention.self.query.weight", kProduct},
      {Role::kKeyWeight, "encoder.layer.{l}.attention.self.key.weight", kProduct},
      {Role::kValueWeight, "encoder.layer.{l}.attention.self.value.weight", kProduct},
      {Role::kQueryBias, "encoder.layer.{l}.attention.self.query.bias", kProduct},
      {Role::kKeyBias, "encoder.layer.{l}.attention.self.key.bias", kProduct},
      {Role::kValueBias, "encoder.layer.{l}.attention.self.value.bias", kProduct},
      {Role::kOutputWeight, "encoder.layer.{l}.attention.output.dense.weight", kProduct},
      {Role::kOutputBias, "encoder.layer.{l}.attention.output.dense.bias"},
      {Role::kNormScale,
       "encoder.layer.{l}.attention.output.LayerNorm.weight|"
       "encoder.layer.{l}.attention.output.LayerNorm.gamma",
       {},
       0,
       1,
       attention},
      {Role::kNormShift,
       "encoder.layer.{l}.attention.output.LayerNorm.bias|"
       "encoder.layer.{l}.attention.output.LayerNorm.beta",
       {},
       0,
       1,
       attention},
      {Role::kHiddenWeight, "encoder.layer.{l}.intermediate.dense.weight", kProduct},
      {Role::kHiddenBias, "encoder.layer.{l}.intermediate.dense.bias"},
      {Role::kFeedForwardWeight, "encoder.layer.{l}.output.dense.weight", kProduct},
      {Role::kFeedForwardBias, "encoder.layer.{l}.output.dense.bias"},
      {Role::kNormScale,
       "encoder.layer.{l}.output.LayerNorm.weight|encoder.layer.{l}.output.LayerNorm.gamma",
       {},
       0,
       1,
       network},
      {Role::kNormShift,
       "encoder.layer.{l}.output.LayerNorm.bias|encoder.layer.{l}.output.LayerNorm.beta",
       {},
       0,
       1,
       network}};
}

std::vector<WeightRow> with_rows(std::vector<WeightRow> rows, std::vector<WeightRow> more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

// Of the two that a file may have the projection's own counts; one that is written has the other.
const char* bias_name(const TensorShapes& shape_of, const char* own, const char* usual) {
  return shape_of(own) ? own : usual;
}

std::vector<WeightRow> bert_rows(const FolderConfig&, const TensorShapes& shape_of) {
  const Section end = Section::kPrediction;
  return with_rows(
      encoder_rows(),
      {{Role::kHeadWeight, "cls.predictions.transform.dense.weight", kProduct},
       {Role::kHeadBias, "cls.predictions.transform.dense.bias"},
       {Role::kNormScale,
        "cls.predictions.transform.LayerNorm.weight|cls.predictions.transform.LayerNorm.gamma",
        {},
        0,
        1,
        end},
       {Role::kNormShift,
        "cls.predictions.transform.LayerNorm.bias|cls.predictions.transform.LayerNorm.beta",
        {},
        0,
        1,
        end},
       {Role::kUnembedding, kBertProjection, kProduct},
       {Role::kUnembeddingBias,
        bias_name(shape_of, "cls.predictions.decoder.bias", "cls.predictions.bias")},
       {Role::kPoolerWeight, "pooler.dense.weight", kProduct},
       {Role::kPoolerBias, "pooler.dense.bias"},
       {Role::kClassWeight, "classifier.weight", kProduct},
       {Role::kClassBias, "classifier.bias"}});
}

std::vector<WeightRow> roberta_rows(const FolderConfig& in, const TensorShapes& shape_of) {
  const Section end = Section::kPrediction;
  return with_rows(
      encoder_rows(std::max(segment_rows(in, shape_of), 1)),
      {{Role::kHeadWeight, "lm_head.dense.weight", kProduct},
       {Role::kHeadBias, "lm_head.dense.bias"},
       {Role::kNormScale, "lm_head.layer_norm.weight", {}, 0, 1, end},
       {Role::kNormShift, "lm_head.layer_norm.bias", {}, 0, 1, end},
       {Role::kUnembedding, kRobertaProjection, kProduct},
       {Role::kUnembeddingBias, bias_name(shape_of, "lm_head.decoder.bias", "lm_head.bias")},
       {Role::kPoolerWeight, "classifier.dense.weight", kProduct},
       {Role::kPoolerBias, "classifier.dense.bias"},
       {Role::kClassWeight, "classifier.out_proj.weight", kProduct},
       {Role::kClassBias, "classifier.out_proj.bias"}});
}

std::vector<WeightRow> distilbert_rows(const FolderConfig&, const TensorShapes&) {
  const Section attention = Section::kAttention, network = Section::kFeedForward,
                input = Section::kInput, end = Section::kPrediction;
  return {{Role::kTokenTable, "embeddings.word_embeddings.weight"},
          {Role::kPositionTable, "embeddings.position_embeddings.weight"},
          {Role::kNormScale, "embeddings.LayerNorm.weight", {}, 0, 1, input},
          {Role::kNormShift, "embeddings.LayerNorm.bias", {}, 0, 1, input},
          {Role::kQueryWeight, "transformer.layer.{l}.attention.q_lin.weight", kProduct},
          {Role::kKeyWeight, "transformer.layer.{l}.attention.k_lin.weight", kProduct},
          {Role::kValueWeight, "transformer.layer.{l}.attention.v_lin.weight", kProduct},
          {Role::kQueryBias, "transformer.layer.{l}.attention.q_lin.bias", kProduct},
          {Role::kKeyBias, "transformer.layer.{l}.attention.k_lin.bias", kProduct},
          {Role::kValueBias, "transformer.layer.{l}.attention.v_lin.bias", kProduct},
          {Role::kOutputWeight, "transformer.layer.{l}.attention.out_lin.weight", kProduct},
          {Role::kOutputBias, "transformer.layer.{l}.attention.out_lin.bias"},
          {Role::kNormScale, "transformer.layer.{l}.sa_layer_norm.weight", {}, 0, 1, attention},
          {Role::kNormShift, "transformer.layer.{l}.sa_layer_norm.bias", {}, 0, 1, attention},
          {Role::kHiddenWeight, "transformer.layer.{l}.ffn.lin1.weight", kProduct},
          {Role::kHiddenBias, "transformer.layer.{l}.ffn.lin1.bias"},
          {Role::kFeedForwardWeight, "transformer.layer.{l}.ffn.lin2.weight", kProduct},
          {Role::kFeedForwardBias, "transformer.layer.{l}.ffn.lin2.bias"},
          {Role::kNormScale, "transformer.layer.{l}.output_layer_norm.weight", {}, 0, 1, network},
          {Role::kNormShift, "transformer.layer.{l}.output_layer_norm.bias", {}, 0, 1, network},
          {Role::kHeadWeight, "vocab_transform.weight", kProduct},
          {Role::kHeadBias, "vocab_transform.bias"},
          {Role::kNormScale, "vocab_layer_norm.weight", {}, 0, 1, end},
          {Role::kNormShift, "vocab_layer_norm.bias", {}, 0, 1, end},
          {Role::kUnembedding, kDistilbertProjection, kProduct},
          {Role::kUnembeddingBias, "vocab_projector.bias"},
          {Role::kPoolerWeight, "pre_classifier.weight", kProduct},
          {Role::kPoolerBias, "pre_classifier.bias"},
          {Role::kClassWeight, "classifier.weight", kProduct},
          {Role::kClassBias, "classifier.bias"}};
}

const char* bert_architecture(const Config& c) {
  if (c.form == ModelForm::kClasses) return "BertForSequenceClassification";
  return c.head_transform ? "BertForMaskedLM" : "BertModel";
}

// Others always have rows of segments; a model without them gets rows of zeros.
OrderedJson write_bert(const ModelFile& file) {
  const Config& c = file.config;
  OrderedJson json = {{"architectures", OrderedJson::array({bert_architecture(c)})},
                      {"model_type", "bert"},
                      {"vocab_size", file.vocab},
                      {"max_position_embeddings", file.context},
                      {"type_vocab_size", c.segments ? c.segment_rows : kSegments},
                      {"num_hidden_layers", c.layers},
                      {"num_attention_heads", c.head_count()},
                      {"hidden_size", c.d_model},
                      {"intermediate_size", c.hidden_width()},
                      {"hidden_act", activation_name(c.activation)},
                      {"layer_norm_eps", c.norm_epsilon},
                      {"position_embedding_type", "absolute"},
                      {"tie_word_embeddings", true}};
  if (c.form != ModelForm::kClasses) return json;
  OrderedJson names = OrderedJson::object(), ids = names;
  for (std::size_t i = 0; i < file.classes.size(); ++i) {
    names[std::to_string(i)] = file.classes[i];
    ids[file.classes[i]] = i;
  }
  json["id2label"] = std::move(names);
  json["label2id"] = std::move(ids);
  return json;
}

}  // namespace

FolderType bert_type() {
  return {"bert",
          read_bert,
          bert_rows,
          {"MaskedLM", "PreTraining", "SequenceClassification"},
          {"bert."},
          write_bert,
          {"cls.", "classifier."}};
}
FolderType roberta_type() {
  return {
      "roberta", read_roberta, roberta_rows, {"MaskedLM", "SequenceClassification"}, {"roberta."}};
}
FolderType distilbert_type() {
  return {"distilbert",
          read_distilbert,
          distilbert_rows,
          {"MaskedLM", "SequenceClassification"},
          {"distilbert."}};
}

}  // namespace headlight
