// Recipes of random models, drawn by a seed from all that a person can choose: each is valid.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/graph/options/fitting.h"

namespace headlight {

/// Draws anew until the options go with each other.
inline Config drawn_recipe(std::uint64_t seed) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    std::uint64_t draw = 1000 * attempt;
    const auto one = [&]<class T>(std::initializer_list<T> all) {
      return all.begin()[static_cast<std::size_t>(uniform(seed, ++draw) *
                                                  static_cast<double>(all.size()))];
    };
    const auto any = [&]<class T>(T first) {
      const auto all = choices(first);
      return all[static_cast<std::size_t>(uniform(seed, ++draw) * static_cast<double>(all.size()))]
          .value;
    };
    Config c;
    c.form = any(c.form);
    c.layers = one({1, 2, 3});
    c.encoder_layers = one({0, 0, 1});
    c.heads = one({1, 2, 4});
    c.d_model = one({8, 12, 17, 32});
    c.d_head = one({0, 0, 3, 8});
    c.d_value = one({0, 0, 5});
    c.kv_heads = one({0, 0, 1});
    c.attention = any(c.attention);
    c.scores = any(c.scores);
    c.scale = one({true, true, false});
    c.score_scale = one({0.0, 0.0, 0.4});
    c.softcap = one({0.0, 0.0, 20.0});
    c.block = any(c.block);
    c.norm = any(c.norm);
    c.norm_epsilon = one({1e-5, 1e-6});
    c.activation = any(c.activation);
    c.positions = any(c.positions);
    c.sinusoid = any(c.sinusoid);
    c.position_offset = one({0, 2});
    c.embed_scale = one({true, false});
    c.embed_norm = one({true, false});
    c.rotary_scaling = any(c.rotary_scaling);
    c.rotary_factor = 2;
    c.mixer = one({MixerKind::kAttention, MixerKind::kAttention, MixerKind::kGru,
                   MixerKind::kConvolution, MixerKind::kNone});
    c.experts = one({0, 0, 3});
    c.top_experts = c.experts > 0 ? one({0, 1}) : 0;
    c.memory = one({0, 0, 4});
    c.numbers = one({false, false, false, true});
    c.qkv_bias = one({true, false});
    c.tied_head = one({true, false});
    c.head_transform = one({true, false});
    c.pool = any(c.pool);
    c.pooler = any(c.pooler);
    c.token_head = one({false, true});
    c.segments = one({false, false, true});
    c.mask.kind = one({MaskKind::kNone, MaskKind::kCausal, MaskKind::kLocal, MaskKind::kStrided});
    c.output_projection = one({true, true, false});
    c.bias_kv = one({false, false, true});
    c.average_weights = one({false, false, true});
    if (one({false, false, true})) c.masked_heads = {{HeadsOf::kOwn, c.layers - 1, 0}};
    if (one({false, false, true})) c.local_layers = {0}, c.local_window = 2;
    c.fused_attention = one({false, false, true});
    c = changed(c, [](Config&) {});
    try {
      validate(c);
      return c;
    } catch (const UsageError&) {
    }
  }
}

}  // namespace headlight
