// Parts of labs that are experiments of their own.
#pragma once

#include "core/lab/lab_run.h"

namespace headlight {

/// Of the lab of masks: the sentence with as many [PAD] as the control "padding" says, and a row
/// without a key.
inline constexpr double kMostPads = 16;
void show_masked_padding(LabRun&);

/// Of the lab of heads: one head and two that learned to answer who gave what to whom, and which
/// words they look at when "asked" is asked.
void show_asked_heads(LabRun&);

/// Of the lab of forms: how likely a word is, by both sides of it and by the left one alone.
void show_gap(LabRun&);

}  // namespace headlight
