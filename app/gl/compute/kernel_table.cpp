#include "app/gl/compute/kernel_table.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headlight {
namespace {

using enum KernelShape;

// In the order of enum Kernel.
constexpr std::array<KernelInfo, kKernels> kTable = {{
    {Kernel::kEmbed, "shaders/embed.comp", kCells},
    {Kernel::kEmbedLinks, "shaders/embed_links.comp", kCells},
    {Kernel::kEmbedBackward, "shaders/embed_backward.comp", kCells},
    {Kernel::kSinusoid, "shaders/sinusoid.comp", kCells},
    {Kernel::kLearnedPosition, "shaders/learned_position.comp", kCells},
    {Kernel::kLearnedPositionBackward, "shaders/learned_position_backward.comp", kCells},
    {Kernel::kAdd, "shaders/add.comp", kCells},
    {Kernel::kAddBackward, "shaders/add_backward.comp", kCells},
    {Kernel::kScale, "shaders/scale.comp", kCells},
    {Kernel::kScaleBackward, "shaders/scale_backward.comp", kCells},
    {Kernel::kMultiply, "shaders/multiply.comp", kCells},
    {Kernel::kMultiplyBackward, "shaders/multiply_backward.comp", kCells},
    {Kernel::kMask, "shaders/mask.comp", kCells},
    {Kernel::kMaskBackward, "shaders/mask_backward.comp", kCells},
    {Kernel::kRelu, "shaders/relu.comp", kCells},
    {Kernel::kReluBackward, "shaders/relu_backward.comp", kCells},
    {Kernel::kGelu, "shaders/gelu.comp", kCells},
    {Kernel::kGeluBackward, "shaders/gelu_backward.comp", kCells},
    {Kernel::kGeluTanh, "shaders/gelu_tanh.comp", kCells},
    {Kernel::kGeluTanhBackward, "shaders/gelu_tanh_backward.comp", kCells},
    {Kernel::kSilu, "shaders/silu.comp", kCells},
    {Kernel::kSiluBackward, "shaders/silu_backward.comp", kCells},
    {Kernel::kRotary, "shaders/rotary.comp", kCells},
    {Kernel::kSplitHeads, "shaders/split_heads.comp", kCells},
    {Kernel::kSplitHeadsBackward, "shaders/split_heads_backward.comp", kCells},
    {Kernel::kConcatHeads, "shaders/concat_heads.comp", kCells},
    {Kernel::kConcatHeadsBackward, "shaders/concat_heads_backward.comp", kCells},
    {Kernel::kTanh, "shaders/tanh.comp", kCells},
    {Kernel::kTanhBackward, "shaders/tanh_backward.comp", kCells},
    {Kernel::kConcatTokens, "shaders/concat_tokens.comp", kCells},
    {Kernel::kConcatTokensBackward, "shaders/concat_tokens_backward.comp", kCells},
    {Kernel::kConcatRows, "shaders/concat_rows.comp", kCells},
    {Kernel::kConcatRowsBackward, "shaders/concat_rows_backward.comp", kCells},
    {Kernel::kFociPenaltyBackward, "shaders/foci_penalty_backward.comp", kCells},
    {Kernel::kAppendRow, "shaders/append_row.comp", kCells},
    {Kernel::kAppendRowBackward, "shaders/append_row_backward.comp", kCells},
    {Kernel::kAppendRowBackwardRow, "shaders/append_row_backward_row.comp", kCells},
    {Kernel::kMaskHeads, "shaders/mask_heads.comp", kCells},
    {Kernel::kMeanHeads, "shaders/mean_heads.comp", kCells},
    {Kernel::kMeanHeadsBackward, "shaders/mean_heads_backward.comp", kCells},
    {Kernel::kMeanPool, "shaders/mean_pool.comp", kCells},
    {Kernel::kMeanPoolBackward, "shaders/mean_pool_backward.comp", kCells},
    {Kernel::kAdditiveScores, "shaders/additive_scores.comp", kCells},
    {Kernel::kAdditiveScoresBackward, "shaders/additive_scores_backward.comp", kCells},
    {Kernel::kZero, "shaders/zero.comp", kCells},
    {Kernel::kCopy, "shaders/copy.comp", kCells},
    {Kernel::kMultiplyAdd, "shaders/multiply_add.comp", kCells},
    {Kernel::kFociPenalty, "shaders/foci_penalty.comp", kRows},
    {Kernel::kSoftmax, "shaders/softmax.comp", kRows},
    {Kernel::kSoftmaxBackward, "shaders/softmax_backward.comp", kRows},
    {Kernel::kCrossEntropy, "shaders/cross_entropy.comp", kRows},
    {Kernel::kCrossEntropyBackward, "shaders/cross_entropy_backward.comp", kRows},
    {Kernel::kNorm, "shaders/norm.comp", kRows},
    {Kernel::kNormBackward, "shaders/norm_backward.comp", kRows},
    {Kernel::kNormStatistics, "shaders/norm_statistics.comp", kRows},
    {Kernel::kAdditiveScoresBackwardV, "shaders/additive_scores_backward_v.comp", kRows},
    {Kernel::kNormBackwardW, "shaders/norm_backward_w.comp", kColumns},
    {Kernel::kBiasBackward, "shaders/bias_backward.comp", kColumns},
    {Kernel::kLinear, "shaders/linear.comp", kProduct},
    {Kernel::kLinearTransposed, "shaders/linear_transposed.comp", kProduct},
    {Kernel::kLinearBackwardX, "shaders/linear_backward_x.comp", kProduct},
    {Kernel::kLinearBackwardW, "shaders/linear_backward_w.comp", kProduct},
    {Kernel::kProject, "shaders/project.comp", kProduct},
    {Kernel::kProjectBackwardX, "shaders/project_backward_x.comp", kProduct},
    {Kernel::kProjectBackwardW, "shaders/project_backward_w.comp", kProduct},
    {Kernel::kScores, "shaders/scores.comp", kProduct},
    {Kernel::kScoresBackwardQ, "shaders/scores_backward_q.comp", kProduct},
    {Kernel::kScoresBackwardK, "shaders/scores_backward_k.comp", kProduct},
    {Kernel::kWeightedSum, "shaders/weighted_sum.comp", kProduct},
    {Kernel::kWeightedSumBackwardA, "shaders/weighted_sum_backward_a.comp", kProduct},
    {Kernel::kWeightedSumBackwardV, "shaders/weighted_sum_backward_v.comp", kProduct},
    {Kernel::kFocusScores, "shaders/focus_scores.comp", kProduct},
    {Kernel::kFocusScoresBackwardU, "shaders/focus_scores_backward_u.comp", kProduct},
    {Kernel::kFocusScoresBackwardW, "shaders/focus_scores_backward_w.comp", kProduct},
    {Kernel::kAlibi, "shaders/alibi.comp", kCells},
    {Kernel::kDistanceBias, "shaders/distance_bias.comp", kCells},
    {Kernel::kDistanceBiasBackward, "shaders/distance_bias_backward.comp", kRows},
    {Kernel::kDistanceSinusoid, "shaders/distance_sinusoid.comp", kCells},
    {Kernel::kRelativeScores, "shaders/relative_scores.comp", kCells},
    {Kernel::kRelativeSum, "shaders/relative_sum.comp", kCells},
    {Kernel::kRelativeTable, "shaders/relative_table.comp", kRows},
    {Kernel::kShiftHeads, "shaders/shift_heads.comp", kCells},
    {Kernel::kShiftHeadsBackward, "shaders/shift_heads_backward.comp", kRows},
    {Kernel::kExpertLinear, "shaders/expert_linear.comp", kProduct},
    {Kernel::kExpertLinearBackwardX, "shaders/expert_linear_backward_x.comp", kProduct},
    {Kernel::kExpertLinearBackwardW, "shaders/expert_linear_backward_w.comp", kProduct},
    {Kernel::kExpertBiasBackward, "shaders/expert_bias_backward.comp", kCells},
    {Kernel::kTopExperts, "shaders/top_experts.comp", kCells},
    {Kernel::kTopExpertsBackward, "shaders/top_experts_backward.comp", kCells},
    {Kernel::kMix, "shaders/mix.comp", kCells},
    {Kernel::kMixBackwardG, "shaders/mix_backward_g.comp", kCells},
    {Kernel::kMixBackwardX, "shaders/mix_backward_x.comp", kCells},
    {Kernel::kLoadBalance, "shaders/load_balance.comp", kRows},
    {Kernel::kLoadBalanceBackward, "shaders/load_balance_backward.comp", kCells},
    {Kernel::kConvolution, "shaders/convolution.comp", kProduct},
    {Kernel::kConvolutionBackwardX, "shaders/convolution_backward_x.comp", kProduct},
    {Kernel::kConvolutionBackwardW, "shaders/convolution_backward_w.comp", kProduct},
    {Kernel::kNumber, "shaders/number.comp", kCells},
    {Kernel::kMixtureLogits, "shaders/mixture_logits.comp", kCells},
    {Kernel::kMixtureLogitsBackward, "shaders/mixture_logits_backward.comp", kCells},
    {Kernel::kAttention, "shaders/attention.comp", KernelShape::kAttention},
    {Kernel::kAttentionStatistics, "shaders/attention_statistics.comp", KernelShape::kAttention},
    {Kernel::kAttentionDots, "shaders/attention_dots.comp", KernelShape::kAttention},
    {Kernel::kAttentionBackwardQ, "shaders/attention_backward_q.comp", KernelShape::kAttention},
    {Kernel::kAttentionBackwardK, "shaders/attention_backward_k.comp", KernelShape::kAttention},
    {Kernel::kAttentionBackwardV, "shaders/attention_backward_v.comp", KernelShape::kAttention},
    {Kernel::kDrawDropout, "shaders/draw_dropout.comp", kCells},
    {Kernel::kClip, "shaders/clip.comp", kCells},
    {Kernel::kSgd, "shaders/sgd.comp", kCells},
    {Kernel::kSgdMomentum, "shaders/sgd_momentum.comp", kCells},
    {Kernel::kAdam, "shaders/adam.comp", kCells},
    {Kernel::kHits, "shaders/hits.comp", kRows},
    {Kernel::kHitSum, "shaders/hit_sum.comp", kRows},
    {Kernel::kLossSum, "shaders/loss_sum.comp", kRows},
    {Kernel::kSquares, "shaders/squares.comp", kRows},
    {Kernel::kSquaresSum, "shaders/squares_sum.comp", kRows},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].kernel != static_cast<Kernel>(i)) return false;
  }
  return true;
}
static_assert(in_order());

