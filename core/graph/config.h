// Config: everything that decides which transformer a Program computes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/cell_set.h"
#include "core/graph/masks/added_mask.h"
#include "core/graph/masks/masked_head.h"
#include "core/ops/positions/rotary_scaling.h"

namespace headlight {

/// What the model reads and makes:
///   kTokens     one row of tokens, and at each of them which token stands there or comes next
///   kClasses    one row of tokens, and which class the row belongs to
///   kTranslate  encoder-decoder: a source row, and at each token of the target row the next one
enum class ModelForm { kTokens, kClasses, kTranslate };
enum class AttentionKind { kBasic, kSingle, kNarrow, kWide };
enum class ScoreKind { kDot, kAdditive };
/// kAttention is attention alone, kNormedAttention the same with a norm before it: no feed-forward
/// network. In kParallel attention and network both start from the block's input: x + attention(ln1
/// x) + network(ln2 x) (GPT-NeoX).
enum class BlockKind { kAttention, kNormedAttention, kPostNorm, kPreNorm, kParallel };
/// kNone: a row stays as it is, whatever its size.
enum class NormKind { kLayer, kRms, kNone };
/// The last two are gated: a second product of the row multiplies what the function made of the
/// first.
enum class Activation { kRelu, kGelu, kGeluTanh, kSilu, kSwiglu, kGeglu };
/// What stands in attention's place: attention itself, what came before it, or nothing, so that
/// each token is by itself.
enum class MixerKind { kAttention, kRecurrent, kGru, kConvolution, kNone };
/// The last four know only how far a key is from its query:
///   kRelative       learned rows by distance, for keys and for values (Shaw et al. 2018)
///   kT5             learned numbers by bucket of distance, added to the scores (Raffel et al.
///   2020) kAlibi          −slope · distance, added to the scores (Press et al. 2022)
///   kTransformerXl  a sinusoid of the distance as a second key (Dai et al. 2019)
enum class PositionKind {
  kNone,
  kSinusoidal,
  kLearned,
  kRotary,
  kRelative,
  kT5,
  kAlibi,
  kTransformerXl
};
/// Which features of a head turn together: i and i + half of them, or 2i and 2i + 1.
enum class RotaryPairs { kHalf, kInterleaved };
/// How the numbers of a sinusoid lie in its row, and how fast they turn: pair i of d / 2 by
///   kInterleaved  10000^(−2i/d), sine and cosine side by side (Vaswani et al. 2017)
///   kHalves       the same, all sines before all cosines, as Marian has them
///   kHalvesToEnd  10000^(−i/(d/2 − 1)), all sines before all cosines: the last pair is exactly
///                 10000 times slower than the first, as in tensor2tensor and fairseq
enum class Sinusoid { kInterleaved, kHalves, kHalvesToEnd };
/// How a classifier makes one vector of all its tokens':
///   kMean    their mean
///   kLast    that of the last token
///   kFirst   that of the first token, where BERT's [CLS] stands
///   kConcat  all of them side by side
///   kVector  their mean, weighted by softmax(x w) with one learned vector w
///   kFoci    several such means side by side, weighted by softmax(tanh(x W₁) W₂): one for each
///            column of W₂ (Lin et al. 2017, "A structured self-attentive sentence embedding")
enum class PoolKind { kMean, kLast, kFirst, kConcat, kVector, kFoci };
/// What a classifier makes of that vector before it scores the classes: nothing, or f(x W + b),
/// d_model numbers.
enum class Pooler { kNone, kTanh, kRelu };
enum class MaskKind { kNone, kCausal, kPadding, kLocal, kStrided, kFree };

/// Which keys a query may look at.
struct MaskSpec {
  MaskKind kind = MaskKind::kCausal;
  int window = 2;              // local: |i − j| ≤ window
  int stride = 3;              // strided: i − j < stride or (i − j) mod stride = 0
  std::optional<bool> causal;  // also forbid the future; unset: yes for local and strided
  std::vector<int> padding;    // positions that are padding, ascending
  // Source tokens of an encoder-decoder that are padding, ascending: whatever the kind is, no query
  // of the encoder or of cross-attention looks at them.
  std::vector<int> source_padding;
  CellSet forbidden;  // free: forbidden (query, key) cells
  int nearest = 0;  // only of Config::mask_of(): keys with i − j < nearest; 0: however far behind
  // Whatever the kind is, added to the scores behind the mask: numbers of the person's own, and for
  // single heads further forbidden cells.
  AddedMask added;
  std::map<int, CellSet> by_head;
  bool operator==(const MaskSpec&) const = default;
  bool is_causal() const;
  bool adds() const { return !added.empty() || !by_head.empty(); }
  /// May query i look at key j?
  bool allows(int i, int j) const;
};

/// The keys from 0 to tokens − 1 that query i may not look at, as ascending stretches.
std::vector<Span> forbidden_keys(const MaskSpec&, int i, int tokens);
/// What the mask shows for this many tokens, as a free mask to paint on. A free mask that is not
/// causal stays as it is.
MaskSpec as_free(const MaskSpec&, int tokens);

inline constexpr int kSegments = 2;  // the first sentence, the second

struct Config {
  int layers = 2;
  int encoder_layers = 0;  // of kTranslate; 0: layers
  int heads = 4;
  int d_model = 64;
  int kv_heads = 0;  // heads of keys and values, each shared by heads / kv_heads; 0: heads
  int d_head = 0;    // 0: d_model / heads (narrow), d_model (wide, single)
  int d_hidden = 0;  // 0: 4 · d_model
  AttentionKind attention = AttentionKind::kNarrow;
  ScoreKind scores = ScoreKind::kDot;
  bool scale = true;       // ÷ √d_head
  double score_scale = 0;  // what `scale` multiplies by in place of that; 0: ÷ √d_head
  double softcap = 0;      // scores become softcap · tanh(score / softcap); 0: they stay
  double temperature = 1;  // attention's softmax divides the scores by it
  BlockKind block = BlockKind::kPreNorm;
  NormKind norm = NormKind::kLayer;
  double norm_epsilon = 1e-5;  // what is added to the variance, or the mean square
  Activation activation = Activation::kGelu;
  PositionKind positions = PositionKind::kSinusoidal;
  Sinusoid sinusoid = Sinusoid::kInterleaved;
  // Of kSinusoidal and kLearned: where the first token stands. Some models count from the id of
  // padding on.
  int position_offset = 0;
  bool embed_scale = false;  // rows of W_E × √d_model, before anything is added to them
  bool embed_norm = false;   // a norm behind the sum of all that is embedded
  RotaryPairs rotary = RotaryPairs::kHalf;  // and the next two: of PositionKind::kRotary
  double rotary_base = 10000;
  int rotary_width = 0;  // of a head's features so many turn, from the first; 0: all
  RotaryScaling rotary_scaling = RotaryScaling::kNone;
  double rotary_factor = 1;  // of rotary_scaling; and the next two: of RotaryScaling::kLlama3
  double rotary_low = 1, rotary_high = 4;
  int rotary_context = 8192;
  int relative_reach = 16;  // kRelative: distances beyond it count as it
  int t5_buckets = 32;      // kT5: how many, and the distance from which on all share the last one
  int t5_reach = 128;
  MixerKind mixer = MixerKind::kAttention;
  int kernel = 3;       // of MixerKind::kConvolution: places of the window
  int dilation = 1;     // in layer l its places lie dilation^l apart
  int experts = 0;      // feed-forward networks that a gate chooses from; 0: one, without a gate
  int top_experts = 0;  // so many best ones are heard; 0: all
  double balance = 0;  // in training: C of + C · E · Σ share · mean weight, which spreads the load
  int memory = 0;      // so many rows of the segment before are kept as further keys and values
  // Tokens are numbers, an even grid from −1 to 1, and for each of them another is predicted: one
  // number, or a density of so many components (Bishop 1994, "Mixture density networks").
  bool numbers = false;
  int components = 0;
  bool bias = true;
  // Of Q, K and V; of W_O; of the feed-forward network; of the logits. Unset: as `bias`, but that a
  // tied head has one only where it is asked for.
  std::optional<bool> qkv_bias, output_bias, mlp_bias, head_bias;
  bool tied_head = false;  // the logits are made with W_E, transposed: no W_U
  // kTokens: before the logits each row becomes norm(f(x W + b)), f that of the feed-forward
  // network, as BERT's does where it says hidden tokens (Devlin et al. 2019).
  bool head_transform = false;
  bool residual = true;
  PoolKind pool = PoolKind::kMean;  // and the next three: of ModelForm::kClasses
  int foci = 3;                     // of PoolKind::kFoci
  int pool_hidden = 0;              // directions into which W₁ projects; 0: d_model
  double foci_penalty = 0;  // PoolKind::kFoci, in training: C of + C · ‖A Aᵀ − I‖²
  Pooler pooler = Pooler::kNone;
  // kClasses: beside the class, each token's row says which token stands there, as BERT learns of
  // hidden tokens while it judges pairs (Devlin et al. 2019).
  bool token_head = false;
  // Each token's embedding has one of kSegments learned rows added, by the sentence that it stands
  // in: up to the first [SEP], or behind it (Devlin et al. 2019).
  bool segments = false;
  int segment_rows = kSegments;  // with one, every token has that one added
  MaskSpec mask;                 // of kTranslate: the decoder's attention to its own row
  // Layers, ascending, where that attention in addition allows only keys with i − j < local_window.
  std::vector<int> local_layers;
  int local_window = 0;
  // Off: the heads' results side by side are what attention adds, as they are: no W_O, no b_O.
  // Their width must then be d_model.
  bool output_projection = true;
  int d_value = 0;  // width of a head's values; 0: that of its queries and keys
  // Behind the tokens' keys and values one more, a learned one or zeros, or both in this order.
  bool bias_kv = false, zero_attention = false;
  bool average_weights = false;          // the mean of the heads' weights is computed beside them
  std::vector<MaskedHead> masked_heads;  // ascending; their weights are set to 0
  // Scores, mask, softmax and weighted sum are one operation, block by block: no weight of any
  // query for any key is kept (Dao et al. 2022, "FlashAttention").
  bool fused_attention = false;
  std::uint64_t seed = 1;
  ModelForm form = ModelForm::kTokens;
  bool operator==(const Config&) const = default;

