// Where a number that is no number came in: the first cell on the way back that is NaN or infinite
// while everything that it was made of is finite.
#pragma once

#include <optional>

#include "core/explain/explain.h"

namespace headlight {

/// Follows NaN (or an infinity) from `cell` through the terms that carry it. Nothing when the cell
/// is finite; the cell itself when it is where the trouble begins.
std::optional<CellRef> special_origin(const Trace&, const CellRef& cell);

}  // namespace headlight