std::string define(std::string_view name, int value) {
  return "#define " + std::string(name) + " " + std::to_string(value) + "\n";
}

bool within(std::int64_t value, std::int64_t least, std::int64_t most) {
  return value >= least && value <= most;
}

// Sums are put together as a tree.
bool is_power_of_two(int value) { return value > 0 && (value & (value - 1)) == 0; }

bool tiles_fit(const ProductTiles& t, const GlLimits& limits) {
  constexpr int kMaxSide = 256, kMaxBlock = 16;
  for (const int side : {t.rows, t.columns}) {
    if (!within(side, 1, kMaxSide)) return false;
  }
  if (!within(t.inner, 0, kMaxSide)) return false;
  for (const int block : {t.block_rows, t.block_columns}) {
    if (!within(block, 1, kMaxBlock)) return false;
  }
  return t.rows % t.block_rows == 0 && t.columns % t.block_columns == 0 &&
         t.columns / t.block_columns <= limits.group_size[0] &&
         t.rows / t.block_rows <= limits.group_size[1] &&
         t.invocations() <= limits.group_invocations && t.shared_bytes() <= limits.shared_bytes;
}

bool attention_fits(const AttentionTiles& t, const GlLimits& limits) {
  return is_power_of_two(t.side) && within(t.side, 2, 32) && t.short_width > 0 &&
         t.short_width % t.side == 0 && t.short_width <= t.most_width &&
         t.most_width % t.side == 0 && t.side <= limits.group_size[0] &&
         t.side <= limits.group_size[1] && t.invocations() <= limits.group_invocations &&
         t.shared_bytes() <= limits.shared_bytes;
}

