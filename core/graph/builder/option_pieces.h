// The options of attention that the field's usual modules have, as operations: further keys and
// values, numbers added to the scores, heads switched off, the mean of their weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/builder/distance_pieces.h"
#include "core/graph/builder/option_rows.h"

namespace headlight {

class OptionPieces : protected DistancePieces {
 protected:
  using DistancePieces::DistancePieces;

  struct KeysAndValues {
    TensorId k, v;
  };

  // Keys and values of each head, with those that belong to no token behind them.
  KeysAndValues with_extra_keys(const std::string& attn, KeysAndValues kv) {
    if (c.bias_kv) {
      const auto own = [&](const char* letter, TensorId x, Role role) {
        return parameter(prefix_ + attn + ".bias_" + letter, {axes_of(x)[1], axes_of(x)[3]}, role);
      };
      const TensorId bias_k = own("K", kv.k, Role::kExtraKey);
      const TensorId bias_v = own("V", kv.v, Role::kExtraValue);
      kv = append(option_rows_.learned_key(), attn, "biased", {kv.k, bias_k}, {kv.v, bias_v});
    }
    if (c.zero_attention) kv = append(option_rows_.zero_key(), attn, "extended", {kv.k}, {kv.v});
    return kv;
  }

  // The scores with the numbers of the person's own, of a row's attention to itself.
  TensorId with_added_mask(const std::string& attn, TensorId s) {
    if (!c.mask.adds() || stack_ == Stack::kEncoder) return s;
    if (p.added_mask < 0) p.added_mask = input("added_mask", axes_of(s), Role::kAddedMask);
    return call(option_rows_.added_mask(), Op::kAdd, {s, p.added_mask},
                {attn + ".scores_added", Role::kAddedScores});
  }

  // The weights, with 0 for heads that are off.
  TensorId without_masked_heads(const std::string& attn, TensorId pattern) {
    if (!has_masked_heads()) return pattern;
    const TensorId mask =
        input(prefix_ + attn + ".head_mask", {axes_of(pattern)[1]}, Role::kHeadMask);
    p.head_masks.push_back(mask);
    const TensorId kept = call(option_rows_.mask_heads(), Op::kMaskHeads, {pattern, mask},
                               {attn + ".pattern_masked", Role::kMaskedPattern});
    return called(p.tensors[pattern].symbol + "′", kept);
  }

  // Stands apart: nothing in the model reads it.
  void average(const std::string& attn, TensorId pattern) {
    if (!c.average_weights || axes_of(pattern)[1].size < 2) return;
    call(option_rows_.mean_heads(), Op::kMeanHeads, {pattern},
         {attn + ".pattern_mean", Role::kMeanPattern});
  }

  // From scores to what each head gathers, as one operation.
  TensorId fused_attention(const std::string& attn, std::vector<TensorId> in, TensorId mask) {
    if (mask >= 0) in.push_back(mask);
    OpParams params;
    if (c.scale) params.factor = scale_factor();
    params.temperature = c.temperature;
    return call(option_rows_.fused_attention(c), Op::kFusedAttention, std::move(in),
                {attn + ".z", Role::kHeadOutput}, params);
  }

  // The scores times one factor: 1 / √d_head, or a number of the model's own.
  TensorId scaled(const std::string& attn, TensorId s) {
    OpParams params;
    params.factor = scale_factor();
    params.own_factor = c.score_scale != 0;
    return call(option_rows_.scale(c), Op::kScale, {s},
                {attn + ".scores_scaled", Role::kScaledScores}, params);
  }

  // The scores, none of them beyond the softcap.
  TensorId capped(const std::string& attn, TensorId s) {
    if (c.softcap == 0) return s;
    OpParams params;
    params.factor = static_cast<float>(c.softcap);
    return call(option_rows_.softcap(), Op::kTanh, {s},
                {attn + ".scores_capped", Role::kCappedScores}, params);
  }

  float scale_factor() const {
    if (c.score_scale != 0) return static_cast<float>(c.score_scale);
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.head_width())));
  }

  // Is this attention nothing but softmax(Q Kᵀ + mask) V?
  bool is_plain() const {
    const bool own = section_ != Section::kCrossAttention;
    return c.extra_keys() == 0 && c.value_width() == c.head_width() && !has_masked_heads() &&
           c.softcap == 0 && !(own && stack_ != Stack::kEncoder && c.mask.adds());
  }

 private:
  bool has_masked_heads() const {
    const HeadsOf of = heads_of(stack_, section_);
    return std::ranges::any_of(
        c.masked_heads, [&](const MaskedHead& h) { return h.of == of && h.layer == layer_; });
  }

  // Both in one step, which shows the keys.
  KeysAndValues append(StepRow row, const std::string& attn, const std::string& made,
                       std::vector<TensorId> k, std::vector<TensorId> v) {
    const std::size_t first = p.calls.size();
    const auto symbol = [&](TensorId of) { return p.tensors[of].symbol + "⁺"; };
    const std::string k_symbol = symbol(k[0]), v_symbol = symbol(v[0]);
    const KeysAndValues both = {
        called(k_symbol,
               compute(Op::kAppendRow, std::move(k), {attn + ".k_" + made, Role::kExtendedKeys})),
        called(v_symbol, compute(Op::kAppendRow, std::move(v),
                                 {attn + ".v_" + made, Role::kExtendedValues}))};
    show(std::move(row), first, both.k);
    return both;
  }

  const OptionRows option_rows_{};
};

}  // namespace headlight
