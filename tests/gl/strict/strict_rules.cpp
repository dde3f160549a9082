#include "tests/gl/strict/strict_rules.h"

namespace headlight::test {
namespace {

// clang-format off
const StrictRule kRules[] = {
    {"shaders/embed.comp", "cells", {"cells / width", "vocab * width", "cells"}},
    {"shaders/embed_links.comp", "tokens", {"tokens", "2 * tokens"}},
    {"shaders/embed_backward.comp", "tokens * width", {"tokens", "2 * tokens", "tokens * width", "vocab * width"}},
    {"shaders/sinusoid.comp", "cells", {"(width + 1) / 2 * 2", "cells"}},
    {"shaders/learned_position.comp", "cells", {"row", "cells"}},
    {"shaders/learned_position_backward.comp", "cells", {"batch * row", "cells"}},
    {"shaders/add.comp", "cells", {"cells", "cells", "cells"}},
    {"shaders/add_backward.comp", "cells", {"cells", "cells"}},
    {"shaders/scale.comp", "cells", {"cells", "cells"}},
    {"shaders/scale_backward.comp", "cells", {"cells", "cells"}},
    {"shaders/multiply.comp", "cells", {"cells", "cells", "cells"}},
    {"shaders/multiply_backward.comp", "cells", {"cells", "cells", "cells"}},
    {"shaders/mask.comp", "cells", {"cells", "cells / heads", "cells"}},
    {"shaders/mask_backward.comp", "cells", {"cells / heads", "cells", "cells"}},
    {"shaders/relu.comp", "cells", {"cells", "cells"}},
    {"shaders/relu_backward.comp", "cells", {"cells", "cells", "cells"}},
    {"shaders/gelu.comp", "cells", {"cells", "cells"}},
    {"shaders/gelu_backward.comp", "cells", {"cells", "cells", "cells"}},
    {"shaders/gelu_tanh.comp", "cells", {"cells", "cells"}},
    {"shaders/gelu_tanh_backward.comp", "cells", {"cells", "cells", "cells"}},
    {"shaders/silu.comp", "cells", {"cells", "cells"}},
    {"shaders/silu_backward.comp", "cells", {"cells", "cells", "cells"}},
    {"shaders/rotary.comp", "cells", {"turned", "cells", "cells"}},
    {"shaders/split_heads.comp", "cells", {"cells", "cells"}},
    {"shaders/split_heads_backward.comp", "cells", {"cells", "cells"}},
    {"shaders/concat_heads.comp", "cells", {"cells", "cells"}},
    {"shaders/concat_heads_backward.comp", "cells", {"cells", "cells"}},
    {"shaders/tanh.comp", "cells", {"cells", "cells"}},
    {"shaders/tanh_backward.comp", "cells", {"cells", "cells", "cells"}},
    {"shaders/concat_tokens.comp", "cells", {"cells", "cells / width", "cells"}},
    {"shaders/concat_tokens_backward.comp", "cells", {"cells / width", "cells", "cells"}},
    {"shaders/foci_penalty_backward.comp", "cells", {"cells", "cells / places", "cells"}},
    {"shaders/mean_pool.comp", "cells", {"cells * positions", "cells / width * positions", "cells"}},
    {"shaders/mean_pool_backward.comp", "cells", {"cells / width", "cells / positions", "cells"}},
    {"shaders/additive_scores.comp", "cells", {"cells / keys * width", "cells / queries * width / share", "heads * width", "cells"}},
    {"shaders/additive_scores_backward.comp", "cells", {"cells", "cells / owns * others * own_share / other_share", "heads * width", "cells / width * others * own_share", "cells"}},
    {"shaders/additive_scores_backward_v.comp", "cells", {"batch * heads * queries * width", "batch * heads / share * keys * width", "batch * heads * queries * keys", "cells"}},
    {"shaders/zero.comp", "cells", {"cells"}},
    {"shaders/copy.comp", "cells / 4", {"cells", "cells"}},
    {"shaders/multiply_add.comp", "cells", {"cells"}},
    {"shaders/foci_penalty.comp", "rows", {"rows * columns", "rows"}},
    {"shaders/softmax.comp", "rows", {"rows * columns", "rows * columns"}},
    {"shaders/softmax_backward.comp", "rows", {"rows * columns", "rows * columns", "rows * columns"}},
    {"shaders/cross_entropy.comp", "rows", {"rows * columns", "rows", "rows"}},
    {"shaders/cross_entropy_backward.comp", "rows", {"rows * columns", "rows", "rows", "rows * columns"}},
    {"shaders/norm.comp", "rows", {"rows * columns", "columns", "has_bias * columns", "rows * columns"}},
    {"shaders/norm_backward.comp", "rows", {"rows * columns", "columns", "rows * columns", "rows * columns"}},
    {"shaders/norm_statistics.comp", "rows", {"rows * columns", "3 * rows"}},
    {"shaders/norm_backward_w.comp", "columns", {"rows * columns", "3 * rows", "rows * columns", "columns"}},
    {"shaders/bias_backward.comp", "columns", {"rows * columns", "columns"}},
    {"shaders/linear.comp", "", {"rows * inner", "inner * columns", "has_bias * columns", "rows * columns"}},
    {"shaders/linear_backward_x.comp", "", {"inner * columns", "rows * columns", "rows * inner"}},
    {"shaders/linear_backward_w.comp", "", {"rows * inner", "rows * columns", "inner * columns"}},
    {"shaders/project.comp", "", {"rows * inner", "heads * inner * width", "has_bias * heads * width", "rows * heads * width"}},
    {"shaders/project_backward_x.comp", "", {"heads * inner * width", "rows * heads * width", "rows * inner"}},
    {"shaders/project_backward_w.comp", "", {"rows * inner", "rows * heads * width", "heads * inner * width"}},
    {"shaders/scores.comp", "", {"matrices * queries * width", "matrices * keys * width", "matrices * queries * keys"}},
    {"shaders/scores_backward_q.comp", "", {"matrices * keys * width", "matrices * queries * keys", "matrices * queries * width"}},
    {"shaders/scores_backward_k.comp", "", {"matrices * queries * width", "matrices * queries * keys", "matrices * keys * width"}},
    {"shaders/weighted_sum.comp", "", {"matrices * queries * keys", "matrices * keys * width", "matrices * queries * width"}},
    {"shaders/weighted_sum_backward_a.comp", "", {"matrices * keys * width", "matrices * queries * width", "matrices * queries * keys"}},
    {"shaders/weighted_sum_backward_v.comp", "", {"matrices * queries * keys", "matrices * queries * width", "matrices * keys * width"}},
    {"shaders/focus_scores.comp", "", {"matrices * positions * hidden", "hidden * foci", "matrices * foci * positions"}},
    {"shaders/focus_scores_backward_u.comp", "", {"hidden * foci", "matrices * foci * positions", "matrices * positions * hidden"}},
    {"shaders/focus_scores_backward_w.comp", "", {"rows * hidden", "rows * foci", "hidden * foci"}},
    {"shaders/draw_dropout.comp", "cells", {"cells"}},
    {"shaders/clip.comp", "cells", {"cells"}},
    {"shaders/sgd.comp", "cells", {"cells", "cells"}},
    {"shaders/sgd_momentum.comp", "cells", {"cells", "cells", "cells"}},
    {"shaders/adam.comp", "cells", {"cells", "cells", "cells", "cells"}},
    {"shaders/hits.comp", "rows", {"rows * columns", "rows", "rows"}},
    {"shaders/hit_sum.comp", "1", {"rows * columns", "rows * columns", "8"}},
    {"shaders/loss_sum.comp", "1", {"cells", "8"}},
    {"shaders/squares.comp", "groups", {"cells", "4 * (first + groups)"}},
    {"shaders/squares_sum.comp", "1", {"4 * count", "8"}},
    {"shaders/attention.comp", "queries", {"matrices * queries * width", "matrices / heads * kv_heads * keys * width", "matrices / heads * kv_heads * keys * v_width", "has_mask * matrices / heads * queries * keys", "has_dropout * matrices * queries * keys", "3 * matrices * queries", "matrices * queries * v_width"}},
    {"shaders/attention_dots.comp", "queries", {"matrices * queries * width", "matrices / heads * kv_heads * keys * width", "matrices / heads * kv_heads * keys * v_width", "has_mask * matrices / heads * queries * keys", "has_dropout * matrices * queries * keys", "matrices * queries * v_width", "3 * matrices * queries"}},
    {"shaders/attention_backward_q.comp", "queries", {"matrices * queries * width", "matrices / heads * kv_heads * keys * width", "matrices / heads * kv_heads * keys * v_width", "has_mask * matrices / heads * queries * keys", "has_dropout * matrices * queries * keys", "3 * matrices * queries", "matrices * queries * v_width", "matrices * queries * width"}},
    {"shaders/attention_backward_k.comp", "keys", {"matrices / kv_heads * heads * queries * width", "matrices * keys * width", "matrices * keys * v_width", "has_mask * matrices / kv_heads * queries * keys", "has_dropout * matrices / kv_heads * heads * queries * keys", "3 * matrices / kv_heads * heads * queries", "matrices / kv_heads * heads * queries * v_width", "matrices * keys * width"}},
    {"shaders/attention_backward_v.comp", "keys", {"matrices / kv_heads * heads * queries * width", "matrices * keys * width", "has_mask * matrices / kv_heads * queries * keys", "has_dropout * matrices / kv_heads * heads * queries * keys", "3 * matrices / kv_heads * heads * queries", "matrices / kv_heads * heads * queries * v_width", "matrices * keys * v_width"}},
};
// clang-format on

}  // namespace

const StrictRule* strict_rule(std::string_view file) {
  for (const StrictRule& rule : kRules) {
    if (rule.file == file) return &rule;
  }
  return nullptr;
}

}  // namespace headlight::test