std::string tile_defines(const ProductTiles& t) {
  return (t.is_direct() ? "#define DIRECT\n" : define("TILE_INNER", t.inner)) +
         define("TILE_ROWS", t.rows) + define("TILE_COLUMNS", t.columns) +
         define("BLOCK_ROWS", t.block_rows) + define("BLOCK_COLUMNS", t.block_columns) +
         define("SIZE_X", t.size_x()) + define("SIZE_Y", t.size_y());
}

}  // namespace

const KernelInfo& kernel_info(Kernel kernel) { return kTable[static_cast<std::size_t>(kernel)]; }

KernelTable KernelTable::of(const GlLimits& limits) {
  KernelTable table;
  // OpenGL 4.3 promises 1024 invocations and 32 KiB; smaller devices get smaller groups.
  while (table.cells_group > limits.group_invocations && table.cells_group > 32) {
    table.cells_group /= 2;
    table.row_group /= 2;
    table.row_lanes = table.row_lanes > 1 ? table.row_lanes / 2 : 1;
  }
  if (table.product.invocations() > limits.group_invocations ||
      table.product.shared_bytes() > limits.shared_bytes) {
    table.product = {32, 32, 8, 4, 4};
  }
  if (table.few.invocations() > limits.group_invocations) table.few = {8, 32, 0, 4, 2};
  if (table.attention.invocations() > limits.group_invocations ||
      table.attention.shared_bytes() > limits.shared_bytes) {
    table.attention.side = 8;
  }
  return table;
}

