#include "core/graph/config.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/graph/options/attention_options.h"
#include "core/graph/reach.h"

namespace headlight {

bool MaskSpec::is_causal() const {
  if (kind == MaskKind::kCausal) return true;
  const bool sparse = kind == MaskKind::kLocal || kind == MaskKind::kStrided;
  return kind != MaskKind::kNone && causal.value_or(sparse);
}

bool MaskSpec::allows(int i, int j) const {
  if (is_causal() && j > i) return false;
  if (nearest > 0 && i - j >= nearest) return false;
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
      return !forbidden.contains(i, j);
  }
  return true;
}

std::vector<Span> forbidden_keys(const MaskSpec& mask, int i, int tokens) {
  std::vector<Span> spans;
  const auto add = [&](int first, int last) {
    first = std::max(first, 0);
    last = std::min(last, tokens - 1);
    if (first > last) return;
    if (!spans.empty() && first <= spans.back().last + 1) {
      spans.back().last = std::max(spans.back().last, last);
    } else {
      spans.push_back({first, last});
    }
  };
  const bool causal = mask.is_causal();
  if (mask.nearest > 0) add(0, i - mask.nearest);
  const int end = causal ? std::min(i + 1, tokens) : tokens;  // keys from here on are the future
  switch (mask.kind) {
    case MaskKind::kNone:
    case MaskKind::kCausal:
      break;
    case MaskKind::kPadding:
      for (const int j : mask.padding) {
        if (j < end) add(j, j);
      }
      break;
    case MaskKind::kLocal:
      add(0, std::min(i - mask.window - 1, end - 1));
      add(i + mask.window + 1, end - 1);
      break;
    case MaskKind::kStrided:
      for (int j = 0; j < end; ++j) {
        if (!mask.allows(i, j)) add(j, j);
      }
      break;
    case MaskKind::kFree:
      for (const Span& span : mask.forbidden.row(i)) {
        if (span.first < end) add(span.first, std::min(span.last, end - 1));
      }
      break;
  }
  if (causal) add(i + 1, tokens - 1);
  return spans;
}

MaskSpec as_free(const MaskSpec& mask, int tokens) {
  if (mask.kind == MaskKind::kFree && !mask.is_causal() && mask.nearest == 0) return mask;
  MaskSpec result = mask;
  result.kind = MaskKind::kFree;
  result.nearest = 0;
  result.causal.reset();
  result.forbidden.clear();
  for (int i = 0; i < tokens; ++i) result.forbidden.set_row(i, forbidden_keys(mask, i, tokens));
  return result;
}

int Config::head_count() const {
  const bool one = attention == AttentionKind::kBasic || attention == AttentionKind::kSingle;
  return one || !attends() ? 1 : heads;  // another mixer has no heads to choose from
}

bool Config::is_local(int layer) const { return std::ranges::binary_search(local_layers, layer); }

MaskSpec Config::mask_of(int layer) const {
  MaskSpec own = mask;
  if (is_local(layer)) own.nearest = local_window;
  return own;
}

int Config::kv_head_count() const {
  const int all = head_count();
  return all == 1 || kv_heads == 0 ? all : kv_heads;
}

int Config::head_width() const {
  if (attention == AttentionKind::kBasic) return d_model;
  if (d_head > 0) return d_head;
  return attention == AttentionKind::kNarrow ? d_model / heads : d_model;
}

int Config::value_width() const {
  return d_value > 0 && attention != AttentionKind::kBasic ? d_value : head_width();
}

bool Config::is_gated() const {
  return activation == Activation::kSwiglu || activation == Activation::kGeglu;
}

int Config::pool_width() const { return pool_hidden > 0 ? pool_hidden : d_model; }

int Config::focus_count() const { return pool == PoolKind::kFoci ? foci : 1; }

int Config::hidden_width() const { return d_hidden > 0 ? d_hidden : 4 * d_model; }

