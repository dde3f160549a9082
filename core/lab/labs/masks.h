// The two halves of the lab of masks.
#pragma once

#include "core/lab/lab_run.h"

namespace headlight {

inline constexpr double kMostPads = 16;

/// The sentence with as many [PAD] as the control "padding" says, and a row without a key.
void show_masked_padding(LabRun&);

}  // namespace headlight
