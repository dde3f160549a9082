// build_program: Config -> list of operations. The only place that knows the order of a
// transformer.
#include <cmath>

#include "core/base/error.h"
#include "core/graph/program.h"

namespace headlight {
namespace {

class Builder {
 public:
  Builder(const Config& config, const RunShape& shape, bool dropout = false)
      : c(config), drops_(dropout) {
    p.config = config;
    p.shape = shape;
  }

  Program build() {
    if (c.form == ModelForm::kTranslate) {
      encoder();
      decoder();
    } else {
      p.token_ids = input("token_ids", {batch(), position()});
      p.mask = own_mask();
      if (c.form == ModelForm::kClasses) p.present = input("present", {batch(), position()});
      prediction(layers(p.token_ids, p.mask));
    }
    return std::move(p);
  }

  Program build_for_training() {
    p = build();
    const bool classes = c.form == ModelForm::kClasses;
    p.targets = input("targets", classes ? std::vector{batch()} : std::vector{batch(), position()});
    p.loss = call(StepKind::kLoss, Op::kCrossEntropy, {p.require("logits"), p.targets}, "loss");
    return std::move(p);
  }

 private:
  // ---- the recipe ----

  void encoder() {
    enter(Stack::kEncoder, "encoder.");
    p.source_ids = input("source_ids", {batch(), source()});
    if (p.shape.padded) {
      const std::int64_t n = p.shape.source;
      p.source_mask = input("source_mask", {batch(), {"source_query", n}, {"source_key", n}});
    }
    encoded_ = final_norm(layers(p.source_ids, p.source_mask));
  }

  void decoder() {
    enter(Stack::kDecoder, "decoder.");
    p.token_ids = input("token_ids", {batch(), position()});
    p.mask = own_mask();
    if (p.shape.padded) {
      p.cross_mask = input("cross_mask",
                           {batch(), {"query", p.shape.positions}, {"source_key", p.shape.source}});
    }
    const TensorId x = layers(p.token_ids, p.mask);
    prediction(x);
  }

  // Of a row's attention to itself.
  TensorId own_mask() {
    if (c.mask.kind == MaskKind::kNone && !p.shape.padded) return -1;
    return input("mask", {batch(), {"query", p.shape.positions}, {"key", p.shape.positions}});
  }

  TensorId layers(TensorId ids, TensorId mask) {
    section_ = Section::kInput;
    p.steps.push_back({StepKind::kTokens, section_, -1, {}, ids, stack_});
    TensorId x = embedding(ids);
    for (int layer = 0; layer < c.layers; ++layer) {
      layer_ = layer;
      prefix_ = root_ + "blocks." + std::to_string(layer) + ".";
      x = block(x, mask);
    }
    layer_ = -1;
    prefix_ = root_;
    section_ = Section::kPrediction;
    return x;
  }

  TensorId embedding(TensorId ids) {
    // Source and target share one table, since they share one vocabulary.
    const TensorId known = p.find("embed.W_E");
    const TensorId table =
        known >= 0 ? known : parameter("embed.W_E", {{"vocab", p.shape.vocab}, d_model()});
    TensorId x = call(StepKind::kEmbedding, Op::kEmbed, {ids, table}, "embed");
    if (c.positions == PositionKind::kNone || c.has_rotary()) return x;
    TensorId where = -1;
    if (c.positions == PositionKind::kSinusoidal) {
      OpParams params;
      params.features = c.d_model;
      where = call(StepKind::kPosition, Op::kSinusoid, {ids}, "pos_embed", params);
    } else {
      const TensorId rows = parameter(root_ + "pos_embed.W_pos", {axes_of(ids)[1], d_model()});
      where = call(StepKind::kPosition, Op::kLearnedPosition, {ids, rows}, "pos_embed");
    }
    return call(StepKind::kPositionSum, Op::kAdd, {x, where}, "blocks.0.resid_pre");
  }

  TensorId block(TensorId x, TensorId mask) {
    const bool attends_only = c.block == BlockKind::kAttention;
    const bool crosses = stack_ == Stack::kDecoder;
    section_ = Section::kAttention;
    attn_ = "attn";
    const TensorId pre = alias("resid_pre", x, p.tensors[x].axes);
    TensorId in = before(StepKind::kNormBeforeAttention, pre, "ln1");
    x = after_attention(pre, attention(in, in, mask), "ln1",
                        attends_only && !crosses ? "resid_post" : "resid_mid");
    if (crosses) {
      section_ = Section::kCrossAttention;
      attn_ = "cross_attn";
      in = before(StepKind::kNormBeforeAttention, x, "ln2");
      x = after_attention(x, attention(in, encoded_, p.cross_mask), "ln2",
                          attends_only ? "resid_post" : "resid_mid_cross");
    }
    if (attends_only) return x;
    section_ = Section::kFeedForward;
    return feed_forward(x, crosses ? "ln3" : "ln2");
  }

