// Putting the words of a sentence into another order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/tokenizer.h"

namespace headlight {

struct Reordered {
  std::string text;
  std::vector<std::size_t> new_place;  // old place of each token -> its place in the new order
};

/// The sentence with the token at place `from` moved to place `to` (counted after it was taken out;
/// places beyond the ends mean the ends). Each word keeps the space before it, the first one that
/// of the word that takes its place, and where two words would run into one a space comes between.
/// With the bytes tokenizer a whole character moves. `from` out of range gives the sentence itself.
/// `whole`: see Tokenizer::keep_whole().
Reordered move_token(std::string_view sentence, TokenizerKind, std::int64_t from, std::int64_t to,
                     std::string_view whole = {});

}  // namespace headlight
