// What the command line says about the model: from options to a Config.
#include <algorithm>
#include <charconv>

#include "app/cli/cli.h"
#include "app/cli/recipe_options.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/graph/masks/number_file.h"
#include "core/io/plain_file.h"

namespace headlight {

namespace {

template <class T>
void set_choice(const char* option, const std::optional<std::string>& given, T& out) {
  if (!given) return;
  const std::optional<T> chosen = from_word<T>(*given);
  if (!chosen)
    throw UsageError(std::string(option) + " must be " + choice_list(T{}) + "; got '" + *given +
                     "'");
  out = *chosen;
}

bool parse_switch(const char* option, const std::string& given) {
  if (given == "on") return true;
  if (given == "off") return false;
  throw UsageError(std::string(option) + " must be on or off; got '" + given + "'");
}

void set_switch(const char* option, const std::optional<std::string>& given, bool& out) {
  if (given) out = parse_switch(option, *given);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::int64_t parse_number(const std::string& text, const std::string& whole) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value < 0) {
    throw UsageError("expected whole numbers from 0, separated by commas (as 0,3,1); got '" +
                     whole + "'");
  }
  return value;
}

CellSet parse_cells(const std::string& text) {
  CellSet cells;
  for (const std::string& part : split(text, ';')) {
    const std::vector<std::int64_t> pair = parse_index(part);
    if (pair.size() != 2 || pair[0] >= kLargestMaxTokens || pair[1] >= kLargestMaxTokens) {
      throw UsageError("expected cells as query,key;query,key (as 0,1;2,3); got '" + text + "'");
    }
    cells.insert(static_cast<int>(pair[0]), static_cast<int>(pair[1]));
  }
  return cells;
}

// "only these" is written as everything else forbidden, for as many tokens as the sentence has.
CellSet all_but(const CellSet& allowed, int tokens) {
  CellSet forbidden;
  for (int i = 0; i < tokens; ++i) {
    forbidden.set(i, {0, tokens - 1}, true);
    for (const Span& span : allowed.row(i)) forbidden.set(i, span, false);
  }
  return forbidden;
}

void set_scores(const ModelOptions& o, Config& c) {
  if (o.attention && c.attention == AttentionKind::kBasic && !o.scores) c.scale = false;
  if (o.scores) {
    if (*o.scores == "scaled") {
      c.scores = ScoreKind::kDot;
      c.scale = true;
    } else if (*o.scores == "dot" || *o.scores == "additive") {
      c.scores = *o.scores == "dot" ? ScoreKind::kDot : ScoreKind::kAdditive;
      c.scale = false;
    } else {
      throw UsageError("--scores must be one of scaled, dot, additive; got '" + *o.scores + "'");
    }
  }
  set_switch("--attention-scale", o.attention_scale, c.scale);
}

// "1:0,0;2,1"
void forbid_to_head(const std::string& text, std::map<int, CellSet>& by_head) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos)
    throw UsageError(
        "--forbid-head expects a head, a colon and cells as query,key;query,key (as "
        "1:0,0;2,1); got '" +
        text + "'");
  const std::int64_t head = parse_number(text.substr(0, colon), text);
  if (head >= kMaxHeads) throw UsageError("--forbid-head: there is no head " + text);
  CellSet cells = parse_cells(text.substr(colon + 1));
  if (!cells.empty()) by_head[static_cast<int>(head)] = std::move(cells);
}

void set_own_masks(const ModelOptions& o, MaskSpec& mask) {
  if (o.mask_file)
    mask.added = *o.mask_file == "none" ? AddedMask{} : naming_file(*o.mask_file, [&] {
      return added_mask(read_number_file(*o.mask_file));
    });
  if (o.forbid_head.empty()) return;
  mask.by_head.clear();
  for (const std::string& text : o.forbid_head) {
    if (text != "none") forbid_to_head(text, mask.by_head);
  }
}

void set_attention(const ModelOptions& o, Config& c) {
  set_switch("--output-projection", o.output_projection, c.output_projection);
  set_switch("--bias-kv", o.bias_kv, c.bias_kv);
  set_switch("--zero-attention", o.zero_attention, c.zero_attention);
  set_switch("--average-weights", o.average_weights, c.average_weights);
  set_switch("--fused-attention", o.fused_attention, c.fused_attention);
  if (o.d_value) c.d_value = *o.d_value;
  if (o.head_mask)
    c.masked_heads = *o.head_mask == "none" ? std::vector<MaskedHead>{} : read_heads(*o.head_mask);
  const bool given = o.bias_kv || o.zero_attention || o.average_weights || o.fused_attention ||
                     o.d_value || o.head_mask || o.mask_file || !o.forbid_head.empty();
  if (given && !c.attends())
    tell(
        "--bias-kv, --zero-attention, --average-weights, --fused-attention, --d-value, "
        "--head-mask, "
        "--mask-file and --forbid-head change nothing without attention");
}

