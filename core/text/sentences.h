// Where the sentences of a text stand.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/progress.h"

namespace headlight {

/// Bytes [begin, end) of the text, without the white space around them.
struct SentenceRange {
  std::size_t begin = 0, end = 0;
  bool opens = false;  // an empty line stands before it, or nothing: something else begins
  bool operator==(const SentenceRange&) const = default;
};

/// By the rules of Unicode (UAX #29), by which a line break ends a sentence too. Throws Error when
/// ICU's data cannot be opened; Cancelled.
std::vector<SentenceRange> sentence_ranges(std::string_view text,
                                           const ProgressFunction& progress = {});

}  // namespace headlight
