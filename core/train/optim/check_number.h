// Options of a run that are numbers: in range, or refused in words.
#pragma once

#include <string_view>

namespace headlight {

/// Throws UsageError when `value` is not from `low` to `high` (or NaN): what it is (a text id), the
/// range, what came, and a usual value.
void expect_number(std::string_view what, double value, double low, double high, double usual);

struct RunSettings;

/// Throws UsageError for what no run can be made with: whatever passes can be saved and read back.
/// Defined in core/train/run_settings.cpp.
void validate(const RunSettings&);
/// The same of RunSettings::clip alone.
void check_clip(double norm);

}  // namespace headlight
