// Attention as operations: from the rows of queries, keys and values to the output projection.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/graph/builder/option_pieces.h"
#include "core/graph/builder/step_rows.h"

namespace headlight {

class AttentionPieces : protected OptionPieces {
 protected:
  AttentionPieces(const Config& config, const RunShape& shape, bool dropout)
      : OptionPieces(config, shape), rows_(config, shape.in_place), drops_(dropout) {}

  // Queries from the rows of x, keys and values from those of `from`: x itself, x with the memory
  // before it, or what an encoder made.
  TensorId attention(TensorId x, TensorId from, TensorId mask) {
    const std::int64_t heads = c.head_count();
    const bool basic = c.attention == AttentionKind::kBasic;
    const bool crosses = section_ == Section::kCrossAttention;
    const Axis kv_axis = {c.kv_head_count() == heads ? "head" : "kv_head", c.kv_head_count()};
    TensorId q = x, k = from, v = from;
    if (!basic) {
      q = project(rows_.queries(crosses), x, "Q", {"q_proj", Role::kAllQueries},
                  {Role::kQueryWeight, Role::kQueryBias}, {"head", heads}, key_width());
      k = project(rows_.keys(crosses), from, "K", {"k_proj", Role::kAllKeys},
                  {Role::kKeyWeight, Role::kKeyBias}, kv_axis, key_width());
      v = project(rows_.values(crosses), from, "V", {"v_proj", Role::kAllValues},
                  {Role::kValueWeight, Role::kValueBias}, kv_axis, value_width());
    }
    FusedAttention fused;
    fused.q = p.resolve(q), fused.k = p.resolve(k), fused.v = p.resolve(v);
    const int first = next_call();
    q = split(q, "W_Q", {"q", Role::kQueries}, key_width());
    k = split(k, "W_K", {"k", Role::kKeys}, key_width());
    v = split(v, "W_V", {"v", Role::kValues}, value_width());
    if (next_call() > first) show(rows_.split(), place(first), q);
    if (c.has_rotary() && !crosses) {
      fused.turn = next_call();
      // The first place is the memory's: the queries begin behind it.
      q = fused.turned_q = rotary(rows_.rotary_queries(), q, {"rot_q", Role::kTurnedQueries},
                                  from == x ? 0 : p.shape.memory);
      k = fused.turned_k = rotary(rows_.rotary_keys(), k, {"rot_k", Role::kTurnedKeys}, 0);
    }
    const auto [all_k, all_v] = with_extra_keys(attn_, {k, v});
    if (c.fused_attention) {
      if (drops_) throw UsageError(Message{"error.fused.dropout"});
      return output(side_by_side(fused_attention(attn_, {q, all_k, all_v}, mask), x), x);
    }
    const int scores = next_call();
    fused.first_call = first;
    fused.pattern = weights(q, all_k, mask, fused, crosses);
    TensorId pattern = drop(rows_.drop_pattern(), fused.pattern, Role::kDroppedPattern);
    if (drops_) fused.dropout = p.dropout.back();
    pattern = without_masked_heads(attn_, pattern);
    const int sum = next_call();
    const TensorId z = !crosses && gathers_distances()
                           ? sums_with_distances(attn_, pattern, all_v)
                           : call(rows_.weighted_sum(), Op::kWeightedSum, {pattern, all_v},
                                  {attn_ + ".z", Role::kHeadOutput});
    const TensorId concat = side_by_side(z, x);
    fused.out = p.resolve(concat);
    // Distances stand between the products: such an attention is no one call.
    if ((crosses || !c.is_relative()) && is_plain()) declare(fused, scores, sum);
    average(attn_, fused.pattern);
    return output(concat, x);
  }

  // What the heads gathered, side by side in the rows of x.
  TensorId side_by_side(TensorId z, TensorId x) {
    const Named name{attn_ + ".concat", Role::kConcat};
    if (has_heads()) return call(rows_.concat(), Op::kConcatHeads, {z}, name);
    const Axis& row = axes_of(x)[1];
    return alias(
        name, z,
        {batch(), {query_word(row.name), row.size}, {"feature", c.head_count() * c.value_width()}});
  }

  TensorId output(TensorId concat, TensorId x) {
    const Named out{attn_ + "_out", Role::kSublayerOutput};
    if (c.attention == AttentionKind::kBasic || !c.output_projection)
      return alias(out, concat, axes_of(x));
    const TensorId w_o =
        parameter(prefix_ + attn_ + ".W_O", {{"head", c.head_count()}, value_width(), d_model()},
                  Role::kOutputWeight);
    return linear(rows_.output(), concat, w_o, {prefix_ + attn_ + ".b_O", Role::kOutputBias}, out,
                  c.has_output_bias());
  }

