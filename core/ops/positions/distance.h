// How far a key is from its query, and which place of a table a distance has: what the operations
// by distance and those that run them fast share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/ops/op.h"

namespace headlight {

/// i + offset − j: how many tokens key j lies before query i, where `offset` keys stand before the
/// first query. Negative: behind it.
inline std::int64_t distance_of(const OpParams& params, std::int64_t query, std::int64_t key) {
  return query + params.offset - key;
}

/// Rows of a table by distance. Row 0 is that of the key that lies farthest behind its query, the
/// last row that of the one farthest before it; what is farther has the row at the end.
struct DistanceRows {
  std::int64_t ahead = 0, back = 0;  // the rows are those of −ahead … back
  /// Of a table of so many rows, at least 1: at most params.reach of them lie before the query.
  DistanceRows(std::int64_t rows, const OpParams& params)
      : ahead(rows - 1 - std::min(params.reach, rows - 1)), back(rows - 1 - ahead) {}
  std::int64_t row(std::int64_t distance) const {
    return std::clamp(distance, -ahead, back) + ahead;
  }
};

/// The slope of a head (Press et al. 2022): 2^(−8(h + 1)/H) where H is a power of two. Where it is
/// not, those of the next smaller power come first, then every second one of the next larger.
double alibi_slope(std::int64_t head, std::int64_t heads);

/// The bucket of a distance (Raffel et al. 2020), below `buckets`: half of them have a distance
/// each, the others ever longer stretches up to `reach`, and what is farther has the last one.
/// `causal`: keys behind the query have that of distance 0. Otherwise they have the second half of
/// the buckets.
std::int64_t distance_bucket(std::int64_t distance, std::int64_t buckets, const OpParams&);

/// Where the ranges of distance_bucket() lie: buckets of one direction, and how many of them have
/// one distance each.
struct BucketSizes {
  std::int64_t count = 1, exact = 0;
  BucketSizes(std::int64_t buckets, bool causal)
      : count(std::max<std::int64_t>(1, causal ? buckets : buckets / 2)), exact(count / 2) {}
};

/// "distance = …" as code: (queries, keys) of the last two axes of `scores`.
std::string distance_code(const CodeArgs&, const TensorView& scores, bool torch);

}  // namespace headlight
