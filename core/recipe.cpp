// build_program: Config -> list of operations. The only place that knows the order of a
// transformer.
#include <cmath>

#include "core/program.h"

namespace headlight {
namespace {

class Builder {
 public:
  Builder(const Config& config, const RunShape& shape) : c(config) {
    p.config = config;
    p.shape = shape;
  }

  Program build() {
    p.token_ids = input("token_ids", {{"batch", p.shape.batch}, {"position", p.shape.positions}});
    if (c.mask.kind != MaskKind::kNone) {
      p.mask = input(
          "mask",
          {{"batch", p.shape.batch}, {"query", p.shape.positions}, {"key", p.shape.positions}});
    }
    p.steps.push_back({StepKind::kTokens, Section::kInput, -1, {}, p.token_ids});
    TensorId x = embedding();
    for (int layer = 0; layer < c.layers; ++layer) {
      layer_ = layer;
      prefix_ = "blocks." + std::to_string(layer) + ".";
      x = block(x);
    }
    layer_ = -1;
    prefix_.clear();
    prediction(x);
    return std::move(p);
  }

  Program build_for_training() {
    p = build();
    p.targets = input("targets", {{"batch", p.shape.batch}, {"position", p.shape.positions}});
    p.loss = call(StepKind::kLoss, Op::kCrossEntropy, {p.require("logits"), p.targets}, "loss");
    return std::move(p);
  }

 private:
  // ---- the recipe ----

  TensorId embedding() {
    section_ = Section::kInput;
    const TensorId table = parameter("embed.W_E", {{"vocab", p.shape.vocab}, d_model()});
    TensorId x = call(StepKind::kEmbedding, Op::kEmbed, {p.token_ids, table}, "embed");
    if (c.positions == PositionKind::kNone) return x;
    TensorId where = -1;
    if (c.positions == PositionKind::kSinusoidal) {
      OpParams params;
      params.features = c.d_model;
      where = call(StepKind::kPosition, Op::kSinusoid, {p.token_ids}, "pos_embed", params);
    } else {
      const TensorId rows =
          parameter("pos_embed.W_pos", {{"position", p.shape.positions}, d_model()});
      where = call(StepKind::kPosition, Op::kLearnedPosition, {p.token_ids, rows}, "pos_embed");
    }
    return call(StepKind::kPositionSum, Op::kAdd, {x, where}, "blocks.0.resid_pre");
  }

  TensorId block(TensorId x) {
    section_ = Section::kAttention;
    const TensorId pre = alias("resid_pre", x, p.tensors[x].axes);
    const TensorId input =
        c.block == BlockKind::kPreNorm ? norm(StepKind::kNormBeforeAttention, pre, "ln1") : pre;
    const TensorId attended = attention(input);
    if (c.block == BlockKind::kAttention) {
      return join(StepKind::kResidualAttention, pre, attended, "resid_post");
    }
    TensorId mid = -1;
    if (c.block == BlockKind::kPostNorm) {
      const TensorId sum = join(StepKind::kResidualAttention, pre, attended, "ln1.input");
      mid = alias("resid_mid", norm(StepKind::kNormAfterAttention, sum, "ln1"), axes_of(sum));
    } else {
      mid = join(StepKind::kResidualAttention, pre, attended, "resid_mid");
    }
    section_ = Section::kFeedForward;
    return feed_forward(mid);
  }

