// headlight train: its options as the settings of a run.
#pragma once

#include "app/cli/train/train_source.h"

namespace headlight {

/// Throws UsageError for words and numbers that are none of the choices, and as validate() does.
RunSettings settings_of(const TrainOptions&, const Config&);

}  // namespace headlight
