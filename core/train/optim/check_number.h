// Options of a run that are numbers: in range, or refused in words.
#pragma once

#include <string_view>

namespace headlight {

/// Throws UsageError when `value` is not from `low` to `high` (or NaN): what it is (a text id), the
/// range, what came, and a usual value.
void expect_number(std::string_view what, double value, double low, double high, double usual);

}  // namespace headlight