  TensorId after_attention(TensorId x, TensorId change, const std::string& ln,
                           const std::string& name) {
    change = drop(StepKind::kDropoutAttention, change);
    return after(StepKind::kResidualAttention, StepKind::kNormAfterAttention, {x, change}, ln,
                 name);
  }

  // Queries from the rows of x, keys and values from those of `from`: x itself, or what an encoder
  // made.
  TensorId attention(TensorId x, TensorId from, TensorId mask) {
    const std::int64_t heads = c.head_count(), width = c.head_width();
    const bool basic = c.attention == AttentionKind::kBasic;
    TensorId q = -1, k = -1, v = -1;
    const Axis kv_axis = {c.kv_head_count() == heads ? "head" : "kv_head", c.kv_head_count()};
    if (basic) {
      q = one_head("q", x, width);
      k = one_head("k", from, width);
      v = one_head("v", from, width);
    } else {
      const TensorId all_q = project(StepKind::kQueries, x, "Q", "q_proj", {"head", heads});
      const TensorId all_k = project(StepKind::kKeys, from, "K", "k_proj", kv_axis);
      const TensorId all_v = project(StepKind::kValues, from, "V", "v_proj", kv_axis);
      q = split(all_q, "Q", "q");
      k = split(all_k, "K", "k");
      v = split(all_v, "V", "v");
    }
    if (c.has_rotary() && attn_ == "attn") {
      q = rotary(StepKind::kQueries, q, "rot_q");
      k = rotary(StepKind::kKeys, k, "rot_k");
    }
    const TensorId pattern = drop(StepKind::kDropoutPattern, weights(q, k, mask));
    const TensorId z = call(StepKind::kWeightedSum, Op::kWeightedSum, {pattern, v}, attn_ + ".z");
    const Axis& place = axes_of(x)[1];
    const std::vector<Axis> concat_axes = {
        batch(), {query_word(place.name), place.size}, {"feature", heads * width}};
    const TensorId concat =
        c.attention == AttentionKind::kNarrow || c.attention == AttentionKind::kWide
            ? call(StepKind::kConcat, Op::kConcatHeads, {z}, attn_ + ".concat")
            : alias(attn_ + ".concat", z, concat_axes);
    if (basic) return alias(attn_ + "_out", concat, axes_of(x));
    const TensorId w_o =
        parameter(prefix_ + attn_ + ".W_O", {{"head", heads}, {"d_head", width}, d_model()});
    return linear(StepKind::kOutput, concat, w_o, prefix_ + attn_ + ".b_O", attn_ + "_out");
  }

  TensorId rotary(StepKind kind, TensorId x, const std::string& name) {
    OpParams params;
    params.turned = c.rotary_width;
    params.interleaved = c.rotary == RotaryPairs::kInterleaved;
    params.base = c.rotary_base;
    return call(kind, Op::kRotary, {x}, attn_ + "." + name, params);
  }