  // The calls that were made last are one attention, if its scores are products. Gradients leave it
  // by the calls that split the heads, where there are any, or that turn them.
  void declare(FusedAttention a, int scores, int sum) {
    if (c.scores != ScoreKind::kDot) return;
    const bool splits = has_heads(), turns = a.turn >= 0;
    a.last_call = next_call() - 1;
    a.q_call = splits ? a.first_call : turns ? a.turn : scores;
    a.k_call = splits ? a.first_call + 1 : turns ? a.turn + 1 : scores;
    a.v_call = splits ? a.first_call + 2 : sum;
    a.k_input = splits || turns ? 0 : 1;
    a.v_input = splits ? 0 : 1;
    p.attentions.push_back(a);
  }

  // queries and keys -> the attention pattern
  TensorId weights(TensorId q, TensorId k, TensorId mask, FusedAttention& fused, bool crosses) {
    const TensorId asks = crosses ? q : content_queries(attn_, q);
    TensorId s = -1;
    const Named raw{attn_ + ".scores_raw", Role::kScores};
    if (c.scores == ScoreKind::kAdditive) {
      // The field calls this vector v as well; in a weights file it is attn.v, but inside a
      // program that name belongs to the values.
      const TensorId v =
          parameter(prefix_ + attn_ + ".score_v",
                    {{"head", c.head_count()}, {"d_head", c.head_width()}}, Role::kScoreVector);
      p.tensors[v].file_name = prefix_ + attn_ + ".v";
      s = call(rows_.additive_scores(), Op::kAdditiveScores, {asks, k, v}, raw);
    } else {
      s = call(rows_.scores(), Op::kScores, {asks, k}, raw);
    }
    if (!crosses) s = scores_by_distance(attn_, q, s);
    if (c.scale) {
      fused.factor = scale_factor();
      s = scaled(attn_, s);
    }
    s = capped(attn_, s);
    if (!crosses) s = bias_by_distance(attn_, s);
    if (mask >= 0)
      s = call(rows_.mask(p.is_own_mask(mask), mask == p.local_mask), Op::kMask, {s, mask},
               {attn_ + ".scores_masked", Role::kMaskedScores});
    if (!crosses) s = with_added_mask(attn_, s);
    OpParams params;
    params.temperature = fused.temperature = c.temperature;
    fused.mask = mask;
    return call(rows_.softmax(), Op::kSoftmax, {s}, {attn_ + ".pattern", Role::kPattern}, params);
  }

  TensorId drop(StepRow row, TensorId x, Role dropped) {
    if (!drops_) return x;
    const std::string name = p.tensors[x].name;
    p.dropout.push_back(input(name + ".dropout", axes_of(x), Role::kDropout));
    const TensorId kept = call(std::move(row), Op::kDropout, {x, p.dropout.back()},
                               {name.substr(prefix_.size()) + ".dropped", dropped});
    return called(p.tensors[x].symbol + "′", kept);
  }

  const StepRows rows_;
  std::string attn_;  // "attn" or "cross_attn"

 private:
  // Narrow and wide attention split and join their heads, even where there is just one.
  bool has_heads() const {
    return c.attention == AttentionKind::kNarrow || c.attention == AttentionKind::kWide;
  }

  Axis key_width() const { return {"d_head", c.head_width()}; }
  // Under a name of its own where it is another.
  Axis value_width() const {
    return {c.value_width() == c.head_width() ? "d_head" : "d_value", c.value_width()};
  }

  struct WeightRoles {
    Role weight, bias;
  };
  TensorId project(StepRow row, TensorId x, const std::string& letter, const Named& named,
                   WeightRoles roles, const Axis& head, const Axis& width) {
    const std::string at = prefix_ + attn_ + ".";
    std::vector<TensorId> in = {
        x, parameter(at + "W_" + letter, {head, d_model(), width}, roles.weight)};
    if (c.has_qkv_bias()) in.push_back(parameter(at + "b_" + letter, {head, width}, roles.bias));
    return call(std::move(row), Op::kProject, std::move(in),
                {attn_ + "." + named.name, named.role});
  }

  // With one head there is nothing to split: q is another name for the projection, or for x.
  TensorId split(TensorId all, const std::string& weight, const Named& named, const Axis& width) {
    const Named own{attn_ + "." + named.name, named.role};
    if (!has_heads()) {
      const TensorId same = alias(own, all, {batch(), {"head", 1}, axes_of(all)[1], width});
      return called(p.tensors[all].symbol, same);
    }
    return compute(Op::kSplitHeads, {all, p.find(prefix_ + attn_ + "." + weight)}, own);
  }

  TensorId rotary(StepRow row, TensorId x, const Named& named, std::int64_t offset) {
    OpParams params;
    params.offset = offset;
    params.turned = c.rotary_width;
    params.interleaved = c.rotary == RotaryPairs::kInterleaved;
    params.base = c.rotary_base;
    params.stretch = c.rotary_stretch();
    return call(std::move(row), Op::kRotary, {x}, {attn_ + "." + named.name, named.role}, params);
  }

  const bool drops_;
};

}  // namespace headlight