namespace {

// Head counts that divide the width: the nearest below and above the one asked for.
Message heads_message(int width, int heads) {
  int below = 0, above = 0;
  for (int h = 1; h <= width; ++h) {
    if (width % h != 0) continue;
    if (h < heads) below = h;
    if (h > heads && above == 0) above = h;
  }
  const bool both = below != 0 && above != 0;
  return Message{both ? "error.heads_do_not_divide.two" : "error.heads_do_not_divide",
                 {{"width", std::to_string(width)},
                  {"heads", std::to_string(heads)},
                  {"below", std::to_string(below == 0 ? above : below)},
                  {"above", std::to_string(above)}}};
}

// Numbers of kv heads that divide the heads: the nearest below and above the one asked for.
Message kv_heads_message(int heads, int kv_heads) {
  int below = 1, above = heads;
  for (int h = 1; h <= heads; ++h) {
    if (heads % h != 0) continue;
    if (h < kv_heads && h < heads) below = h;
    if (h > kv_heads && above == heads) above = h;
  }
  return Message{"error.kv_heads_do_not_divide",
                 {{"heads", std::to_string(heads)},
                  {"kv_heads", std::to_string(kv_heads)},
                  {"below", std::to_string(below)},
                  {"above", std::to_string(above)}}};
}

// Without attention there are no queries and keys, no row of another text, and no keys to remember.
void validate_mixer(const Config& c) {
  const auto refuse = [&](const char* id) {
    throw UsageError(Message{id, {{"mixer", "mixer." + std::string(word(c.mixer)), true}}});
  };
  if (c.form == ModelForm::kTranslate) refuse("error.mixer_translate");
  if (c.has_rotary() || c.is_relative()) refuse("error.mixer_positions");
  if (c.memory != 0) refuse("error.mixer_memory");
  if (!c.mixes() && !c.has_feed_forward()) refuse("error.mixer_block");
  if (c.mixer != MixerKind::kConvolution) return;
  expect_range("quantity.kernel", c.kernel, 1, kMaxKernel);
  expect_range("quantity.dilation", c.dilation, 1, kMaxDilation);
  const std::int64_t widest = layer_dilation(c, c.layers - 1);
  if (widest <= kLargestMaxTokens) return;
  Config least = c;
  while (layer_dilation(least, c.layers - 1) > kLargestMaxTokens) --least.dilation;
  throw UsageError(Message{"error.dilation",
                           {{"dilation", std::to_string(c.dilation)},
                            {"layers", std::to_string(c.layers)},
                            {"tokens", std::to_string(kLargestMaxTokens)},
                            {"most", std::to_string(least.dilation)}}});
}

// Experts stand in the feed-forward layer's place.
void validate_experts(const Config& c) {
  expect_range("quantity.experts", c.experts, 0, kMaxExperts);
  expect_range("quantity.top_experts", c.top_experts, 0, kMaxExperts);
  if (!(c.balance >= 0 && c.balance <= kHighestPenalty))
    throw UsageError(Message{"error.balance", {{"got", number_text(c.balance, 4)}}});
  if (!c.has_experts()) return;
  if (c.top_experts > c.experts)
    throw UsageError(
        Message{"error.top_experts",
                {{"got", std::to_string(c.top_experts)}, {"experts", std::to_string(c.experts)}}});
  if (!c.has_feed_forward()) throw UsageError(Message{"error.experts_block"});
  if (c.is_gated())
    throw UsageError(
        Message{"error.experts_gated", {{"activation", std::string(word(c.activation))}}});
}

// What is remembered has no place in the row: places that a row counts for itself would repeat.
void validate_memory(const Config& c) {
  expect_range("quantity.memory", c.memory, 0, kMaxMemory);
  if (c.memory == 0) return;
  if (c.form != ModelForm::kTokens)
    throw UsageError(Message{"error.memory_form", {{"form", std::string(word(c.form))}}});
  if (c.positions == PositionKind::kSinusoidal || c.positions == PositionKind::kLearned)
    throw UsageError(
        Message{"error.memory_positions", {{"positions", std::string(word(c.positions))}}});
}

// Numbers have no [SEP], an encoder-decoder has a row for each sentence, and what is remembered was
// read before any [SEP] of this row.
void validate_segments(const Config& c) {
  if (!c.segments) return;
  if (c.form == ModelForm::kTranslate) throw UsageError(Message{"error.segments_translate"});
  if (c.numbers) throw UsageError(Message{"error.segments_numbers"});
  if (c.memory > 0) throw UsageError(Message{"error.segments_memory"});
}

// Numbers have no table that could be read backwards, no class and no other row.
void validate_numbers(const Config& c) {
  expect_range("quantity.components", c.components, 0, kMaxComponents);
  if (!c.numbers && c.components > 0) throw UsageError(Message{"error.components"});
  if (!c.numbers) return;
  if (c.form != ModelForm::kTokens)
    throw UsageError(Message{"error.numbers_form", {{"form", std::string(word(c.form))}}});
  if (c.tied_head) throw UsageError(Message{"error.numbers_tied"});
}

}  // namespace

