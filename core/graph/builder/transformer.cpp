// build_program: Config -> list of operations. The only place that knows the order of a
// transformer.
#include "core/base/error.h"
#include "core/graph/builder/head_pieces.h"
#include "core/graph/builder/memory_rows.h"
#include "core/graph/program_cost.h"

namespace headlight {
namespace {

class Builder : HeadPieces {
 public:
  Builder(const Config& config, const RunShape& shape, bool dropout = false)
      : HeadPieces(config, shape, dropout) {}

  Program build() {
    if (c.form == ModelForm::kTranslate) {
      encoder();
      decoder();
    } else {
      p.token_ids = input("token_ids", {batch(), position()}, Role::kTokenIds);
      own_masks();
      prediction(layers(p.token_ids));
    }
    return std::move(p);
  }

  Program build_for_training() {
    p = build();
    const bool classes = c.form == ModelForm::kClasses;
    p.targets = input("targets", classes ? std::vector{batch()} : std::vector{batch(), position()},
                      Role::kTargets);
    p.loss = training_loss();
    return std::move(p);
  }

 private:
  // ---- the program ----

  void encoder() {
    enter(Stack::kEncoder, "encoder.");
    p.source_ids = input("source_ids", {batch(), source()}, Role::kTokenIds);
    if (p.shape.padded) {
      const std::int64_t n = p.shape.source;
      p.source_mask =
          input("source_mask", {batch(), {"source_query", n}, {"source_key", n + c.extra_keys()}},
                Role::kMask);
    }
    encoded_ = called("e", final_norm(layers(p.source_ids)));
  }

  void decoder() {
    enter(Stack::kDecoder, "decoder.");
    p.token_ids = input("token_ids", {batch(), position()}, Role::kTokenIds);
    own_masks();
    if (p.shape.padded) {
      p.cross_mask = input(
          "cross_mask",
          {batch(), {"query", p.shape.positions}, {"source_key", p.shape.source + c.extra_keys()}},
          Role::kMask);
    }
    prediction(layers(p.token_ids));
  }

  // Of a row's attention to itself: one mask for all layers, and one for those with a window of
  // their own. What no layer has is not there.
  void own_masks() {
    if (!c.attends()) return;  // no scores to forbid
    const std::int64_t keys = p.shape.memory + p.shape.positions + c.extra_keys();
    const auto mask = [&](const char* name) {
      return input(name, {batch(), {"query", p.shape.positions}, {"key", keys}}, Role::kMask);
    };
    const bool forbids = c.mask.kind != MaskKind::kNone || p.shape.padded;
    const bool all_local = c.layers > 0 && std::ssize(c.local_layers) == c.layers;
    if (forbids && !all_local) p.mask = mask("mask");
    if (!c.local_layers.empty()) p.local_mask = mask("local_mask");
  }

  // The mask of the layer's attention to the row itself.
  TensorId layer_mask() const {
    return stack_ == Stack::kEncoder ? p.source_mask : p.own_mask(layer_);
  }

  TensorId layers(TensorId ids) {
    show(rows_.tokens(stack_), p.calls.size(), ids);
    TensorId x = embedding(ids);
    for (int layer = 0; layer < layer_count(); ++layer) {
      layer_ = layer;
      prefix_ = root_ + "blocks." + std::to_string(layer) + ".";
      x = block(x);
    }
    layer_ = -1;
    prefix_ = root_;
    section_ = Section::kPrediction;
    return x;
  }

  TensorId block(TensorId x) {
    const bool attends_only = !c.has_feed_forward();
    const bool crosses = stack_ == Stack::kDecoder;
    section_ = c.attends() ? Section::kAttention
               : c.mixes() ? Section::kMixer
                           : Section::kFeedForward;
    attn_ = "attn";
    const TensorId pre =
        called(stream("resid_pre"), alias({"resid_pre", Role::kResidual}, x, p.tensors[x].axes));
    first_part_ = true;
    if (!c.mixes()) return feed_forward(pre, pre, "ln2");
    TensorId in = before(pre, "ln1");
    x = after_attention(pre,
                        c.attends() ? attention(in, with_memory(pre, in), layer_mask()) : mixer(in),
                        "ln1", attends_only && !crosses ? "resid_post" : "resid_mid");
    if (crosses) {
      section_ = Section::kCrossAttention;
      attn_ = "cross_attn";
      in = before(part_input(pre, x), "ln2");
      x = after_attention(x, attention(in, encoded_, p.cross_mask), "ln2",
                          attends_only ? "resid_post" : "resid_mid_cross");
    }
    if (attends_only) return x;
    section_ = Section::kFeedForward;
    return feed_forward(part_input(pre, x), x, crosses ? "ln3" : "ln2");
  }

