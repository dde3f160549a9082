// UTF-8 in, UTF-8 out: cleaning what was typed or pasted, and labels that can be seen on an axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headlight {

/// One step of decoding: the code point, the bytes it took, and whether those bytes were valid.
struct CodePoint {
  char32_t value = 0;    // U+FFFD when not valid
  std::size_t size = 0;  // bytes; at least 1
  bool valid = false;
};

/// Decodes at byte `at` (< text.size()). Invalid bytes give U+FFFD for each maximal subpart of a
/// sequence (Unicode Standard, chapter 3, "U+FFFD Substitution of Maximal Subparts"): the same cuts
/// that ICU and the W3C encoding standard make.
CodePoint code_point_at(std::string_view text, std::size_t at);

/// Valid UTF-8 and the number of invalid sequences that became U+FFFD on the way.
struct CleanText {
  std::string text;
  int replaced = 0;
};

/// Makes any bytes valid UTF-8. Valid text comes back unchanged (NUL and controls included).
CleanText clean_utf8(std::string_view bytes);

/// The code points of a text; invalid sequences become U+FFFD as in clean_utf8.
std::u32string to_code_points(std::string_view utf8);

/// One code point as 1 to 4 bytes of UTF-8. Surrogates and values over U+10FFFF become U+FFFD.
std::string to_utf8(char32_t code_point);

/// The code points of a token as a person would look them up: "U+0065 U+0301". Empty for "".
std::string describe_character(std::string_view token);

/// A whole number, 0 or more, in subscript digits: "₁₄".
std::string subscript(std::int64_t);

/// At most `points` code points; what was cut off is marked with "…". Subscript digits at the end,
/// a token's position, stay: "[MASK]₁₄" becomes "[M…₁₄".
std::string shortened(std::string_view utf8, std::size_t points);

/// What to write on an axis for a token, so that nothing is invisible and nothing moves its
/// neighbours: space "␣", tab "⇥", newline "↵", other C0 controls and DEL as control pictures
/// ("␀"), C1 controls, other blank characters, zero-width and bidi controls as "U+200B"; "" as "∅".
/// Joiners, variation selectors and tags stay where they belong to visible text (an emoji family is
/// one picture). All else is composed (NFC). Invalid bytes become U+FFFD.
std::string visible_label(std::string_view token);

/// Right-to-left text (Hebrew, Arabic ...) in the order in which a renderer that only draws from
/// left to right must draw it: Arabic letters in their joined forms, brackets mirrored, combining
/// marks after their base. Text without a right-to-left character comes back unchanged.
std::string visual_order(std::string_view label);

}  // namespace headlight
