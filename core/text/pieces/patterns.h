// Where a pattern matches in a text: what tokenizers cut and replace by.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/pieces/piece_json.h"

namespace headlight {

/// Bytes [begin, end) of a text.
struct ByteSpan {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
  bool operator==(const ByteSpan&) const = default;
};

/// Appends the matches in a text, in order; none overlaps another one. May be called by several
/// threads. Bears any bytes.
using PatternMatches = std::function<void(std::string_view text, std::vector<ByteSpan>& matches)>;

/// Wherever these bytes stand; not empty.
PatternMatches matches_of_text(std::string text);
/// Each character for which `fits` holds.
PatternMatches matches_of_characters(bool (*fits)(char32_t));
/// A regular expression in the syntax that tokenizers are written with. Those of GPT-2, Llama 3 and
/// Qwen 2 are matched by hand, unless `by_hand` is false. Throws Error for one that cannot be read.
/// The matches throw Error for a text on which the expression takes too long.
PatternMatches matches_of_regex(const std::string& expression, const std::string& name,
                                bool by_hand = true);
/// {"String": …} or {"Regex": …}.
PatternMatches read_pattern(const PieceJson&);

/// GPT-2's own expression.
extern const char kGpt2Pattern[];
/// Qwen 2's; Llama 3's has \p{N}{1,3} for \p{N}.
extern const char kQwen2Pattern[];
extern const char kLlama3Pattern[];

}  // namespace headlight
