#include "core/explain/config_lookups.h"

#include <cmath>
#include <functional>
#include <type_traits>

#include "core/base/number_text.h"

namespace headlight {
namespace {

using Text = std::optional<std::string>;

const Config& recipe(const Subject& s) { return s.trace.config(); }

// A number of the recipe. One that is not whole, as a person chose it.
template <auto kMember>
Text number_of(const Subject& s) {
  const auto value = std::invoke(kMember, recipe(s));
  if constexpr (std::is_floating_point_v<decltype(value)>) {
    return exact_number(static_cast<float>(value));
  } else {
    return std::to_string(value);
  }
}

// A number that follows from some of them.
template <auto kRule>
Text derived(const Subject& s) {
  return std::to_string(kRule(recipe(s)));
}

constexpr NamedLookup kConfigLookups[] = {
    {"d_model", number_of<&Config::d_model>},
    {"d_head", number_of<&Config::head_width>},
    {"d_value", number_of<&Config::value_width>},
    {"hidden", number_of<&Config::hidden_width>},
    {"H", number_of<&Config::head_count>},
    {"heads",
     [](const Subject& s) {
       return Text(tr_count(s.language, "count.heads", recipe(s).head_count()));
     }},
    {"kv_heads", number_of<&Config::kv_head_count>},
    // How many heads of queries share one of keys and values.
    {"sharing", derived<[](const Config& c) { return c.head_count() / c.kv_head_count(); }>},
    // The widths of queries, of keys, and of values, all heads side by side.
    {"wide", derived<[](const Config& c) { return c.head_count() * c.head_width(); }>},
    {"kv_wide", derived<[](const Config& c) { return c.kv_head_count() * c.head_width(); }>},
    {"value_wide", derived<[](const Config& c) { return c.head_count() * c.value_width(); }>},
    {"value_kv_wide", derived<[](const Config& c) { return c.kv_head_count() * c.value_width(); }>},
    // Scores.
    {"root",
     [](const Subject& s) {
       return Text(number_text(std::sqrt(static_cast<double>(recipe(s).head_width())), 4));
     }},
    {"factor", number_of<&Config::score_scale>},
    {"cap", number_of<&Config::softcap>},
    {"tau", [](const Subject& s) { return Text(number_text(recipe(s).temperature, 3)); }},
    // Masks.
    {"window", derived<[](const Config& c) { return c.mask.window; }>},
    {"stride", derived<[](const Config& c) { return c.mask.stride; }>},
    {"nearest", number_of<&Config::local_window>},
    // Positions.
    {"position_offset", number_of<&Config::position_offset>},
    {"slowed", number_of<&Config::rotary_factor>},
    {"slow_turns", number_of<&Config::rotary_low>},
    {"fast_turns", number_of<&Config::rotary_high>},
    {"first_context", [](const Subject& s) { return Text(count_text(recipe(s).rotary_context)); }},
    {"buckets", number_of<&Config::t5_buckets>},
    {"reach", derived<[](const Config& c) {
       return c.positions == PositionKind::kRelative ? c.relative_reach : c.t5_reach;
     }>},
    {"kernel", number_of<&Config::kernel>},
    // Experts.
    {"experts",
     [](const Subject& s) {
       return Text(tr_count(s.language, "count.experts", recipe(s).experts));
     }},
    {"best_experts",
     [](const Subject& s) {
       return Text(tr_count(s.language, "count.experts", recipe(s).top_experts));
     }},
    {"balance", [](const Subject& s) { return Text(number_text(recipe(s).balance, 3)); }},
    // The result.
    {"components",
     [](const Subject& s) {
       return Text(tr_count(s.language, "count.components", recipe(s).components));
     }},
    {"foci",
     [](const Subject& s) {
       return Text(tr_count(s.language, "count.foci", recipe(s).focus_count()));
     }},
    {"penalty", [](const Subject& s) { return Text(number_text(recipe(s).foci_penalty, 3)); }},
    {"directions", number_of<&Config::pool_width>},
    // "64 · (64 + 3) = 4,288"
    {"foci_parameters",
     [](const Subject& s) {
       const std::int64_t k = recipe(s).pool_width(), d = recipe(s).d_model;
       const std::int64_t p = recipe(s).focus_count();
       return Text(std::to_string(k) + " · (" + std::to_string(d) + " + " + std::to_string(p) +
                   ") = " + count_text(k * (d + p)));
     }},
};

}  // namespace

std::span<const NamedLookup> config_lookups() { return kConfigLookups; }

}  // namespace headlight