void set_mask(const ModelOptions& o, const Document& doc, MaskSpec& mask) {
  set_choice("--mask", o.mask, mask.kind);
  if (o.mask) mask.causal.reset();
  if (o.mask_causal) mask.causal = parse_switch("--mask-causal", *o.mask_causal);
  if (o.window) mask.window = *o.window;
  if (o.stride) mask.stride = *o.stride;
  if (o.pad) {
    mask.padding.clear();
    for (const std::int64_t p : parse_index(*o.pad))
      mask.padding.push_back(static_cast<int>(std::min<std::int64_t>(p, kLargestMaxTokens)));
  }
  if (o.forbid) mask.forbidden = parse_cells(*o.forbid);
  set_own_masks(o, mask);
  if (o.allow) {
    const std::size_t tokens = Tokenizer(doc.tokenizer).count(doc.sentence);
    if (tokens > 4096)
      throw UsageError(
          "--allow works for up to 4,096 tokens; this sentence has more. Use --forbid");
    mask.forbidden = all_but(parse_cells(*o.allow), static_cast<int>(tokens));
  }
  const auto tell_unused = [&](bool given, MaskKind kind, const char* text) {
    if (given && mask.kind != kind) tell(text);
  };
  tell_unused(o.pad.has_value(), MaskKind::kPadding,
              "--pad changes nothing without --mask padding");
  tell_unused(o.window.has_value(), MaskKind::kLocal,
              "--window changes nothing without --mask local");
  tell_unused(o.stride.has_value(), MaskKind::kStrided,
              "--stride changes nothing without --mask strided");
  tell_unused(o.forbid || o.allow, MaskKind::kFree,
              "--forbid and --allow change nothing without --mask free");
}

void set_positions(const ModelOptions& o, Config& c) {
  set_choice("--positions", o.positions, c.positions);
  set_choice("--rotary", o.rotary, c.rotary);
  if (o.rotary_base) c.rotary_base = *o.rotary_base;
  if (o.rotary_width) c.rotary_width = *o.rotary_width;
  if ((o.rotary || o.rotary_base || o.rotary_width) && !c.has_rotary()) {
    tell("--rotary, --rotary-base and --rotary-width change nothing without --positions rotary");
  }
  const bool one = c.attention == AttentionKind::kBasic || c.attention == AttentionKind::kSingle;
  if (o.kv_heads && one) {
    tell(
        "--kv-heads changes nothing in attention with one head; choose --attention narrow or wide");
  }
}

// Through text: a stream would take −1 for a very large number.
std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || at != text.data() + text.size()) {
    throw UsageError("--seed must be a whole number from 0 to 2^64 - 1; got '" + text + "'");
  }
  return value;
}

void check_numbers(const ModelOptions& o) {
  const double t = o.temperature.value_or(1);
  if (!(t >= kLowestTemperature && t <= kHighestTemperature)) {
    throw UsageError("--temperature must be between 0.05 and 10; got " + number_text(t, 4));
  }
  if (o.kv_heads && *o.kv_heads < 1)
    throw UsageError("--kv-heads must be 1 or more, a number that divides --heads; got " +
                     std::to_string(*o.kv_heads));
  if (o.window && *o.window < 0)
    throw UsageError("--window must be 0 or more; got " + std::to_string(*o.window));
  if (o.stride && *o.stride < 1)
    throw UsageError("--stride must be 1 or more; got " + std::to_string(*o.stride));
  if (o.max_tokens && (*o.max_tokens < 1 || *o.max_tokens > kLargestMaxTokens)) {
    throw UsageError("--max-tokens must be between 1 and " + std::to_string(kLargestMaxTokens) +
                     "; got " + std::to_string(*o.max_tokens));
  }
}

void set_pooling(const ModelOptions& o, Config& c) {
  set_choice("--form", o.form, c.form);
  set_choice("--pool", o.pool, c.pool);
  if (o.foci) c.foci = *o.foci;
  if (o.pool_hidden) c.pool_hidden = *o.pool_hidden;
  if (o.foci_penalty) c.foci_penalty = *o.foci_penalty;
  const bool of_foci = o.foci || o.pool_hidden || o.foci_penalty;
  if (of_foci && c.pool != PoolKind::kFoci)
    tell("--foci, --pool-hidden and --foci-penalty change nothing without --pool foci");
}

void set_distances(const ModelOptions& o, Config& c) {
  if (o.relative_reach) c.relative_reach = *o.relative_reach;
  if (o.t5_buckets) c.t5_buckets = *o.t5_buckets;
  if (o.t5_reach) c.t5_reach = *o.t5_reach;
  if (o.relative_reach && c.positions != PositionKind::kRelative)
    tell("--relative-reach changes nothing without --positions relative");
  if ((o.t5_buckets || o.t5_reach) && c.positions != PositionKind::kT5)
    tell("--t5-buckets and --t5-reach change nothing without --positions t5");
}