  TensorId attention(TensorId x) {
    const std::int64_t heads = c.head_count(), width = c.head_width();
    const bool basic = c.attention == AttentionKind::kBasic;
    TensorId q = -1, k = -1, v = -1;
    if (basic) {
      q = one_head("attn.q", x, width);
      k = one_head("attn.k", x, width);
      v = one_head("attn.v", x, width);
    } else {
      const TensorId all_q = project(StepKind::kQueries, x, "Q", "q_proj");
      const TensorId all_k = project(StepKind::kKeys, x, "K", "k_proj");
      const TensorId all_v = project(StepKind::kValues, x, "V", "v_proj");
      q = split(all_q, "Q", "attn.q");
      k = split(all_k, "K", "attn.k");
      v = split(all_v, "V", "attn.v");
    }
    const TensorId pattern = weights(q, k);
    const TensorId z = call(StepKind::kWeightedSum, Op::kWeightedSum, {pattern, v}, "attn.z");
    const std::vector<Axis> concat_axes = {
        {"batch", p.shape.batch}, {"query", p.shape.positions}, {"feature", heads * width}};
    const TensorId concat =
        c.attention == AttentionKind::kNarrow || c.attention == AttentionKind::kWide
            ? call(StepKind::kConcat, Op::kConcatHeads, {z}, "attn.concat")
            : alias("attn.concat", z, concat_axes);
    if (basic) return alias("attn_out", concat, axes_of(x));
    const TensorId w_o =
        parameter(prefix_ + "attn.W_O", {{"head", heads}, {"d_head", width}, d_model()});
    return linear(StepKind::kOutput, concat, w_o, prefix_ + "attn.b_O", "attn_out");
  }

  // queries and keys -> the attention pattern
  TensorId weights(TensorId q, TensorId k) {
    TensorId s = -1;
    if (c.scores == ScoreKind::kAdditive) {
      // The field calls this vector v as well; in a weights file it is attn.v (see weight_name),
      // but inside a program that name belongs to the values.
      const TensorId v = parameter(prefix_ + "attn.score_v",
                                   {{"head", c.head_count()}, {"d_head", c.head_width()}});
      s = call(StepKind::kScores, Op::kAdditiveScores, {q, k, v}, "attn.scores_raw");
    } else {
      s = call(StepKind::kScores, Op::kScores, {q, k}, "attn.scores_raw");
    }
    if (c.scale) {
      OpParams params;
      params.factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.head_width())));
      s = call(StepKind::kScale, Op::kScale, {s}, "attn.scores_scaled", params);
    }
    if (p.mask >= 0) {
      s = call(StepKind::kMask, Op::kMask, {s, p.mask}, "attn.scores_masked");
    }
    OpParams params;
    params.temperature = c.temperature;
    return call(StepKind::kSoftmax, Op::kSoftmax, {s}, "attn.pattern", params);
  }

  TensorId feed_forward(TensorId mid) {
    const bool pre_norm = c.block == BlockKind::kPreNorm;
    TensorId x = pre_norm ? norm(StepKind::kNormBeforeFeedForward, mid, "ln2") : mid;
    const Axis hidden = {"hidden", c.hidden_width()};
    const TensorId w_in = parameter(prefix_ + "mlp.W_in", {d_model(), hidden});
    x = linear(StepKind::kFeedForwardIn, x, w_in, prefix_ + "mlp.b_in", "mlp.pre");
    const Op op = c.activation == Activation::kRelu   ? Op::kRelu
                  : c.activation == Activation::kGelu ? Op::kGelu
                                                      : Op::kGeluTanh;
    x = call(StepKind::kActivation, op, {x}, "mlp.post");
    const TensorId w_out = parameter(prefix_ + "mlp.W_out", {hidden, d_model()});
    x = linear(StepKind::kFeedForwardOut, x, w_out, prefix_ + "mlp.b_out", "mlp_out");
    if (pre_norm) return join(StepKind::kResidualFeedForward, mid, x, "resid_post");
    const TensorId sum = join(StepKind::kResidualFeedForward, mid, x, "ln2.input");
    return alias("resid_post", norm(StepKind::kNormAfterFeedForward, sum, "ln2"), axes_of(sum));
  }

  void prediction(TensorId x) {
    section_ = Section::kPrediction;
    if (c.block == BlockKind::kPreNorm) x = norm(StepKind::kFinalNorm, x, "ln_final");
    const TensorId w_u = parameter("unembed.W_U", {d_model(), {"vocab", p.shape.vocab}});
    x = linear(StepKind::kLogits, x, w_u, "unembed.b_U", "logits");
    call(StepKind::kProbabilities, Op::kSoftmax, {x}, "probs");
  }

  // ---- pieces ----

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
    return alias(name, x,
                 {{"batch", p.shape.batch},
                  {"head", 1},
                  {"position", p.shape.positions},
                  {"d_head", width}});
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
      p.steps.push_back({kind, section_, layer_, {index}, out});
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

  TensorId project(StepKind kind, TensorId x, const std::string& letter, const std::string& name) {
    const Axis head = {"head", c.head_count()};
    const Axis width = {"d_head", c.head_width()};
    std::vector<TensorId> in = {
        x, parameter(prefix_ + "attn.W_" + letter, {head, {"d_model", c.d_model}, width})};
    if (c.bias) in.push_back(parameter(prefix_ + "attn.b_" + letter, {head, width}));
    return call(kind, Op::kProject, std::move(in), "attn." + name);
  }

  // With one head there is nothing to split: q is another name for the projection.
  TensorId split(TensorId all, const std::string& letter, const std::string& name) {
    if (c.attention == AttentionKind::kSingle) return one_head(name, all, c.head_width());
    return call(StepKind::kSplit, Op::kSplitHeads, {all, p.find(prefix_ + "attn.W_" + letter)},
                name);
  }

  TensorId norm(StepKind kind, TensorId x, const std::string& name) {
    const std::string full = (layer_ < 0 ? "" : prefix_) + name;
    std::vector<TensorId> in = {x, parameter(full + ".w", {d_model()})};
    if (c.bias) in.push_back(parameter(full + ".b", {d_model()}));
    return call(kind, Op::kLayerNorm, std::move(in), name + ".normalized");
  }

  // x + y, or only y where the residual is switched off
  TensorId join(StepKind kind, TensorId x, TensorId y, const std::string& name) {
    if (c.residual) return call(kind, Op::kAdd, {x, y}, name);
    return alias(name, y, axes_of(x));
  }

  const Config& c;
  Program p;
  Section section_ = Section::kInput;
  int layer_ = -1;
  std::string prefix_;
};

}  // namespace

