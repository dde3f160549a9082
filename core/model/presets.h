// Models from papers in their own sizes, and a miniature of each: as small as the window can show,
// built in the same way.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

/// Parameters that the published model has beyond those of the program here; fewer, where negative.
struct PresetDifference {
  std::string_view what;  // text id
  std::int64_t count = 0;
};

struct Preset {
  std::string_view name;   // "gpt2-small"
  std::string_view title;  // "GPT-2 small"
  int year = 0;
  std::string_view source;  // "Radford et al. 2019", and where it is read
  std::string_view link;
  Config config;
  RunShape shape;              // as many tokens as it reads at once, its vocabulary
  std::int64_t published = 0;  // parameters, all differences included
  std::string_view said;       // how the paper says it: "65 million"
  std::vector<PresetDifference> differences;
  std::string_view apart;  // text id: what else is not as in the paper
};

std::span<const Preset> all_presets();
/// Throws UsageError that names those there are.
const Preset& preset(std::string_view name);

/// Two layers of width 64 with four heads, in all else the same: block order, positions,
/// activation, head, mask; the feed-forward network as many times wider.
Config miniature(const Preset&);

/// Parameters of the program of the preset; with its differences they are `published`.
std::int64_t parameters_here(const Preset&);

}  // namespace headlight