void set_mixer(const ModelOptions& o, Config& c) {
  set_choice("--mixer", o.mixer, c.mixer);
  if (o.kernel) c.kernel = *o.kernel;
  if (o.dilation) c.dilation = *o.dilation;
  if ((o.kernel || o.dilation) && c.mixer != MixerKind::kConvolution)
    tell("--kernel and --dilation change nothing without --mixer convolution");
}

void set_experts(const ModelOptions& o, Config& c) {
  if (o.experts) c.experts = *o.experts;
  if (o.top_experts) c.top_experts = *o.top_experts;
  if (o.balance) c.balance = *o.balance;
  if ((o.top_experts || o.balance) && !c.has_experts())
    tell("--top-experts and --balance change nothing without --experts");
}

void set_numbers(const ModelOptions& o, Config& c) {
  set_switch("--numbers", o.numbers, c.numbers);
  if (o.components) c.components = *o.components;
}

// What the other options leave no place for is left out, unless it is asked for here.
void set_parts(const ModelOptions& o, Config& c) {
  c = without_idle_options(std::move(c));
  if (o.norm_epsilon) c.norm_epsilon = *o.norm_epsilon;
  const auto set_bias = [](const char* option, const std::optional<std::string>& given,
                           std::optional<bool>& bias) {
    bool value = false;
    set_switch(option, given, value);
    if (given) bias = value;
  };
  set_bias("--qkv-bias", o.qkv_bias, c.qkv_bias);
  set_bias("--output-bias", o.output_bias, c.output_bias);
  set_bias("--mlp-bias", o.mlp_bias, c.mlp_bias);
  set_bias("--head-bias", o.head_bias, c.head_bias);
  set_switch("--embed-scale", o.embed_scale, c.embed_scale);
  set_switch("--embed-norm", o.embed_norm, c.embed_norm);
  set_choice("--sinusoid", o.sinusoid, c.sinusoid);
  if (o.position_offset) c.position_offset = *o.position_offset;
  if (o.segment_rows) c.segment_rows = *o.segment_rows;
  set_switch("--head-transform", o.head_transform, c.head_transform);
  set_choice("--pooler", o.pooler, c.pooler);
  if (o.encoder_layers) c.encoder_layers = *o.encoder_layers;
}

}  // namespace

Config ModelOptions::config(const Document& doc) const {
  check_numbers(*this);
  Config c = doc.config;
  if (layers) c.layers = *layers;
  if (heads) c.heads = *heads;
  if (kv_heads) c.kv_heads = *kv_heads;
  if (d_model) c.d_model = *d_model;
  if (d_head) c.d_head = *d_head;
  if (d_hidden) c.d_hidden = *d_hidden;
  if (seed) c.seed = parse_seed(*seed);
  set_choice("--attention", attention, c.attention);
  set_scores(*this, c);
  if (temperature) c.temperature = *temperature;
  set_choice("--block", block, c.block);
  set_choice("--norm", norm, c.norm);
  set_choice("--activation", activation, c.activation);
  set_positions(*this, c);
  set_distances(*this, c);
  set_mixer(*this, c);
  set_experts(*this, c);
  set_numbers(*this, c);
  if (memory) c.memory = *memory;
  set_pooling(*this, c);
  set_switch("--segments", segments, c.segments);
  set_switch("--token-head", token_head, c.token_head);
  set_switch("--bias", bias, c.bias);
  set_switch("--tied-head", tied_head, c.tied_head);
  set_attention(*this, c);
  set_recipe_options(*this, c);
  set_switch("--residual", residual, c.residual);
  set_parts(*this, c);
  // Who judges a whole sentence looks both ways.
  const bool judges = c.form == ModelForm::kClasses && doc.config.form != ModelForm::kClasses;
  if (judges && !mask_causal) c.mask.kind = MaskKind::kNone;
  set_mask(*this, doc, c.mask);
  const bool shapes = c.mask.kind == MaskKind::kLocal || c.mask.kind == MaskKind::kStrided ||
                      c.mask.kind == MaskKind::kFree;
  if (!c.attends() && c.mixes() && shapes)
    tell("--mask " + std::string(word(c.mask.kind)) + " says to --mixer " +
         std::string(word(c.mixer)) + " only whether it is causal");
  return c;
}

std::vector<std::int64_t> parse_index(const std::string& text) {
  std::vector<std::int64_t> index;
  for (const std::string& part : split(text, ',')) index.push_back(parse_number(part, text));
  if (index.empty())
    throw UsageError("expected whole numbers separated by commas (as 0,3,1); got '" + text + "'");
  return index;
}

}  // namespace headlight
