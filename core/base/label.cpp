// visible_label, visual_order and printable: what needs the Unicode character tables.
#include <limits>
#include <new>

#include <unicode/ubidi.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ushape.h>
#include <unicode/ustring.h>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

UChar32 icu(char32_t c) { return static_cast<UChar32>(c); }

std::u16string to_utf16(std::string_view utf8) {
  std::u16string out;
  out.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const CodePoint c = code_point_at(utf8, at);
    if (c.value < 0x10000) {
      out += static_cast<char16_t>(c.value);
    } else {
      out += static_cast<char16_t>(0xD7C0 + (c.value >> 10));
      out += static_cast<char16_t>(0xDC00 + (c.value & 0x3FF));
    }
    at += c.size;
  }
  return out;
}

std::string from_utf16(const std::u16string& text) {
  std::string out;
  out.reserve(text.size() * 3);
  for (std::size_t i = 0; i < text.size(); ++i) {
    char32_t c = text[i];
    if (U16_IS_LEAD(c) && i + 1 < text.size() && U16_IS_TRAIL(text[i + 1])) {
      c = static_cast<char32_t>(U16_GET_SUPPLEMENTARY(c, text[i + 1]));
      ++i;
    }
    out += to_utf8(c);
  }
  return out;
}

// Runs an ICU string function of the form "write into this buffer, return the length" and grows the
// buffer when asked to.
template <class Function>
std::u16string icu_string(std::size_t size_guess, const char* what, Function function) {
  std::u16string out(size_guess, u'\0');
  for (int attempt = 0; attempt < 2; ++attempt) {
    UErrorCode status = U_ZERO_ERROR;
    const std::int32_t n = function(out.data(), static_cast<std::int32_t>(out.size()), &status);
    if (status == U_BUFFER_OVERFLOW_ERROR) {
      out.resize(static_cast<std::size_t>(n));
      continue;
    }
    if (U_FAILURE(status)) break;
    out.resize(static_cast<std::size_t>(n));
    return out;
  }
  throw Error(std::string("The Unicode library could not ") + what +
              " this label. Please report this together with the text.");
}

// ICU counts in 32-bit units; a label of that size is a mistake and not a label.
void check_label_size(std::string_view label) {
  if (label.size() > std::numeric_limits<std::int32_t>::max() / 4) {
    throw Error("A label may have up to 512 MiB; this one has " + std::to_string(label.size()) +
                " bytes. Shorten the text.");
  }
}

std::string compose(std::string_view utf8) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* nfc = unorm2_getNFCInstance(&status);
  if (U_FAILURE(status)) throw Error("The Unicode library has no data for NFC. Reinstall ICU.");
  const std::u16string in = to_utf16(utf8);
  return from_utf16(
      icu_string(in.size() + 16, "compose", [&](UChar* out, std::int32_t room, auto* s) {
        return unorm2_normalize(nfc, in.data(), static_cast<std::int32_t>(in.size()), out, room, s);
      }));
}

bool is_ignorable(char32_t c) {
  return u_hasBinaryProperty(icu(c), UCHAR_DEFAULT_IGNORABLE_CODE_POINT) ||
         u_hasBinaryProperty(icu(c), UCHAR_BIDI_CONTROL) || (c >= 0xFFF9 && c <= 0xFFFB);
}

bool is_visible(char32_t c) {
  return !is_ignorable(c) && !u_isUWhiteSpace(icu(c)) && !u_isISOControl(icu(c));
}

// Invisible characters that shape the visible ones around them: joiners (emoji families, Indic and
// Persian spelling), variation selectors, tags (flags of regions).
bool shapes_neighbours(char32_t c) {
  return c == 0x200C || c == 0x200D || (c >= 0xE0020 && c <= 0xE007F) ||
         u_hasBinaryProperty(icu(c), UCHAR_VARIATION_SELECTOR);
}

// The stand-in for one character, or "" when the character can be drawn as it is.
std::string stand_in(char32_t c, bool among_visible) {
  if (c == ' ') return "␣";
  if (c == '\t') return "⇥";
  if (c == '\n') return "↵";
  if (c < 0x20) return to_utf8(char32_t{0x2400} + c);
  if (c == 0x7F) return "␡";
  if (is_visible(c) || (among_visible && shapes_neighbours(c))) return {};
  return describe_character(to_utf8(c));
}