  // What a part of a block starts from: the rows so far or, in a parallel block, the block's input.
  TensorId part_input(TensorId pre, TensorId so_far) const {
    return c.is_parallel() ? pre : so_far;
  }

  // What keys and values are made of: the rows of the segment before, without gradient, and behind
  // them those of this one. With pre-norm both are normed, each row by itself, so that norming
  // before joining gives what norming the joined rows gives (Dai et al. 2019).
  TensorId with_memory(TensorId pre, TensorId in) {
    if (c.memory == 0) return in;
    p.remembered.push_back(pre);
    if (p.shape.memory == 0) return in;
    TensorId memory =
        input(prefix_ + "memory", {batch(), {"memory", p.shape.memory}, d_model()}, Role::kMemory);
    p.memories.push_back(memory);
    if (c.norms_before())
      memory = called("mem′", norm(memory, "ln1", memory_rows_.norm(), "memory_normalized"));
    return call(memory_rows_.join(), Op::kConcatRows, {memory, in},
                {attn_ + ".extended", Role::kExtended});
  }

  TensorId after_attention(TensorId x, TensorId change, const std::string& ln,
                           const std::string& name) {
    change = drop(rows_.drop(), change, Role::kSublayerOutput);
    const bool crosses = section_ == Section::kCrossAttention;
    return after(crosses       ? "step.residual.words.cross"
                 : c.attends() ? "step.residual.words.attention"
                               : "step.residual.words.mixer",
                 {x, change}, ln, name);
  }

  TensorId feed_forward(TensorId from, TensorId mid, const std::string& ln) {
    const TensorId x = before(from, ln);
    const TensorId change =
        drop(rows_.drop(), c.has_experts() ? experts(x) : one_network(x), Role::kSublayerOutput);
    return after("step.residual.words.feed_forward", {mid, change}, ln, "resid_post");
  }

  TensorId one_network(TensorId x) {
    const Axis hidden = {"hidden", c.hidden_width()};
    const auto product = [&](StepRow row, const std::string& letter, Role weight, Role bias,
                             const Named& named) {
      const TensorId w = parameter(prefix_ + "mlp.W_" + letter, {d_model(), hidden}, weight);
      return linear(std::move(row), x, w, {prefix_ + "mlp.b_" + letter, bias}, named,
                    c.has_mlp_bias());
    };
    const auto hidden_product = [&](const std::string& name) {
      return product(rows_.feed_forward_in(), "in", Role::kHiddenWeight, Role::kHiddenBias,
                     {"mlp." + name, Role::kHidden});
    };
    const Named post{"mlp.post", Role::kActivated};
    if (c.is_gated()) {
      const TensorId pre = product(rows_.gate_in(), "gate", Role::kGateWeight, Role::kGateBias,
                                   {"mlp.pre", Role::kGateInput});
      const TensorId gate =
          call(rows_.activation(), activation(c.activation), {pre}, {"mlp.act", Role::kGate});
      const TensorId up = hidden_product("pre_linear");
      called("u", up);  // h is what the gate makes of it
      x = called("h", call(rows_.gate(), Op::kMultiply, {gate, up}, post));
    } else {
      x = call(rows_.activation(), activation(c.activation), {hidden_product("pre")}, post);
    }
    const TensorId w_out =
        parameter(prefix_ + "mlp.W_out", {hidden, d_model()}, Role::kFeedForwardWeight);
    return linear(rows_.feed_forward_out(), x, w_out,
                  {prefix_ + "mlp.b_out", Role::kFeedForwardBias},
                  {"mlp_out", Role::kSublayerOutput}, c.has_mlp_bias());
  }

