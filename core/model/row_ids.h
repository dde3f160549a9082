// Ids as rows of a model's table.
#pragma once

#include <cstdint>
#include <span>

namespace headlight {

/// Throws UsageError for an id that is none of so many rows, with its place.
void check_row_ids(std::span<const int> ids, std::int64_t rows);

}  // namespace headlight
