#include "core/config.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace headlight {

bool MaskSpec::is_causal() const {
  if (kind == MaskKind::kCausal) return true;
  const bool sparse = kind == MaskKind::kLocal || kind == MaskKind::kStrided;
  return kind != MaskKind::kNone && causal.value_or(sparse);
}

bool MaskSpec::allows(int i, int j) const {
  if (is_causal() && j > i) return false;
  const int distance = i > j ? i - j : j - i;
  switch (kind) {
    case MaskKind::kNone:
    case MaskKind::kCausal:
      return true;
    case MaskKind::kPadding:
      return !std::binary_search(padding.begin(), padding.end(), j);
    case MaskKind::kLocal:
      return distance <= window;
    case MaskKind::kStrided:
      return distance < stride || distance % stride == 0;
    case MaskKind::kFree:
      return !std::binary_search(forbidden.begin(), forbidden.end(), std::pair(i, j));
  }
  return true;
}

int Config::head_count() const {
  const bool one = attention == AttentionKind::kBasic || attention == AttentionKind::kSingle;
  return one ? 1 : heads;
}

int Config::head_width() const {
  if (attention == AttentionKind::kBasic) return d_model;
  if (d_head > 0) return d_head;
  return attention == AttentionKind::kNarrow ? d_model / heads : d_model;
}

int Config::hidden_width() const { return d_hidden > 0 ? d_hidden : 4 * d_model; }

namespace {

void expect_range(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return;
  throw UsageError(std::string(what) + " must be between " + std::to_string(low) + " and " +
                   std::to_string(high) + "; got " + std::to_string(value) + ". Choose a " +
                   (value < low ? "larger" : "smaller") + " number");
}

// Head counts that divide the width: the nearest below and above the one asked for.
std::string nearest_divisors(int width, int heads) {
  int below = 0, above = 0;
  for (int h = 1; h <= width; ++h) {
    if (width % h != 0) continue;
    if (h < heads) below = h;
    if (h > heads && above == 0) above = h;
  }
  if (below == 0) return std::to_string(above);
  if (above == 0) return std::to_string(below);
  return std::to_string(below) + " or " + std::to_string(above);
}

}  // namespace

void validate(const Config& c) {
  expect_range("the number of layers", c.layers, 1, kMaxLayers);
  expect_range("the number of heads", c.heads, 1, kMaxHeads);
  expect_range("d_model", c.d_model, 1, kMaxWidth);
  expect_range("d_head (0: automatic)", c.d_head, 0, kMaxWidth);
  expect_range("d_hidden (0: automatic)", c.d_hidden, 0, 4 * kMaxWidth);
  expect_range("the mask's window", c.mask.window, 0, 1 << 20);
  expect_range("the mask's stride", c.mask.stride, 1, 1 << 20);
  const bool divides = c.attention != AttentionKind::kNarrow || c.d_head > 0;
  if (!divides && c.d_model % c.heads != 0) {
    throw UsageError("width " + std::to_string(c.d_model) + " does not divide into " +
                     std::to_string(c.heads) + " heads; choose " +
                     nearest_divisors(c.d_model, c.heads) + " heads, or set d_head");
  }
}

namespace {
constexpr std::array kAttention = {Choice<AttentionKind>{AttentionKind::kBasic, "basic"},
                                   Choice<AttentionKind>{AttentionKind::kSingle, "single"},
                                   Choice<AttentionKind>{AttentionKind::kNarrow, "narrow"},
                                   Choice<AttentionKind>{AttentionKind::kWide, "wide"}};
constexpr std::array kScores = {Choice<ScoreKind>{ScoreKind::kDot, "dot"},
                                Choice<ScoreKind>{ScoreKind::kAdditive, "additive"}};
constexpr std::array kBlock = {Choice<BlockKind>{BlockKind::kAttention, "attention"},
                               Choice<BlockKind>{BlockKind::kPostNorm, "post-norm"},
                               Choice<BlockKind>{BlockKind::kPreNorm, "pre-norm"}};
constexpr std::array kActivation = {Choice<Activation>{Activation::kRelu, "relu"},
                                    Choice<Activation>{Activation::kGelu, "gelu"},
                                    Choice<Activation>{Activation::kGeluTanh, "gelu-tanh"}};
constexpr std::array kPosition = {Choice<PositionKind>{PositionKind::kNone, "none"},
                                  Choice<PositionKind>{PositionKind::kSinusoidal, "sinusoidal"},
                                  Choice<PositionKind>{PositionKind::kLearned, "learned"}};
constexpr std::array kMask = {
    Choice<MaskKind>{MaskKind::kNone, "none"},       Choice<MaskKind>{MaskKind::kCausal, "causal"},
    Choice<MaskKind>{MaskKind::kPadding, "padding"}, Choice<MaskKind>{MaskKind::kLocal, "local"},
    Choice<MaskKind>{MaskKind::kStrided, "strided"}, Choice<MaskKind>{MaskKind::kFree, "free"}};
}  // namespace

std::span<const Choice<AttentionKind>> choices(AttentionKind) { return kAttention; }
std::span<const Choice<ScoreKind>> choices(ScoreKind) { return kScores; }
std::span<const Choice<BlockKind>> choices(BlockKind) { return kBlock; }
std::span<const Choice<Activation>> choices(Activation) { return kActivation; }
std::span<const Choice<PositionKind>> choices(PositionKind) { return kPosition; }
std::span<const Choice<MaskKind>> choices(MaskKind) { return kMask; }

}  // namespace headlight
