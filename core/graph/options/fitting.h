// A recipe that something else is set in: what of it goes with that.
#pragma once

#include <functional>
#include <span>

#include "core/graph/config.h"

namespace headlight {

/// What is set in a recipe: by a lab, by going back to a plain decoder.
using ConfigChange = std::function<void(Config&)>;

/// The recipe behind the change, without options that then have no place
/// (drop_unfit_options(), without_idle_options()).
Config changed(Config, const ConfigChange&);

/// As much of a recipe as goes with each of the changes: whatever validate() then refuses is as in
/// Config{}. All of a valid one where it goes with them as it is.
Config fitting(const Config& own, std::span<const ConfigChange> changes);

}  // namespace headlight