void validate(const Config& c) {
  // Pooling can do without a transformer under it.
  const bool classes = c.form == ModelForm::kClasses;
  expect_range("quantity.layers", c.layers, classes ? 0 : 1, kMaxLayers);
  expect_range("quantity.heads", c.heads, 1, kMaxHeads);
  expect_range("quantity.d_model", c.d_model, 1, kMaxWidth);
  expect_range("quantity.d_head", c.d_head, 0, kMaxWidth);
  expect_range("quantity.d_hidden", c.d_hidden, 0, 4 * kMaxWidth);
  if (!(c.temperature >= kLowestTemperature && c.temperature <= kHighestTemperature)) {
    throw UsageError(Message{"error.temperature", {{"got", number_text(c.temperature, 4)}}});
  }
  expect_range("quantity.window", c.mask.window, 0, 1 << 20);
  expect_range("quantity.stride", c.mask.stride, 1, 1 << 20);
  if (!c.attends()) validate_mixer(c);
  const bool divides =
      c.layers == 0 || !c.attends() || c.attention != AttentionKind::kNarrow || c.d_head > 0;
  if (!divides && c.d_model % c.heads != 0) {
    throw UsageError(heads_message(c.d_model, c.heads));
  }
  expect_range("quantity.kv_heads", c.kv_heads, 0, kMaxHeads);
  const int heads = c.head_count(), kv_heads = c.kv_head_count();
  if (c.layers > 0 && c.attends() && heads % kv_heads != 0)
    throw UsageError(kv_heads_message(heads, kv_heads));
  validate_attention(c);
  expect_range("quantity.relative_reach", c.relative_reach, 1, kMaxReach);
  expect_range("quantity.t5_buckets", c.t5_buckets, 2, kMaxReach);
  expect_range("quantity.t5_reach", c.t5_reach, 1, kMaxReach);
  expect_range("quantity.foci", c.foci, 1, kMaxFoci);
  expect_range("quantity.pool_hidden", c.pool_hidden, 0, kMaxWidth);
  if (!(c.foci_penalty >= 0 && c.foci_penalty <= kHighestPenalty))
    throw UsageError(Message{"error.foci_penalty", {{"got", number_text(c.foci_penalty, 4)}}});
  validate_experts(c);
  if (c.token_head && !classes) throw UsageError(Message{"error.token_head_form"});
  if (c.tied_head && classes && !c.token_head) throw UsageError(Message{"error.tied_classes"});
  validate_memory(c);
  validate_numbers(c);
  validate_segments(c);
  validate_options(c);
}