Program build_program(const Config& config, const RunShape& shape) {
  validate(config);
  return Builder(config, shape).build();
}

Program build_training_program(const Config& config, const RunShape& shape) {
  validate(config);
  return Builder(config, shape).build_for_training();
}

double memory_needed(const Config& c, const RunShape& s) {
  // In doubles: a slip of the finger may well ask for more bytes than an integer holds.
  const double d = c.d_model, wide = static_cast<double>(c.head_count()) * c.head_width();
  const double hidden = c.has_feed_forward() ? c.hidden_width() : 0;
  const double rows = static_cast<double>(s.batch) * static_cast<double>(s.positions);
  const double pairs = rows * static_cast<double>(s.positions);
  const bool basic = c.attention == AttentionKind::kBasic, feeds = c.has_feed_forward();
  const double weights = basic ? 0 : 4 * d * wide;
  const double wide_rows = basic ? 1 : c.attention == AttentionKind::kSingle ? 4 : 8;
  const double score_maps = 2 + c.scale + (c.mask.kind != MaskKind::kNone);
  const double model_rows = !basic + c.residual + (feeds ? 3 + c.residual : 0);
  const double layer_cells = weights + 2 * d * hidden + (feeds ? 4 * d : 0) +
                             rows * (wide_rows * wide + 2 * hidden + model_rows * d) +
                             score_maps * pairs * c.head_count();
  const double vocab = static_cast<double>(s.vocab);
  const double ends = 2 * d * vocab + 2 * rows * vocab + rows * 4 * d + pairs;
  return sizeof(float) * (c.layers * layer_cells + ends);
}

}  // namespace headlight