bool is_right_to_left(char32_t c) {
  if (c < 0x0590) return false;
  switch (u_charDirection(icu(c))) {
    case U_RIGHT_TO_LEFT:
    case U_RIGHT_TO_LEFT_ARABIC:
    case U_ARABIC_NUMBER:
    case U_RIGHT_TO_LEFT_EMBEDDING:
    case U_RIGHT_TO_LEFT_OVERRIDE:
    case U_RIGHT_TO_LEFT_ISOLATE:
      return true;
    default:
      return false;
  }
}

std::u16string shape_arabic(const std::u16string& text) {
  constexpr std::uint32_t kOptions =
      U_SHAPE_LETTERS_SHAPE | U_SHAPE_LENGTH_GROW_SHRINK | U_SHAPE_TEXT_DIRECTION_LOGICAL;
  std::u16string shaped =
      icu_string(text.size(), "shape", [&](UChar* out, std::int32_t room, UErrorCode* s) {
        return u_shapeArabic(text.data(), static_cast<std::int32_t>(text.size()), out, room,
                             kOptions, s);
      });
  // ICU turns vowel signs into spacing presentation forms (U+FE70..FE7F); back to combining marks,
  // which reordering keeps on their letter and fonts draw above it. U+FE73 and FE75 are no vowel.
  for (char16_t& c : shaped) {
    if (c < 0xFE70 || c > 0xFE7F || c == 0xFE73 || c == 0xFE75) continue;
    constexpr std::u16string_view kMarks = u"\u064B\u064C\u064D\u064E\u064F\u0650\u0651\u0652";
    c = kMarks[static_cast<std::size_t>((c - 0xFE70) / 2)];
  }
  return shaped;
}

struct Bidi {
  UBiDi* handle = ubidi_open();
  Bidi() {
    if (handle == nullptr) throw std::bad_alloc();
  }
  Bidi(const Bidi&) = delete;
  Bidi& operator=(const Bidi&) = delete;
  ~Bidi() { ubidi_close(handle); }
};

}  // namespace

std::string visible_label(std::string_view token) {
  if (token.empty()) return "∅";
  check_label_size(token);
  bool any_visible = false;
  bool plain_ascii = true;
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint c = code_point_at(token, at);
    plain_ascii = plain_ascii && c.value > 0x20 && c.value < 0x7F;
    any_visible = any_visible || is_visible(c.value);
    at += c.size;
  }
  if (plain_ascii) return std::string(token);
  std::string out;
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint c = code_point_at(token, at);
    const std::string replaced = stand_in(c.value, any_visible);
    out += replaced.empty() ? to_utf8(c.value) : replaced;
    at += c.size;
  }
  return compose(out);
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    const bool acts = u_isISOControl(icu(c.value)) && c.value != '\n' && c.value != '\t';
    const bool moves = is_ignorable(c.value) && !shapes_neighbours(c.value);
    out += acts || moves ? stand_in(c.value, true) : to_utf8(c.value);
    at += c.size;
  }
  return out;
}

std::string visual_order(std::string_view label) {
  bool any = false;
  for (std::size_t at = 0; at < label.size() && !any;) {
    const CodePoint c = code_point_at(label, at);
    any = is_right_to_left(c.value);
    at += c.size;
  }
  if (!any) return std::string(label);
  check_label_size(label);
  const std::u16string text = shape_arabic(to_utf16(label));
  const Bidi bidi;
  UErrorCode status = U_ZERO_ERROR;
  ubidi_setPara(bidi.handle, text.data(), static_cast<std::int32_t>(text.size()), UBIDI_DEFAULT_LTR,
                nullptr, &status);
  if (U_FAILURE(status)) throw Error("The Unicode library could not order this label.");
  constexpr std::uint16_t kOptions =
      UBIDI_DO_MIRRORING | UBIDI_KEEP_BASE_COMBINING | UBIDI_REMOVE_BIDI_CONTROLS;
  return from_utf16(
      icu_string(text.size() + 1, "order", [&](UChar* out, std::int32_t room, UErrorCode* s) {
        return ubidi_writeReordered(bidi.handle, out, room, kOptions, s);
      }));
}

}  // namespace headlight