KernelTable KernelTable::of(const GlDevice& device) {
  KernelTable table = of(device.limits);
  // There each barrier of a group is dear, and each number that is read again costs as much as the
  // first time; only what an invocation keeps to itself is quick.
  if (is_software_renderer(device.renderer)) table.few = table.product = {16, 128, 0, 16, 8};
  return table;
}

bool KernelTable::fits(const GlLimits& limits) const {
  const std::int64_t most = std::min(limits.group_invocations, limits.group_size[0]);
  for (const int group : {short_row_group, row_group}) {
    if (!is_power_of_two(group) || group > most || 4 * group > limits.shared_bytes) return false;
  }
  constexpr int kMaxShortRow = 1 << 16, kMaxFewRows = 1 << 12;
  return within(cells_group, 1, most) && within(short_row, 0, kMaxShortRow) &&
         within(column_group, 1, most) && is_power_of_two(row_lanes) &&
         row_lanes <= limits.group_size[1] &&
         std::int64_t{column_group} * row_lanes <= limits.group_invocations &&
         std::int64_t{4} * column_group * row_lanes <= limits.shared_bytes &&
         within(few_rows, 0, kMaxFewRows) && tiles_fit(few, limits) && tiles_fit(product, limits) &&
         attention_fits(attention, limits);
}

int KernelTable::variant(Kernel kernel, std::int64_t size) const {
  switch (kernel_info(kernel).shape) {
    case kRows:
      return size > short_row ? 1 : 0;
    case kProduct:
      return size > few_rows ? 1 : 0;
    case KernelShape::kAttention:
      return size > attention.short_width ? 1 : 0;
    default:
      return 0;
  }
}

int KernelTable::group(Kernel kernel, int variant) const {
  switch (kernel_info(kernel).shape) {
    case kCells:
      return cells_group;
    case kRows:
      return variant == 1 ? row_group : short_row_group;
    case kColumns:
      return column_group * row_lanes;
    case kProduct:
      return tiles(variant).invocations();
    case KernelShape::kAttention:
      return attention.invocations();
  }
  return 0;
}

std::string KernelTable::defines(Kernel kernel, int variant) const {
  switch (kernel_info(kernel).shape) {
    case kCells:
    case kRows:
      return define("GROUP", group(kernel, variant));
    case kColumns:
      return define("COLUMN_GROUP", column_group) + define("ROW_LANES", row_lanes);
    case kProduct:
      return tile_defines(tiles(variant));
    case KernelShape::kAttention: {
      const int width = variant == 1 ? attention.most_width : attention.short_width;
      return define("SIDE", attention.side) + define("TILE", attention.tile()) +
             define("SIDE_ROWS", attention.side_rows()) +
             define("WIDTH_BLOCKS", width / attention.side);
    }
  }
  return "";
}

}  // namespace headlight
