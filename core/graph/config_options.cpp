// Options that only some models have a place for: which these are, and what is said where one is
// given to another model.
#include <algorithm>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/graph/config.h"

namespace headlight {
namespace {

const Config kPlain{};

void refuse_idle(const char* option, const char* needs) {
  throw UsageError(Message{"error.idle_option", {{"option", option}, {"needs", needs, true}}});
}

void expect_from_to(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return;
  throw UsageError(Message{value < low ? "error.too_small" : "error.too_large",
                           {{"what", what, true},
                            {"low", std::to_string(low)},
                            {"high", std::to_string(high)},
                            {"value", std::to_string(value)}}});
}

// Which products a model has, whose biases can be chosen.
bool projects(const Config& c) { return c.attends() && c.attention != AttentionKind::kBasic; }
bool projects_back(const Config& c) {
  return c.attends() ? projects(c) && c.output_projection : c.mixes();
}

bool has_sinusoids(const Config& c) { return c.positions == PositionKind::kSinusoidal; }

void validate_numbers_of_options(const Config& c) {
  if (!(c.norm_epsilon >= kLowestEpsilon && c.norm_epsilon <= kHighestEpsilon))
    throw UsageError(Message{"error.norm_epsilon", {{"got", number_text(c.norm_epsilon, 4)}}});
  expect_from_to("quantity.position_offset", c.position_offset, 0, kMaxPositionOffset);
  expect_from_to("quantity.segment_rows", c.segment_rows, 1, kSegments);
  expect_from_to("quantity.encoder_layers", c.encoder_layers, 0, kMaxLayers);
}

// Halves of a row are of one width, and the last pair of one that goes to the end is not the first.
void validate_sinusoid(const Config& c) {
  if (!has_sinusoids(c) || c.sinusoid == Sinusoid::kInterleaved) return;
  const int least = c.sinusoid == Sinusoid::kHalvesToEnd ? 4 : 2;
  if (c.d_model % 2 == 0 && c.d_model >= least) return;
  throw UsageError(Message{"error.sinusoid_width",
                           {{"layout", std::string(word(c.sinusoid))},
                            {"least", std::to_string(least)},
                            {"got", std::to_string(c.d_model)}}});
}

}  // namespace

Config without_idle_options(Config c) {
  if (!c.has_norms()) c.norm_epsilon = kPlain.norm_epsilon;
  if (!c.has_norms()) c.embed_norm = false;
  if (c.numbers) c.embed_scale = false;
  if (!projects(c)) c.qkv_bias.reset();
  if (!projects_back(c)) c.output_bias.reset();
  if (!c.has_feed_forward()) c.mlp_bias.reset();
  if (!has_sinusoids(c)) c.sinusoid = kPlain.sinusoid;
  if (!c.has_places()) c.position_offset = 0;
  if (c.form != ModelForm::kTokens || c.numbers || c.is_gated()) c.head_transform = false;
  if (c.form != ModelForm::kClasses) c.pooler = Pooler::kNone;
  if (c.form != ModelForm::kTranslate) c.encoder_layers = 0;
  if (!c.segments) c.segment_rows = kSegments;
  return c;
}

void validate_options(const Config& c) {
  validate_numbers_of_options(c);
  validate_sinusoid(c);
  const Config fits = without_idle_options(c);
  if (fits.norm_epsilon != c.norm_epsilon) refuse_idle("--norm-epsilon", "needs.norm");
  if (fits.embed_norm != c.embed_norm) refuse_idle("--embed-norm", "needs.norm");
  if (fits.embed_scale != c.embed_scale) refuse_idle("--embed-scale", "needs.tokens_no_numbers");
  if (fits.qkv_bias != c.qkv_bias) refuse_idle("--qkv-bias", "needs.projections");
  if (fits.output_bias != c.output_bias) refuse_idle("--output-bias", "needs.output_projection");
  if (fits.mlp_bias != c.mlp_bias) refuse_idle("--mlp-bias", "needs.feed_forward");
  if (fits.sinusoid != c.sinusoid) refuse_idle("--sinusoid", "needs.sinusoidal");
  if (fits.position_offset != c.position_offset) refuse_idle("--position-offset", "needs.places");
  if (fits.head_transform != c.head_transform)
    refuse_idle("--head-transform", c.is_gated() ? "needs.ungated" : "needs.form_tokens");
  if (fits.pooler != c.pooler) refuse_idle("--pooler", "needs.form_classes");
  if (fits.encoder_layers != c.encoder_layers)
    refuse_idle("--encoder-layers", "needs.form_translate");
  if (fits.segment_rows != c.segment_rows) refuse_idle("--segment-rows", "needs.segments");
}

}  // namespace headlight
