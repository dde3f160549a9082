// Tokens that stand for no text, and where a token stands in one.
#pragma once

#include <cstddef>
#include <string_view>

namespace headlight {

/// In the project's own vocabularies they have their fixed names, "[PAD]" …, also when typed.
enum class Special { kPad, kUnknown, kBegin, kEnd, kClass, kMask, kSeparator };
inline constexpr std::size_t kSpecials = 7;
std::string_view to_string(Special);

inline constexpr int kMaxVocabulary = 262144;
inline constexpr std::size_t kMaxTokenBytes = 4096;

/// A token's id and its byte range [begin, end) in the text.
struct PlacedToken {
  int id = 0;
  std::size_t begin = 0, end = 0;
  bool operator==(const PlacedToken&) const = default;
};

}  // namespace headlight
