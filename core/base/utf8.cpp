#include "core/base/utf8.h"

namespace headlight {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// What a lead byte allows (Unicode Standard, table 3-7): how many bytes follow, and the range of
// the first of them. That range alone keeps overlong forms, surrogates and values over U+10FFFF
// out.
struct Lead {
  int following = -1;  // -1: not a lead byte
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

constexpr Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {0};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {1};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte < 0xF0) return {2};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte < 0xF4) return {3};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {};
}

// Appends without a temporary string, so that cleaning allocates its result only.
void append_utf8(std::string& out, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = kReplacement;
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const Lead lead = lead_of(first);
  if (lead.following == 0) return {first, 1, true};
  if (lead.following < 0) return {kReplacement, 1, false};
  char32_t value = first & (0x3Fu >> lead.following);
  for (int k = 1; k <= lead.following; ++k) {
    const std::size_t i = at + static_cast<std::size_t>(k);
    const unsigned char low = k == 1 ? lead.low : 0x80;
    const unsigned char high = k == 1 ? lead.high : 0xBF;
    if (i >= text.size() || byte(i) < low || byte(i) > high) {
      return {kReplacement, static_cast<std::size_t>(k), false};
    }
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  return {value, static_cast<std::size_t>(lead.following) + 1, true};
}

CleanText clean_utf8(std::string_view bytes) {
  CleanText out;
  out.text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint c = code_point_at(bytes, at);
    if (c.valid) {
      out.text.append(bytes.substr(at, c.size));
    } else {
      append_utf8(out.text, kReplacement);
      ++out.replaced;
    }
    at += c.size;
  }
  return out;
}

std::u32string to_code_points(std::string_view utf8) {
  std::u32string out;
  out.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const CodePoint c = code_point_at(utf8, at);
    out += c.value;
    at += c.size;
  }
  return out;
}

std::string to_utf8(char32_t code_point) {
  std::string out;
  append_utf8(out, code_point);
  return out;
}

std::string describe_character(std::string_view token) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint c = code_point_at(token, at);
    out += out.empty() ? "U+" : " U+";
    // At least four digits, as the Unicode charts write them.
    for (int shift = c.value > 0xFFFFF ? 20 : c.value > 0xFFFF ? 16 : 12; shift >= 0; shift -= 4) {
      out += kHex[(c.value >> shift) & 0xF];
    }
    at += c.size;
  }
  return out;
}

namespace {

constexpr std::size_t kSubscriptBytes = 3;  // of U+2080 to U+2089

// Where the subscript digits begin with which the text ends; its end where there are none.
std::size_t subscript_begin(std::string_view utf8) {
  std::size_t begin = utf8.size();
  while (begin >= kSubscriptBytes) {
    const std::string_view last = utf8.substr(begin - kSubscriptBytes, kSubscriptBytes);
    const auto digit = static_cast<unsigned char>(last[2]);
    if (!last.starts_with("\xE2\x82") || digit < 0x80 || digit > 0x89) break;
    begin -= kSubscriptBytes;
  }
  return begin;
}

}  // namespace

std::string subscript(std::int64_t number) {
  std::string text;
  for (const char digit : std::to_string(number))
    text += "\xE2\x82" + std::string(1, static_cast<char>(0x80 + (digit - '0')));
  return text;
}

std::string shortened(std::string_view utf8, std::size_t points) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < points && at < utf8.size(); ++i) at += code_point_at(utf8, at).size;
  if (at >= utf8.size()) return std::string(utf8);
  const std::string_view place = utf8.substr(subscript_begin(utf8));
  const std::size_t letters = points - std::min(points, place.size() / kSubscriptBytes);
  at = 0;
  for (std::size_t i = 0; i < std::max<std::size_t>(letters, 1); ++i)
    at += code_point_at(utf8, at).size;
  return std::string(utf8.substr(0, at)) + "\u2026" + std::string(place);
}

}  // namespace headlight
