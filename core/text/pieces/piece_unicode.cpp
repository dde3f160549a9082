#include "core/text/pieces/piece_unicode.h"

#include <unicode/uchar.h>

#include <array>

#include "core/text/tokenizer.h"

namespace headlight {
namespace {

std::uint32_t mask_of(char32_t c) { return U_GET_GC_MASK(static_cast<UChar32>(c)); }

// What prints of Latin-1, in which each byte stands for itself.
constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> all{};
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte)
    all[static_cast<std::size_t>(byte)] =
        stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
  return all;
}
constexpr std::array<char32_t, 256> kByteCharacters = byte_characters();
constexpr char32_t kLastByteCharacter = 0x143;

constexpr std::array<std::int16_t, kLastByteCharacter + 1> character_bytes() {
  std::array<std::int16_t, kLastByteCharacter + 1> all{};
  for (auto& byte : all) byte = -1;
  for (std::int16_t byte = 0; byte < 256; ++byte)
    all[kByteCharacters[static_cast<std::size_t>(byte)]] = byte;
  return all;
}
constexpr auto kCharacterBytes = character_bytes();

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

void append_point(std::string& text, char32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else {
    text += to_utf8(point);
  }
}

std::size_t count_points(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += point_at(text, at).size;
  return count;
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return u_isUWhiteSpace(static_cast<UChar32>(c));
}

bool is_letter(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return (mask_of(c) & U_GC_L_MASK) != 0;
}

bool is_number(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return (mask_of(c) & U_GC_N_MASK) != 0;
}

bool is_decimal(char32_t c) { return (mask_of(c) & U_GC_ND_MASK) != 0; }
bool is_mark(char32_t c) { return c >= 0x300 && (mask_of(c) & U_GC_M_MASK) != 0; }
bool is_nonspacing_mark(char32_t c) { return c >= 0x300 && (mask_of(c) & U_GC_MN_MASK) != 0; }

bool is_punctuation(char32_t c) {
  if (c < 0x80) return c > ' ' && c < 0x7F && !is_letter(c) && !is_number(c);
  return (mask_of(c) & U_GC_P_MASK) != 0;
}

bool is_word_character(char32_t c) {
  if (c < 0x80) return is_letter(c) || is_number(c) || c == '_';
  if (c == 0x200C || c == 0x200D) return true;
  constexpr std::uint32_t kWord = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  return (mask_of(c) & kWord) != 0 || u_isUAlphabetic(static_cast<UChar32>(c));
}

bool is_removed_control(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  return (mask_of(c) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0;
}

// The fifth block begins 0x100 later than Unicode's: so do the tokenizers with which models of this
// kind are trained and run.
bool is_cjk(char32_t c) {
  if (c < 0x3400) return false;
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void append_lower(std::string& text, char32_t point) {
  constexpr char32_t kDottedI = 0x130;
  if (point == kDottedI) {
    text += "i\xCC\x87";
  } else if (point < 0x80) {
    text += static_cast<char>(point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point);
  } else {
    text += to_utf8(static_cast<char32_t>(u_tolower(static_cast<UChar32>(point))));
  }
}

char32_t byte_character(unsigned char byte) { return kByteCharacters[byte]; }

int byte_of_character(char32_t c) { return c <= kLastByteCharacter ? kCharacterBytes[c] : -1; }

std::string as_byte_characters(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes)
    append_point(text, byte_character(static_cast<unsigned char>(byte)));
  return text;
}

std::string from_byte_characters(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = point_at(text, at);
    const int byte = c.valid ? byte_of_character(c.value) : -1;
    if (byte >= 0) {
      bytes += static_cast<char>(byte);
    } else {
      bytes += text.substr(at, c.size);
    }
    at += c.size;
  }
  return bytes;
}

std::string readable_bytes(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint c = point_at(bytes, at);
    for (std::size_t i = at; i < at + c.size; ++i)
      text += c.valid ? std::string(1, bytes[i]) : byte_text(bytes[i]);
    at += c.size;
  }
  return text;
}

std::string byte_piece(unsigned char byte) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return std::string("<0x") + kHex[byte >> 4] + kHex[byte & 0xF] + ">";
}

int byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  const int high = hex_digit(piece[3]), low = hex_digit(piece[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace headlight
