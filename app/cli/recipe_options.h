// Options of the model that only some published models have.
#pragma once

#include "app/cli/options.h"

namespace headlight {

/// What they say about the config. Throws UsageError.
void set_recipe_options(const ModelOptions&, Config&);

}  // namespace headlight
