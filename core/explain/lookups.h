// Lookups: what the {places} of the texts about a step stand for, read from the run. A closed list;
// the texts (assets/i18n: steps, words, backward) name what they need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/texts.h"
#include "core/run/trace.h"

namespace headlight {

/// What a text speaks of: a step, and which head and which token's row of it. There may be fewer
/// source tokens than `query` asks for: then it is the last one's.
struct Subject {
  Language language{};
  const Trace& trace;
  const Step& step;
  std::int64_t head = 0, query = 0;
};

/// A number or a name as it stands in a sentence; nothing where the run has none: a query that may
/// look at no key, a place without a target.
using Lookup = std::optional<std::string> (*)(const Subject&);

/// Null when there is none of this name.
Lookup find_lookup(std::string_view name);

}  // namespace headlight
