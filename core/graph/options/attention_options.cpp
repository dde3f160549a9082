#include "core/graph/options/attention_options.h"

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/graph/masks/layer_list.h"

namespace headlight {

void expect_range(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return;
  throw UsageError(Message{value < low ? "error.too_small" : "error.too_large",
                           {{"what", std::string(what), true},
                            {"low", std::to_string(low)},
                            {"high", std::to_string(high)},
                            {"value", std::to_string(value)}}});
}

namespace {

void validate_rotary(const Config& c) {
  if (!(c.rotary_base >= kLowestRotaryBase && c.rotary_base <= kHighestRotaryBase))
    throw UsageError(Message{"error.rotary_base", {{"got", number_text(c.rotary_base, 4)}}});
  const int width = c.head_width();
  if (c.rotary_width == 0 && width % 2 != 0)
    throw UsageError(Message{"error.rotary_odd_head", {{"width", std::to_string(width)}}});
  if (c.rotary_width % 2 != 0 || c.rotary_width < 0 || c.rotary_width > width) {
    throw UsageError(
        Message{"error.rotary_width",
                {{"got", std::to_string(c.rotary_width)}, {"width", std::to_string(width)}}});
  }
}

// Without W_O nothing brings the heads' results to the width of the rows.
void validate_output(const Config& c) {
  if (c.output_projection || c.attention == AttentionKind::kBasic) return;
  const int heads = c.head_count(), width = c.value_width();
  const std::int64_t side_by_side = std::int64_t{heads} * width;
  if (side_by_side == c.d_model) return;
  throw UsageError(Message{"error.no_output_projection",
                           {{"heads", std::to_string(heads)},
                            {"width", std::to_string(width)},
                            {"got", std::to_string(side_by_side)},
                            {"d_model", std::to_string(c.d_model)}}});
}

// A head that is switched off, or has a mask of its own, must be there.
void validate_head_masks(const Config& c) {
  const bool two = c.form == ModelForm::kTranslate;
  const int heads = c.head_count();
  for (const MaskedHead& h : c.masked_heads) {
    if (h.of != HeadsOf::kOwn && !two)
      throw UsageError(Message{"error.head_stack", {{"got", head_text(h)}}});
    const int layers = h.of == HeadsOf::kEncoder ? c.encoder_layer_count() : c.layers;
    if (h.layer >= layers || h.head >= heads || h.layer < 0 || h.head < 0)
      throw UsageError(Message{"error.no_such_head",
                               {{"got", head_text(h)},
                                {"layers", std::to_string(layers)},
                                {"last_layer", std::to_string(layers - 1)},
                                {"heads", std::to_string(heads)},
                                {"last_head", std::to_string(heads - 1)}}});
  }
  if (!c.mask.by_head.empty() &&
      (c.mask.by_head.begin()->first < 0 || c.mask.by_head.rbegin()->first >= heads))
    throw UsageError(Message{"error.head_of_mask",
                             {{"got", std::to_string(c.mask.by_head.rbegin()->first)},
                              {"last_head", std::to_string(heads - 1)}}});
  const int own = c.mask.added.heads;
  if (own != 0 && own != heads)
    throw UsageError(Message{"error.added_mask_heads",
                             {{"got", std::to_string(own)}, {"heads", std::to_string(heads)}}});
}

// What is said of a distance has no place for a key that stands nowhere.
void validate_extra_keys(const Config& c) {
  expect_range("quantity.d_value", c.d_value, 0, kMaxWidth);
  if (c.extra_keys() > 0 && c.is_relative())
    throw UsageError(Message{"error.extra_keys_positions",
                             {{"option", c.bias_kv ? "--bias-kv" : "--zero-attention"},
                              {"positions", std::string(word(c.positions))}}});
  const bool gathers = c.positions == PositionKind::kRelative;
  if (gathers && c.value_width() != c.head_width())
    throw UsageError(Message{
        "error.d_value_positions",
        {{"width", std::to_string(c.head_width())}, {"got", std::to_string(c.value_width())}}});
}

// 0 switches an option off; else it must lie between the two. NaN lies nowhere.
void expect_number(std::string_view id, double got, double low, double high) {
  if (got == 0 || (got >= low && got <= high)) return;
  throw UsageError(Message{std::string(id),
                           {{"low", number_text(low, 4)},
                            {"high", number_text(high, 4)},
                            {"got", number_text(got, 4)}}});
}

void validate_rotary_scaling(const Config& c) {
  if (c.rotary_scaling == RotaryScaling::kNone) return;
  const auto refuse = [](const char* id, double got) {
    throw UsageError(Message{id, {{"got", number_text(got, 4)}}});
  };
  if (!(c.rotary_factor >= 1 && c.rotary_factor <= kHighestRotaryFactor))
    refuse("error.rotary_factor", c.rotary_factor);
  if (c.rotary_scaling != RotaryScaling::kLlama3) return;
  if (!(c.rotary_low > 0 && c.rotary_low < c.rotary_high && c.rotary_high <= kHighestRotaryFactor))
    throw UsageError(
        Message{"error.rotary_bounds",
                {{"low", number_text(c.rotary_low, 4)}, {"high", number_text(c.rotary_high, 4)}}});
  expect_range("quantity.rotary_context", c.rotary_context, 1, kMostRotaryContext);
}

// What is said of scores and keys, and where there is nothing that it could be said of.
void validate_scores(const Config& c) {
  expect_number("error.score_scale", c.score_scale, kLowestScoreScale, kHighestScoreScale);
  expect_number("error.softcap", c.softcap, kLowestSoftcap, kHighestSoftcap);
  if (c.score_scale != 0 && !c.scale) throw UsageError(Message{"error.score_scale_off"});
  if (c.rotary_scaling != RotaryScaling::kNone && !c.has_rotary())
    throw UsageError(Message{"error.rotary_scaling_positions",
                             {{"scaling", std::string(word(c.rotary_scaling))},
                              {"positions", std::string(word(c.positions))}}});
  if (c.attends()) return;
  const auto refuse = [&](const char* option) {
    throw UsageError(Message{"error.attention_option",
                             {{"option", option}, {"mixer", std::string(word(c.mixer))}}});
  };
  if (c.score_scale != 0) refuse("--score-scale");
  if (c.softcap != 0) refuse("--softcap");
  if (!c.local_layers.empty()) refuse("--local-layers");
}

// Layers with a window of keys of their own must be there, and have one.
void validate_local(const Config& c) {
  const bool some = !c.local_layers.empty();
  if (!some && c.local_window == 0) return;
  if (!some)
    throw UsageError(
        Message{"error.local_layers_missing", {{"window", std::to_string(c.local_window)}}});
  if (c.local_window == 0)
    throw UsageError(
        Message{"error.local_window_missing", {{"layers", layers_text(c.local_layers)}}});
  expect_range("quantity.local_window", c.local_window, 1, kMostLocalWindow);
  for (std::size_t i = 0; i < c.local_layers.size(); ++i) {
    const int layer = c.local_layers[i];
    if (layer < 0 || layer >= c.layers)
      throw UsageError(
          Message{"error.no_such_layer",
                  {{"got", std::to_string(layer)}, {"last", std::to_string(c.layers - 1)}}});
    if (i > 0 && c.local_layers[i - 1] >= layer)
      throw UsageError(Message{"error.local_layers_order", {{"got", layers_text(c.local_layers)}}});
  }
}

// One operation has no place between the scores and the weights, and keeps neither.
void validate_fused(const Config& c) {
  if (!c.fused_attention) return;
  const auto refuse = [](const char* id) { throw UsageError(Message{id}); };
  if (c.scores == ScoreKind::kAdditive) refuse("error.fused.additive");
  if (c.is_relative())
    throw UsageError(
        Message{"error.fused.positions", {{"positions", std::string(word(c.positions))}}});
  if (c.mask.adds()) refuse("error.fused.added_mask");
  if (!c.masked_heads.empty()) refuse("error.fused.masked_heads");
  if (c.average_weights) refuse("error.fused.average_weights");
  if (c.softcap != 0) refuse("error.fused.softcap");
}

}  // namespace

void validate_attention(const Config& c) {
  validate_scores(c);
  validate_local(c);
  if (c.layers == 0 || !c.attends()) return;
  if (c.has_rotary()) {
    validate_rotary(c);
    validate_rotary_scaling(c);
  }
  validate_output(c);
  validate_head_masks(c);
  validate_extra_keys(c);
  validate_fused(c);
}

void drop_unfit_options(Config& c) {
  if (!c.has_rotary()) {
    const Config usual;
    c.rotary_scaling = usual.rotary_scaling;
    c.rotary_factor = usual.rotary_factor;
    c.rotary_low = usual.rotary_low;
    c.rotary_high = usual.rotary_high;
    c.rotary_context = usual.rotary_context;
  }
  if (!c.scale || !c.attends()) c.score_scale = 0;
  if (!c.attends()) c.softcap = 0;
  std::erase_if(c.local_layers, [&](int layer) { return layer >= c.layers || !c.attends(); });
  if (c.local_layers.empty()) c.local_window = 0;
}

void write_attention_options(const Config& c, OrderedJson& json) {
  if (c.score_scale != 0) json["score_scale"] = c.score_scale;
  if (c.softcap != 0) json["softcap"] = c.softcap;
  if (c.rotary_scaling != RotaryScaling::kNone) {
    json["rotary_scaling"] = word(c.rotary_scaling);
    json["rotary_factor"] = c.rotary_factor;
  }
  if (c.rotary_scaling == RotaryScaling::kLlama3) {
    json["rotary_low"] = c.rotary_low;
    json["rotary_high"] = c.rotary_high;
    json["rotary_context"] = c.rotary_context;
  }
  if (c.local_layers.empty()) return;
  json["local_layers"] = c.local_layers;
  json["local_window"] = c.local_window;
}

void read_attention_options(const JsonReader& in, Config& c) {
  const auto number_or_off = [&](const char* key, double& out, double low, double high) {
    const OrderedJson* value = in.find(key);
    if (!value || *value != 0) in.number(key, out, low, high);
  };
  number_or_off("score_scale", c.score_scale, kLowestScoreScale, kHighestScoreScale);
  number_or_off("softcap", c.softcap, kLowestSoftcap, kHighestSoftcap);
  in.choice("rotary_scaling", c.rotary_scaling);
  in.number("rotary_factor", c.rotary_factor, 1, kHighestRotaryFactor);
  in.number("rotary_low", c.rotary_low, 0, kHighestRotaryFactor);
  in.number("rotary_high", c.rotary_high, 0, kHighestRotaryFactor);
  in.number("rotary_context", c.rotary_context, 1, kMostRotaryContext);
  in.number("local_window", c.local_window, 0, kMostLocalWindow);
  const OrderedJson* layers = in.find("local_layers");
  if (!layers) return;
  const auto refuse = [&](const OrderedJson& got) {
    in.fail(in.name("local_layers"), Message{"session.layers"}, got);
  };
  if (!layers->is_array()) refuse(*layers);
  for (const OrderedJson& layer : *layers) {
    const bool fits = layer.is_number_integer() && layer.get<std::int64_t>() >= 0 &&
                      layer.get<std::int64_t>() < kMaxLayers;
    if (!fits) refuse(layer);
    c.local_layers.push_back(layer.get<int>());
  }
}

}  // namespace headlight
