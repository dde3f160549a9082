// Ids that a person types in the place of words.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/text/unknown_words.h"
#include "core/text/vocabulary.h"

namespace headlight {

/// A text as the vocabulary reads it, byte for byte as long: where tokens are nothing but ids they
/// may have commas between them, as those of --ids do.
inline std::string as_ids(const Vocabulary& vocabulary, std::string_view text) {
  std::string read(text);
  if (read.find(',') != read.npos && holds_ids_alone(vocabulary))
    std::ranges::replace(read, ',', ' ');
  return read;
}

}  // namespace headlight