  // queries and keys -> the attention pattern
  TensorId weights(TensorId q, TensorId k, TensorId mask) {
    TensorId s = -1;
    if (c.scores == ScoreKind::kAdditive) {
      // The field calls this vector v as well; in a weights file it is attn.v (see weight_name),
      // but inside a program that name belongs to the values.
      const TensorId v = parameter(prefix_ + attn_ + ".score_v",
                                   {{"head", c.head_count()}, {"d_head", c.head_width()}});
      s = call(StepKind::kScores, Op::kAdditiveScores, {q, k, v}, attn_ + ".scores_raw");
    } else {
      s = call(StepKind::kScores, Op::kScores, {q, k}, attn_ + ".scores_raw");
    }
    if (c.scale) {
      OpParams params;
      params.factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.head_width())));
      s = call(StepKind::kScale, Op::kScale, {s}, attn_ + ".scores_scaled", params);
    }
    if (mask >= 0) s = call(StepKind::kMask, Op::kMask, {s, mask}, attn_ + ".scores_masked");
    OpParams params;
    params.temperature = c.temperature;
    return call(StepKind::kSoftmax, Op::kSoftmax, {s}, attn_ + ".pattern", params);
  }

  static Op activation(Activation kind) {
    switch (kind) {
      case Activation::kRelu:
        return Op::kRelu;
      case Activation::kGeluTanh:
        return Op::kGeluTanh;
      case Activation::kSilu:
      case Activation::kSwiglu:
        return Op::kSilu;
      case Activation::kGelu:
      case Activation::kGeglu:
        break;
    }
    return Op::kGelu;
  }

  TensorId feed_forward(TensorId mid, const std::string& ln) {
    TensorId x = before(StepKind::kNormBeforeFeedForward, mid, ln);
    const Axis hidden = {"hidden", c.hidden_width()};
    const auto product = [&](TensorId of, const std::string& letter, const std::string& name) {
      const TensorId w = parameter(prefix_ + "mlp.W_" + letter, {d_model(), hidden});
      return linear(StepKind::kFeedForwardIn, of, w, prefix_ + "mlp.b_" + letter, "mlp." + name);
    };
    if (c.is_gated()) {
      const TensorId gate = call(StepKind::kActivation, activation(c.activation),
                                 {product(x, "gate", "pre")}, "mlp.act");
      x = call(StepKind::kActivation, Op::kMultiply, {gate, product(x, "in", "pre_linear")},
               "mlp.post");
    } else {
      x = call(StepKind::kActivation, activation(c.activation), {product(x, "in", "pre")},
               "mlp.post");
    }
    const TensorId w_out = parameter(prefix_ + "mlp.W_out", {hidden, d_model()});
    x = linear(StepKind::kFeedForwardOut, x, w_out, prefix_ + "mlp.b_out", "mlp_out");
    x = drop(StepKind::kDropoutFeedForward, x);
    return after(StepKind::kResidualFeedForward, StepKind::kNormAfterFeedForward, {mid, x}, ln,
                 "resid_post");
  }

  TensorId final_norm(TensorId x) {
    return c.block == BlockKind::kPreNorm ? norm(StepKind::kFinalNorm, x, "ln_final") : x;
  }

  void prediction(TensorId x) {
    x = final_norm(x);
    prefix_.clear();
    if (c.form == ModelForm::kClasses) {
      x = call(StepKind::kMeanPool, Op::kMeanPool, {x, p.present}, "pooled");
      const TensorId w_c = parameter("classify.W_C", {d_model(), {"class", p.shape.classes}});
      x = linear(StepKind::kLogits, x, w_c, "classify.b_C", "logits");
    } else {
      const TensorId w_u = parameter("unembed.W_U", {d_model(), {"vocab", p.shape.vocab}});
      x = linear(StepKind::kLogits, x, w_u, "unembed.b_U", "logits");
    }
    call(StepKind::kProbabilities, Op::kSoftmax, {x}, "probs");
  }

  // ---- pieces ----

  void enter(Stack stack, const std::string& root) {
    stack_ = stack;
    root_ = prefix_ = root;
  }

  Axis batch() const { return {"batch", p.shape.batch}; }
  Axis position() const { return {"position", p.shape.positions}; }
  Axis source() const { return {"source", p.shape.source}; }
  Axis d_model() const { return {"d_model", c.d_model}; }
  const std::vector<Axis>& axes_of(TensorId id) const { return p.tensors[id].axes; }

  TensorId add(std::string name, std::vector<Axis> axes, TensorKind kind, TensorId source = -1) {
    const auto id = static_cast<TensorId>(p.tensors.size());
    p.by_name.emplace(name, id);
    p.tensors.push_back({std::move(name), std::move(axes), kind, source});
    return id;
  }

  TensorId input(std::string name, std::vector<Axis> axes) {
    return add(std::move(name), std::move(axes), TensorKind::kInput);
  }

  TensorId parameter(std::string name, std::vector<Axis> axes) {
    return add(std::move(name), std::move(axes), TensorKind::kParameter);
  }

  // Another name for a tensor that a switched-off step would only have copied.
  TensorId alias(const std::string& name, TensorId source, std::vector<Axis> axes) {
    const std::string full = prefix_ + name;
    if (p.tensors[source].name == full) return source;
    return add(full, std::move(axes), TensorKind::kAlias, source);
  }

  TensorId one_head(const std::string& name, TensorId x, std::int64_t width) {
    return alias(attn_ + "." + name, x, {batch(), {"head", 1}, axes_of(x)[1], {"d_head", width}});
  }

  TensorId call(StepKind kind, Op op, std::vector<TensorId> in, const std::string& name,
                OpParams params = {}) {
    std::vector<TensorView> views;
    for (TensorId id : in) views.push_back(p.look(id));
    const TensorId out =
        add(prefix_ + name, op_info(op).shape(views, params), TensorKind::kActivation);
    const int index = static_cast<int>(p.calls.size());
    p.calls.push_back({op, std::move(in), out, params});
    const bool joins = kind == StepKind::kSplit && p.steps.back().kind == kind;
    if (joins) {
      p.steps.back().calls.push_back(index);
    } else {
      p.steps.push_back({kind, section_, layer_, {index}, out, stack_});
    }
    return out;
  }

  TensorId linear(StepKind kind, TensorId x, TensorId w, const std::string& bias,
                  const std::string& name) {
    std::vector<TensorId> in = {x, w};
    if (c.bias) {
      Axis outer = axes_of(w).back();
      in.push_back(parameter(bias, {outer}));
    }
    return call(kind, Op::kLinear, std::move(in), name);
  }

  TensorId project(StepKind kind, TensorId x, const std::string& letter, const std::string& name,
                   const Axis& head) {
    const Axis width = {"d_head", c.head_width()};
    const std::string at = prefix_ + attn_ + ".";
    std::vector<TensorId> in = {x, parameter(at + "W_" + letter, {head, d_model(), width})};
    if (c.bias) in.push_back(parameter(at + "b_" + letter, {head, width}));
    return call(kind, Op::kProject, std::move(in), attn_ + "." + name);
  }

  // With one head there is nothing to split: q is another name for the projection.
  TensorId split(TensorId all, const std::string& letter, const std::string& name) {
    if (c.attention == AttentionKind::kSingle) return one_head(name, all, c.head_width());
    return call(StepKind::kSplit, Op::kSplitHeads, {all, p.find(prefix_ + attn_ + ".W_" + letter)},
                attn_ + "." + name);
  }

  TensorId norm(StepKind kind, TensorId x, const std::string& name) {
    std::vector<TensorId> in = {x, parameter(prefix_ + name + ".w", {d_model()})};
    const bool layer = c.norm == NormKind::kLayer;
    if (c.bias && layer) in.push_back(parameter(prefix_ + name + ".b", {d_model()}));
    return call(kind, layer ? Op::kLayerNorm : Op::kRmsNorm, std::move(in), name + ".normalized");
  }

  // What a sublayer starts from.
  TensorId before(StepKind kind, TensorId x, const std::string& ln) {
    return c.block == BlockKind::kPreNorm ? norm(kind, x, ln) : x;
  }

  // What a sublayer ends with: its change joined to what it started from.
  struct Joined {
    TensorId x, change;
  };
  TensorId after(StepKind join_kind, StepKind norm_kind, Joined in, const std::string& ln,
                 const std::string& name) {
    if (c.block != BlockKind::kPostNorm) return join(join_kind, in.x, in.change, name);
    const TensorId sum = join(join_kind, in.x, in.change, ln + ".input");
    return alias(name, norm(norm_kind, sum, ln), axes_of(sum));
  }

  TensorId drop(StepKind kind, TensorId x) {
    if (!drops_) return x;
    const std::string name = p.tensors[x].name;
    p.dropout.push_back(input(name + ".dropout", axes_of(x)));
    return call(kind, Op::kDropout, {x, p.dropout.back()},
                name.substr(prefix_.size()) + ".dropped");
  }

  // x + y, or only y where the residual is switched off
  TensorId join(StepKind kind, TensorId x, TensorId y, const std::string& name) {
    if (c.residual) return call(kind, Op::kAdd, {x, y}, name);
    return alias(name, y, axes_of(x));
  }

  const Config& c;
  const bool drops_;
  Program p;
  Stack stack_ = Stack::kOnly;
  Section section_ = Section::kInput;
  int layer_ = -1;
  TensorId encoded_ = -1;      // what the encoder ends with
  std::string root_, prefix_;  // "decoder.", "decoder.blocks.0."
  std::string attn_;           // "attn" or "cross_attn"
};

void check_shape(const Config& c, const RunShape& shape) {
  validate(c);
  if (c.form == ModelForm::kClasses && shape.classes < 2)
    throw UsageError(Message{"error.form_classes", {{"got", std::to_string(shape.classes)}}});
  if (c.form == ModelForm::kTranslate && shape.source < 1)
    throw UsageError(Message{"error.form_source"});
}

}  // namespace

Program build_program(const Config& config, const RunShape& shape) {
  check_shape(config, shape);
  return Builder(config, shape).build();
}

Program build_training_program(const Config& config, const RunShape& shape, bool dropout) {
  check_shape(config, shape);
  return Builder(config, shape, dropout).build_for_training();
}

}  // namespace headlight