namespace {
constexpr std::array kForm = {Choice<ModelForm>{ModelForm::kTokens, "tokens"},
                              Choice<ModelForm>{ModelForm::kClasses, "classes"},
                              Choice<ModelForm>{ModelForm::kTranslate, "translate"}};
constexpr std::array kAttention = {Choice<AttentionKind>{AttentionKind::kBasic, "basic"},
                                   Choice<AttentionKind>{AttentionKind::kSingle, "single"},
                                   Choice<AttentionKind>{AttentionKind::kNarrow, "narrow"},
                                   Choice<AttentionKind>{AttentionKind::kWide, "wide"}};
constexpr std::array kScores = {Choice<ScoreKind>{ScoreKind::kDot, "dot"},
                                Choice<ScoreKind>{ScoreKind::kAdditive, "additive"}};
constexpr std::array kBlock = {Choice<BlockKind>{BlockKind::kAttention, "attention"},
                               Choice<BlockKind>{BlockKind::kNormedAttention, "attention-norm"},
                               Choice<BlockKind>{BlockKind::kPostNorm, "post-norm"},
                               Choice<BlockKind>{BlockKind::kPreNorm, "pre-norm"},
                               Choice<BlockKind>{BlockKind::kParallel, "parallel"}};
constexpr std::array kActivation = {Choice<Activation>{Activation::kRelu, "relu"},
                                    Choice<Activation>{Activation::kGelu, "gelu"},
                                    Choice<Activation>{Activation::kGeluTanh, "gelu-tanh"},
                                    Choice<Activation>{Activation::kSilu, "silu"},
                                    Choice<Activation>{Activation::kSwiglu, "swiglu"},
                                    Choice<Activation>{Activation::kGeglu, "geglu"}};
constexpr std::array kNorm = {Choice<NormKind>{NormKind::kLayer, "layer"},
                              Choice<NormKind>{NormKind::kRms, "rms"},
                              Choice<NormKind>{NormKind::kNone, "none"}};
constexpr std::array kPosition = {
    Choice<PositionKind>{PositionKind::kNone, "none"},
    Choice<PositionKind>{PositionKind::kSinusoidal, "sinusoidal"},
    Choice<PositionKind>{PositionKind::kLearned, "learned"},
    Choice<PositionKind>{PositionKind::kRotary, "rotary"},
    Choice<PositionKind>{PositionKind::kRelative, "relative"},
    Choice<PositionKind>{PositionKind::kT5, "t5"},
    Choice<PositionKind>{PositionKind::kAlibi, "alibi"},
    Choice<PositionKind>{PositionKind::kTransformerXl, "transformer-xl"}};
constexpr std::array kMixer = {Choice<MixerKind>{MixerKind::kAttention, "attention"},
                               Choice<MixerKind>{MixerKind::kRecurrent, "recurrent"},
                               Choice<MixerKind>{MixerKind::kGru, "gru"},
                               Choice<MixerKind>{MixerKind::kConvolution, "convolution"},
                               Choice<MixerKind>{MixerKind::kNone, "none"}};
constexpr std::array kSinusoid = {Choice<Sinusoid>{Sinusoid::kInterleaved, "interleaved"},
                                  Choice<Sinusoid>{Sinusoid::kHalves, "halves"},
                                  Choice<Sinusoid>{Sinusoid::kHalvesToEnd, "halves-to-end"}};
constexpr std::array kRotary = {Choice<RotaryPairs>{RotaryPairs::kHalf, "half"},
                                Choice<RotaryPairs>{RotaryPairs::kInterleaved, "interleaved"}};
constexpr std::array kRotaryScaling = {Choice<RotaryScaling>{RotaryScaling::kNone, "none"},
                                       Choice<RotaryScaling>{RotaryScaling::kLinear, "linear"},
                                       Choice<RotaryScaling>{RotaryScaling::kLlama3, "llama3"}};
constexpr std::array kPool = {
    Choice<PoolKind>{PoolKind::kMean, "mean"},     Choice<PoolKind>{PoolKind::kLast, "last"},
    Choice<PoolKind>{PoolKind::kFirst, "cls"},     Choice<PoolKind>{PoolKind::kConcat, "concat"},
    Choice<PoolKind>{PoolKind::kVector, "vector"}, Choice<PoolKind>{PoolKind::kFoci, "foci"}};
constexpr std::array kPooler = {Choice<Pooler>{Pooler::kNone, "none"},
                                Choice<Pooler>{Pooler::kTanh, "tanh"},
                                Choice<Pooler>{Pooler::kRelu, "relu"}};
constexpr std::array kMask = {
    Choice<MaskKind>{MaskKind::kNone, "none"},       Choice<MaskKind>{MaskKind::kCausal, "causal"},
    Choice<MaskKind>{MaskKind::kPadding, "padding"}, Choice<MaskKind>{MaskKind::kLocal, "local"},
    Choice<MaskKind>{MaskKind::kStrided, "strided"}, Choice<MaskKind>{MaskKind::kFree, "free"}};
}  // namespace

std::span<const Choice<ModelForm>> choices(ModelForm) { return kForm; }
std::span<const Choice<AttentionKind>> choices(AttentionKind) { return kAttention; }
std::span<const Choice<ScoreKind>> choices(ScoreKind) { return kScores; }
std::span<const Choice<BlockKind>> choices(BlockKind) { return kBlock; }
std::span<const Choice<NormKind>> choices(NormKind) { return kNorm; }
std::span<const Choice<Activation>> choices(Activation) { return kActivation; }
std::span<const Choice<PositionKind>> choices(PositionKind) { return kPosition; }
std::span<const Choice<Sinusoid>> choices(Sinusoid) { return kSinusoid; }
std::span<const Choice<MixerKind>> choices(MixerKind) { return kMixer; }
std::span<const Choice<RotaryPairs>> choices(RotaryPairs) { return kRotary; }
std::span<const Choice<RotaryScaling>> choices(RotaryScaling) { return kRotaryScaling; }
std::span<const Choice<PoolKind>> choices(PoolKind) { return kPool; }
std::span<const Choice<Pooler>> choices(Pooler) { return kPooler; }
std::span<const Choice<MaskKind>> choices(MaskKind) { return kMask; }

}  // namespace headlight
