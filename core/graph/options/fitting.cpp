#include "core/graph/options/fitting.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/options/attention_options.h"

namespace headlight {
namespace {

// Options that stand or fall together.
using OptionPart = void (*)(Config& to, const Config& from);

void take_heads(Config& to, const Config& from) {
  to.attention = from.attention;
  to.heads = from.heads;
  to.kv_heads = from.kv_heads;
  to.d_head = from.d_head;
  to.d_value = from.d_value;
  to.rotary_width = from.rotary_width;
  to.output_projection = from.output_projection;
}

void take_width(Config& to, const Config& from) { to.d_model = from.d_model; }

void take_scores(Config& to, const Config& from) {
  to.scores = from.scores;
  to.scale = from.scale;
  to.score_scale = from.score_scale;
  to.softcap = from.softcap;
}

void take_experts(Config& to, const Config& from) {
  to.experts = from.experts;
  to.top_experts = from.top_experts;
  to.balance = from.balance;
}

// Whatever validate() may refuse beside something else. What decides most comes first, and a part
// behind those that it needs.
constexpr OptionPart kOptionParts[] = {
    [](Config& to, const Config& from) { take_width(to, from), take_heads(to, from); },
    take_width,
    take_heads,
    [](Config& to, const Config& from) { to.layers = from.layers; },
    [](Config& to, const Config& from) {
      to.mixer = from.mixer;
      to.kernel = from.kernel;
      to.dilation = from.dilation;
    },
    [](Config& to, const Config& from) { to.block = from.block; },
    [](Config& to, const Config& from) { to.activation = from.activation; },
    [](Config& to, const Config& from) { to.norm = from.norm; },
    [](Config& to, const Config& from) { to.positions = from.positions; },
    [](Config& to, const Config& from) { to.sinusoid = from.sinusoid; },
    take_scores,
    [](Config& to, const Config& from) {
      to.numbers = from.numbers;
      to.components = from.components;
    },
    [](Config& to, const Config& from) { to.token_head = from.token_head; },
    [](Config& to, const Config& from) { to.tied_head = from.tied_head; },
    [](Config& to, const Config& from) { to.segments = from.segments; },
    [](Config& to, const Config& from) { to.memory = from.memory; },
    take_experts,
    [](Config& to, const Config& from) {
      to.bias_kv = from.bias_kv;
      to.zero_attention = from.zero_attention;
    },
    [](Config& to, const Config& from) { to.mask = from.mask; },
    [](Config& to, const Config& from) { to.masked_heads = from.masked_heads; },
    [](Config& to, const Config& from) {
      to.local_layers = from.local_layers;
      to.local_window = from.local_window;
    },
    [](Config& to, const Config& from) { to.average_weights = from.average_weights; },
    [](Config& to, const Config& from) { to.fused_attention = from.fused_attention; },
};

bool recipe_goes_with(const Config& recipe, std::span<const ConfigChange> changes) {
  try {
    for (const ConfigChange& change : changes) validate(changed(recipe, change));
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

Config changed(Config recipe, const ConfigChange& change) {
  change(recipe);
  drop_unfit_options(recipe);
  return without_idle_options(std::move(recipe));
}

Config fitting(const Config& own, std::span<const ConfigChange> changes) {
  if (recipe_goes_with(own, changes)) return own;
  Config fits = own;
  for (const OptionPart part : kOptionParts) part(fits, Config{});
  for (const OptionPart part : kOptionParts) {
    Config more = fits;
    part(more, own);
    if (recipe_goes_with(more, changes)) fits = std::move(more);
  }
  return fits;
}

}  // namespace headlight
