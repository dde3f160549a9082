// What tokenizers ask of a character. White space is Unicode's White_Space everywhere; letters,
// marks and numbers are the general categories L, M and N.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/utf8.h"

namespace headlight {

/// code_point_at() of base, fast for ASCII.
inline CodePoint point_at(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {byte, 1, true};
  return code_point_at(text, at);
}

/// Appends one code point as UTF-8.
void append_point(std::string& text, char32_t point);

/// How many code points; invalid sequences count as one each.
std::size_t count_points(std::string_view text);

bool is_white_space(char32_t);
bool is_letter(char32_t);
/// N: decimal digits and others, "²" and "Ⅷ" among them.
bool is_number(char32_t);
bool is_decimal(char32_t);
bool is_mark(char32_t);
bool is_nonspacing_mark(char32_t);
/// P of Unicode and all of ASCII that is neither letter, digit, blank nor control: "$" and "`" too.
bool is_punctuation(char32_t);
/// \w of regular expressions.
bool is_word_character(char32_t);
/// What BERT's cleaning takes away: Cc, Cf and Co, but for tab and line ends.
bool is_removed_control(char32_t);
/// CJK ideographs as BERT knows them.
bool is_cjk(char32_t);

/// Lower case of one character, without regard to its neighbours; may be two ("İ").
void append_lower(std::string& text, char32_t point);

/// The character that stands for a byte in a byte-level vocabulary: itself where it can be seen,
/// else one from U+0100 on ("Ġ" for the blank).
char32_t byte_character(unsigned char byte);
/// The inverse; -1 for a character that stands for no byte.
int byte_of_character(char32_t);
/// Bytes as such characters, and back. A character that stands for no byte keeps its own bytes.
std::string as_byte_characters(std::string_view bytes);
std::string from_byte_characters(std::string_view text);

/// What a person reads: bytes that are no whole character as "<0xE4>".
std::string readable_bytes(std::string_view bytes);
/// "<0xE4>"
std::string byte_piece(unsigned char byte);
/// The byte of "<0xE4>"; -1 for any other text.
int byte_of_piece(std::string_view piece);

}  // namespace headlight
