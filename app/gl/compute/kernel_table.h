// The kernels: which shader each one is, and how large its groups and tiles are on a device. Every
// number of the kernels' shapes stands in this table and nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/gl/context/device.h"

namespace headlight {

// clang-format off
enum class Kernel {
  kEmbed, kEmbedLinks, kEmbedBackward, kSinusoid, kLearnedPosition, kLearnedPositionBackward,
  kAdd, kAddBackward, kScale, kScaleBackward, kMultiply, kMultiplyBackward, kMask, kMaskBackward,
  kRelu, kReluBackward, kGelu, kGeluBackward, kGeluTanh, kGeluTanhBackward, kSilu, kSiluBackward,
  kRotary, kSplitHeads, kSplitHeadsBackward, kConcatHeads, kConcatHeadsBackward,
  kTanh, kTanhBackward, kConcatTokens, kConcatTokensBackward, kConcatRows,
  kConcatRowsBackward, kFociPenaltyBackward,
  kAppendRow, kAppendRowBackward, kAppendRowBackwardRow, kMaskHeads, kMeanHeads,
  kMeanHeadsBackward,
  kMeanPool, kMeanPoolBackward, kAdditiveScores, kAdditiveScoresBackward, kZero,
  kCopy, kMultiplyAdd,  // of no operation: what the device can do (gl_measure.h)
  kFociPenalty, kSoftmax, kSoftmaxBackward, kCrossEntropy, kCrossEntropyBackward,
  kNorm, kNormBackward, kNormStatistics, kAdditiveScoresBackwardV, kNormBackwardW, kBiasBackward,
  kLinear, kLinearTransposed, kLinearBackwardX, kLinearBackwardW, kProject, kProjectBackwardX, kProjectBackwardW,
  kScores, kScoresBackwardQ, kScoresBackwardK,
  kWeightedSum, kWeightedSumBackwardA, kWeightedSumBackwardV,
  kFocusScores, kFocusScoresBackwardU, kFocusScoresBackwardW,
  kAlibi, kDistanceBias, kDistanceBiasBackward, kDistanceSinusoid,
  kRelativeScores, kRelativeSum, kRelativeTable, kShiftHeads, kShiftHeadsBackward,
  kExpertLinear, kExpertLinearBackwardX, kExpertLinearBackwardW, kExpertBiasBackward,
  kTopExperts, kTopExpertsBackward, kMix, kMixBackwardG, kMixBackwardX,
  kLoadBalance, kLoadBalanceBackward,
  kConvolution, kConvolutionBackwardX, kConvolutionBackwardW,
  kNumber, kMixtureLogits, kMixtureLogitsBackward,
  kAttention, kAttentionStatistics, kAttentionDots, kAttentionBackwardQ, kAttentionBackwardK, kAttentionBackwardV,
  kDrawDropout, kClip, kSgd, kSgdMomentum, kAdam, kHits, kHitSum, kLossSum, kSquares, kSquaresSum,
};
// clang-format on
inline constexpr int kKernels = static_cast<int>(Kernel::kSquaresSum) + 1;
/// The first of them are those of operations; the others are of training alone.
inline constexpr int kOperationKernels = static_cast<int>(Kernel::kDrawDropout);

/// How a kernel's work is cut: an invocation a cell, a group a row, a few columns a group, a tile
/// of a product a group, a tile of rows of one head a group.
enum class KernelShape { kCells, kRows, kColumns, kProduct, kAttention };

struct KernelInfo {
  Kernel kernel{};
  std::string_view file;  // "shaders/softmax.comp"
  KernelShape shape{};
};
const KernelInfo& kernel_info(Kernel);

/// A group makes a tile of rows × columns cells from `inner` numbers of the sum at a time, which it
/// keeps in shared memory, each of its invocations block_rows × block_columns of them. With `inner`
/// 0 there is no shared memory: each invocation reads what it needs of both operands itself.
/// An invocation reads block_rows + block_columns numbers for block_rows · block_columns
/// multiply-adds, and cards read about one number from shared memory in the time of four of those:
/// blocks of 4 × 4 would wait for it half of the time, those of 8 × 4 a third.
struct ProductTiles {
  int rows = 64, columns = 64, inner = 16, block_rows = 8, block_columns = 4;
  bool is_direct() const { return inner == 0; }
  // The group's size along x and y.
  int size_x() const { return columns / block_columns; }
  int size_y() const { return rows / block_rows; }
  int invocations() const { return size_x() * size_y(); }
  int shared_bytes() const { return 4 * inner * (rows + columns + 2); }
  bool operator==(const ProductTiles&) const = default;
};

/// Of attention as one kernel: a group of side × side invocations makes 2 · side rows, from as many
/// others at a time. Heads up to short_width have a program of their own, which keeps less.
struct AttentionTiles {
  int side = 16, short_width = 32, most_width = 128;
  int tile() const { return 2 * side; }
  int side_rows() const { return side / 2; }
  int invocations() const { return side * side; }
  int shared_bytes() const {
    return 4 * (2 * side * (tile() + 1) + tile() * (tile() + 1) + tile() * (side + 1) +
                side_rows() * (most_width + 1) + 3 * tile() + 1);
  }
  bool operator==(const AttentionTiles&) const = default;
};

struct KernelTable {
  int cells_group = 256;
  // Rows of up to `short_row` cells have smaller groups. Powers of two.
  int short_row = 64, short_row_group = 32, row_group = 256;
  int column_group = 32, row_lanes = 8;  // of KernelShape::kColumns
  // Products of up to `few_rows` rows, a short sentence's, have tiles of their own: large ones
  // would be empty for the most part.
  int few_rows = 32;
  ProductTiles few = {16, 64, 0, 4, 2}, product;
  AttentionTiles attention;

  /// What fits in these limits, where nothing was measured.
  static KernelTable of(const GlLimits&);
  /// The same for a device: a software renderer has no shared memory that is faster than other.
  static KernelTable of(const GlDevice&);
  /// Are these numbers that the shaders can be compiled with, and within these limits?
  bool fits(const GlLimits&) const;
  /// Which of a kernel's programs is for this size: 0 or 1. It is the length of a row of
  /// KernelShape::kRows, the width of a row of the result of kAttention, the rows of the result of
  /// kProduct; other shapes have one program.
  int variant(Kernel, std::int64_t size) const;
  /// The tiles of that program of a product.
  const ProductTiles& tiles(int variant) const { return variant == 1 ? product : few; }
  /// The group's size of that program.
  int group(Kernel, int variant) const;
  /// "#define GROUP 256\n": what the shader is compiled with.
  std::string defines(Kernel, int variant) const;
  bool operator==(const KernelTable&) const = default;
};

}  // namespace headlight
