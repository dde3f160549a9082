// Lookups that the model's recipe alone answers, of whatever run.
#pragma once

#include <span>

#include "core/explain/lookups.h"

namespace headlight {

struct NamedLookup {
  std::string_view name;
  Lookup find;
};

std::span<const NamedLookup> config_lookups();

}  // namespace headlight
