// Colours as other eyes see them, to check that ours can still be told apart.
#pragma once

#include <array>

#include "core/view/heatmap.h"

namespace headlight {

/// The window as other eyes see it, to check the colours.
enum class Vision { kFull, kProtanopia, kDeuteranopia, kTritanopia, kGrey };
inline constexpr int kVisionCount = 5;

/// 3 × 3, row after row: linear RGB in, linear RGB out (to be clamped to 0..1). The three
/// dichromacies after Machado, Oliveira and Fernandes, "A Physiologically-based Model for
/// Simulation of Color Vision Deficiency" (2009), severity 1; grey is relative luminance.
using ColorMatrix = std::array<float, 9>;
const ColorMatrix& vision_matrix(Vision);

}  // namespace headlight