  int head_count() const;     // basic and single attention have one
  int kv_head_count() const;  // as it will be used
  int head_width() const;     // d_head as it will be used
  int value_width() const;    // d_value as it will be used
  int extra_keys() const { return attends() ? int{bias_kv} + int{zero_attention} : 0; }
  int hidden_width() const;  // d_hidden as it will be used
  int pool_width() const;    // pool_hidden as it will be used
  int focus_count() const;   // one, of PoolKind::kVector
  bool pools_by_weights() const { return pool == PoolKind::kVector || pool == PoolKind::kFoci; }
  bool has_feed_forward() const {
    return block == BlockKind::kPostNorm || block == BlockKind::kPreNorm || is_parallel();
  }
  bool is_parallel() const { return block == BlockKind::kParallel; }
  /// Does each part of a block start from normed rows, and the model end with a norm?
  bool norms_before() const {
    const bool before = block == BlockKind::kPreNorm || block == BlockKind::kNormedAttention;
    return (before || is_parallel()) && has_norms();
  }
  bool is_gated() const;
  /// Has it weights for places that it learned with, and none for those behind them?
  bool ends_at_context() const {
    const bool side_by_side = form == ModelForm::kClasses && pool == PoolKind::kConcat;
    return positions == PositionKind::kLearned || side_by_side;
  }
  /// The biases as they will be used.
  bool has_qkv_bias() const { return qkv_bias.value_or(bias); }
  bool has_output_bias() const { return output_bias.value_or(bias); }
  bool has_mlp_bias() const { return mlp_bias.value_or(bias); }
  bool has_head_bias() const { return head_bias.value_or(bias); }
  bool has_tied_bias() const { return head_bias.value_or(false); }
  int encoder_layer_count() const { return encoder_layers > 0 ? encoder_layers : layers; }
  /// Has each token a place of its own in the row, that joins what it is?
  bool has_places() const {
    return positions == PositionKind::kSinusoidal || positions == PositionKind::kLearned;
  }
  /// Does it matter which of two sentences a token stands in?
  bool tells_sentences() const { return segments && segment_rows > 1; }
  bool has_experts() const { return experts > 0; }
  bool attends() const { return mixer == MixerKind::kAttention; }
  bool mixes() const { return mixer != MixerKind::kNone; }
  /// May scores to weighted sum be one operation? It computes nothing but softmax(Q Kᵀ + mask) V.
  bool can_fuse_attention() const {
    return attends() && scores == ScoreKind::kDot && !is_relative() && !mask.adds() &&
           masked_heads.empty() && !average_weights && softcap == 0;
  }
  /// Are the weights of queries for keys there to be looked at?
  bool keeps_pattern() const { return attends() && !fused_attention; }
  bool has_norms() const { return norm != NormKind::kNone; }
  /// Are positions only distances between a query and a key?
  bool is_relative() const { return positions >= PositionKind::kRelative; }
  bool has_rotary() const { return positions == PositionKind::kRotary; }
  /// Is a row's attention to itself, of dot products, nothing but softmax(Q Kᵀ + mask) V?
  bool is_plain_attention() const {
    return scores == ScoreKind::kDot && !is_relative() && extra_keys() == 0 &&
           value_width() == head_width() && masked_heads.empty() && !mask.adds() && softcap == 0;
  }
  /// Has this layer a window of keys of its own? And the mask that so comes about.
  bool is_local(int layer) const;
  MaskSpec mask_of(int layer) const;
  /// What turns queries and keys of PositionKind::kRotary more slowly.
  RotaryStretch rotary_stretch() const {
    return {rotary_scaling, rotary_factor, rotary_low, rotary_high, rotary_context};
  }
};

/// As if what has no place in this model had not been said: the place of the first token where
/// tokens have none, a norm's number where there is no norm, and the like. validate() refuses those
/// where a person says them.
Config without_idle_options(Config);

/// Throws UsageError that says what was expected, what came and what to do. The limits are there to
/// catch slips of the finger; whether a model fits into memory is asked by memory_needed().
void validate(const Config&);
/// The part of it that is about single options, and those that without_idle_options() leaves out.
void validate_options(const Config&);

inline constexpr double kLowestTemperature = 0.05, kHighestTemperature = 10;
inline constexpr double kLowestRotaryBase = 1, kHighestRotaryBase = 1e12;
inline constexpr double kHighestRotaryFactor = 1e6;
inline constexpr double kLowestScoreScale = 1e-6, kHighestScoreScale = 1e6;  // besides 0: none
inline constexpr double kLowestSoftcap = 1e-3, kHighestSoftcap = 1e6;        // besides 0: none
inline constexpr int kMostRotaryContext = 1 << 24, kMostLocalWindow = 1 << 20;
inline constexpr double kLowestEpsilon = 1e-12, kHighestEpsilon = 1;  // of norms
inline constexpr int kMaxPositionOffset = 1024;
inline constexpr int kMaxFoci = 1024;
inline constexpr int kMaxReach = 4096;  // of distances
inline constexpr int kMaxKernel = 1024;
inline constexpr int kMaxDilation = 64;
inline constexpr int kMaxExperts = 128;
inline constexpr int kMaxMemory = 65536;
inline constexpr int kMaxComponents = 64;
inline constexpr double kHighestPenalty = 1000;
inline constexpr int kMaxLayers = 256;
inline constexpr int kMaxHeads = 1024;
inline constexpr int kMaxWidth = 65536;
inline constexpr int kLargestMaxTokens = 65536;

/// The words by which each choice is known on the command line, in sessions and in the window.
template <class T>
struct Choice {
  T value;
  std::string_view word;
};
std::span<const Choice<ModelForm>> choices(ModelForm);
std::span<const Choice<AttentionKind>> choices(AttentionKind);
std::span<const Choice<ScoreKind>> choices(ScoreKind);
std::span<const Choice<BlockKind>> choices(BlockKind);
std::span<const Choice<NormKind>> choices(NormKind);
std::span<const Choice<Activation>> choices(Activation);
std::span<const Choice<PositionKind>> choices(PositionKind);
std::span<const Choice<Sinusoid>> choices(Sinusoid);
std::span<const Choice<MixerKind>> choices(MixerKind);
std::span<const Choice<RotaryPairs>> choices(RotaryPairs);
std::span<const Choice<RotaryScaling>> choices(RotaryScaling);
std::span<const Choice<PoolKind>> choices(PoolKind);
std::span<const Choice<Pooler>> choices(Pooler);
std::span<const Choice<MaskKind>> choices(MaskKind);

template <class T>
std::string_view word(T value) {
  for (const auto& choice : choices(value)) {
    if (choice.value == value) return choice.word;
  }
  return "?";
}

template <class T>
std::optional<T> from_word(std::string_view text) {
  for (const auto& choice : choices(T{})) {
    if (choice.word == text) return choice.value;
  }
  return std::nullopt;
}

/// "one of none, causal, padding, local, strided, free"
template <class T>
std::string choice_list(T) {
  std::string text = "one of ";
  for (const auto& choice : choices(T{})) {
    if (text.size() > 7) text += ", ";
    text += choice.word;
  }
  return text;
}

}  // namespace headlight