  // Of the stack that is being made.
  int layer_count() const { return stack_ == Stack::kEncoder ? c.encoder_layer_count() : c.layers; }

  TensorId final_norm(TensorId x) {
    return c.norms_before() && c.layers > 0 ? norm(x, "ln_final", true) : x;
  }

  void prediction(TensorId x) {
    x = final_norm(x);
    prefix_.clear();
    x = transformed(x);
    if (c.form == ModelForm::kClasses) {
      if (c.token_head) token_head(x, table_);
      x = after_pooling(pooled(x));
      const Axis pooled_axis = axes_of(x).back();
      const TensorId w_c = parameter(
          "classify.W_C",
          {pooled_axis.name == "place" ? pooled_axis : d_model(), {"class", p.shape.classes}},
          Role::kClassWeight);
      p.logits = linear(rows_.class_logits(), x, w_c, {"classify.b_C", Role::kClassBias},
                        {"logits", Role::kLogits}, c.has_head_bias());
    } else if (c.numbers) {
      p.logits = number_logits(x);
    } else if (c.tied_head) {
      p.logits = tied_logits(rows_.tied_logits(), x, table_, {"logits", Role::kLogits});
    } else {
      const TensorId w_u =
          parameter("unembed.W_U", {d_model(), {"vocab", p.shape.vocab}}, Role::kUnembedding);
      p.logits = linear(rows_.logits(), x, w_u, {"unembed.b_U", Role::kUnembeddingBias},
                        {"logits", Role::kLogits}, c.has_head_bias());
    }
    p.probabilities =
        call(rows_.probabilities(), Op::kSoftmax, {p.logits}, {"probs", Role::kProbabilities});
  }

  // ---- pieces ----

  void enter(Stack stack, const std::string& root) {
    stack_ = stack;
    section_ = Section::kInput;
    root_ = prefix_ = root;
  }

  // What a sublayer starts from.
  TensorId before(TensorId x, const std::string& ln) { return c.norms_before() ? norm(x, ln) : x; }

  // What a sublayer ends with: its change joined to what it started from.
  struct Joined {
    TensorId x, change;
  };
  TensorId after(std::string_view sentence, Joined in, const std::string& ln,
                 const std::string& name) {
    if (c.block != BlockKind::kPostNorm || !c.has_norms())
      return called(stream(name), join(sentence, in, {name, Role::kResidual}));
    const TensorId sum = join(sentence, in, {ln + ".input", Role::kNormInput});
    const TensorId normed = called(stream(name), norm(sum, ln));
    return called(stream(name), alias({name, Role::kResidual}, normed, axes_of(sum)));
  }

  // x + y, or only y where the residual is switched off. In a parallel block x then is what the
  // parts before gave.
  TensorId join(std::string_view sentence, Joined in, const Named& named) {
    const bool first = std::exchange(first_part_, false);
    if (c.residual || (c.is_parallel() && !first))
      return call(rows_.residual(sentence), Op::kAdd, {in.x, in.change}, named);
    return alias(named, in.change, axes_of(in.x));
  }

  const MemoryRows memory_rows_{c};
  bool first_part_ = true;  // of a block
  TensorId encoded_ = -1;   // what the encoder ends with
};

void check_shape(const Config& c, const RunShape& shape) {
  validate(c);
  if (c.form == ModelForm::kClasses && shape.classes < 2)
    throw UsageError(Message{"error.form_classes", {{"got", std::to_string(shape.classes)}}});
  if (c.numbers && shape.vocab < 2)
    throw UsageError(Message{"error.numbers_vocab", {{"got", std::to_string(shape.vocab)}}});
  if (c.form == ModelForm::kTranslate && shape.source < 1)
    throw UsageError(Message{"error.form_source"});
  if (shape.memory < 0 || shape.memory > c.memory)
    throw UsageError(
        Message{"error.memory_rows",
                {{"most", std::to_string(c.memory)}, {"got", std::to_string(shape.memory)}}});
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

Program sketch_program(const Config& config, const RunShape& shape, bool training) {
  return training ? Builder(config, shape).build_for_training() : Builder(config, shape).build();
}

}  // namespace headlight
