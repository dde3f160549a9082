#include "core/text/pieces/steps/normalizers.h"

#include <unicode/unorm2.h>

#include <optional>

#include "core/base/error.h"
#include "core/text/pieces/patterns.h"
#include "core/text/pieces/piece_unicode.h"

namespace headlight {
namespace {

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

// A new text, character by character: change(c, characters to append to). What is no UTF-8 stays.
template <class Change>
void change_characters(AlignedText& text, Change change) {
  AlignedText changed;
  changed.reserve(text.size());
  std::string some;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = point_at(text.text(), at);
    if (!c.valid) {
      changed.append(text, at, at + c.size);
    } else {
      some.clear();
      change(c.value, some);
      changed.append(some, text.place(at, at + c.size));
    }
    at += c.size;
  }
  text = std::move(changed);
}

void lower(AlignedText& text) {
  change_characters(text, [](char32_t c, std::string& out) { append_lower(out, c); });
}

template <bool (*Fits)(char32_t)>
void remove_characters(AlignedText& text) {
  change_characters(text, [](char32_t c, std::string& out) {
    if (!Fits(c)) append_point(out, c);
  });
}

// Composes or decomposes what lies between two places that nothing reaches over; each byte then
// stands for all of that.
class UnicodeForm {
 public:
  explicit UnicodeForm(const UNormalizer2* form) : form_(form) {}

  void operator()(AlignedText& text) const {
    if (is_ascii(text.text())) return;
    AlignedText changed;
    changed.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = segment_end(text.text(), at);
      add(text, at, end, changed);
      at = end;
    }
    text = std::move(changed);
  }

 private:
  std::size_t segment_end(std::string_view text, std::size_t at) const {
    CodePoint c = point_at(text, at);
    std::size_t end = at + c.size;
    if (!c.valid) return end;
    for (; end < text.size(); end += c.size) {
      c = point_at(text, end);
      if (c.value < 0x80 || !c.valid ||
          unorm2_hasBoundaryBefore(form_, static_cast<UChar32>(c.value)))
        break;
    }
    return end;
  }

  void add(const AlignedText& text, std::size_t at, std::size_t end, AlignedText& out) const {
    const std::string_view segment = std::string_view(text.text()).substr(at, end - at);
    if (segment.size() == 1 || !point_at(segment, 0).valid) return out.append(text, at, end);
    std::u16string from;
    for (const char32_t c : to_code_points(segment)) {
      if (c >= 0x10000) {
        from += static_cast<char16_t>(0xD800 + ((c - 0x10000) >> 10));
        from += static_cast<char16_t>(0xDC00 + ((c - 0x10000) & 0x3FF));
      } else {
        from += static_cast<char16_t>(c);
      }
    }
    UErrorCode status = U_ZERO_ERROR;
    // The longest decomposition of one character has 18 units.
    std::u16string to(from.size() * 18 + 8, u'\0');
    const std::int32_t size =
        unorm2_normalize(form_, from.data(), static_cast<std::int32_t>(from.size()), to.data(),
                         static_cast<std::int32_t>(to.size()), &status);
    if (U_FAILURE(status)) return out.append(text, at, end);
    to.resize(static_cast<std::size_t>(size));
    if (to == from) return out.append(text, at, end);
    std::string utf8;
    for (std::size_t i = 0; i < to.size(); ++i) {
      char32_t c = to[i];
      if (c >= 0xD800 && c < 0xDC00 && i + 1 < to.size())
        c = 0x10000 + ((c - 0xD800) << 10) + (to[++i] - 0xDC00u);
      append_point(utf8, c);
    }
    out.append(utf8, text.place(at, end));
  }

  const UNormalizer2* form_;
};

Normalizer unicode_form(std::string_view type) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* form = type == "NFC"    ? unorm2_getNFCInstance(&status)
                             : type == "NFD"  ? unorm2_getNFDInstance(&status)
                             : type == "NFKC" ? unorm2_getNFKCInstance(&status)
                                              : unorm2_getNFKDInstance(&status);
  if (U_FAILURE(status)) throw Error(Message{"pieces.no_icu", {{"error", u_errorName(status)}}});
  return UnicodeForm(form);
}

void strip_marks(AlignedText& text) { remove_characters<is_mark>(text); }

void clean_for_bert(AlignedText& text) {
  change_characters(text, [](char32_t c, std::string& out) {
    if (c == 0 || c == 0xFFFD || is_removed_control(c)) return;
    append_point(out, is_white_space(c) ? U' ' : c);
  });
}

// What SentencePiece's nmt_nfkc does before NFKC: other control characters than BERT's go, and more
// becomes a blank than Unicode calls white space.
void clean_for_translation(AlignedText& text) {
  change_characters(text, [](char32_t c, std::string& out) {
    const bool control = (c >= 0x01 && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    const bool blank = c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    if (blank) return append_point(out, U' ');
    if (!control) append_point(out, c);
  });
}

void part_cjk(AlignedText& text) {
  if (is_ascii(text.text())) return;
  change_characters(text, [](char32_t c, std::string& out) {
    if (!is_cjk(c)) return append_point(out, c);
    out += ' ';
    append_point(out, c);
    out += ' ';
  });
}

Normalizer read_bert(const PieceJson& json) {
  json.only({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  const bool clean = json.boolean("clean_text", true);
  const bool cjk = json.boolean("handle_chinese_chars", true);
  const bool low = json.boolean("lowercase", true);
  const bool strip = json.boolean("strip_accents", low);
  return [clean, cjk, low, strip, decompose = unicode_form("NFD")](AlignedText& text) {
    if (clean) clean_for_bert(text);
    if (cjk) part_cjk(text);
    if (strip && !is_ascii(text.text())) {
      decompose(text);
      remove_characters<is_nonspacing_mark>(text);
    }
    if (low) lower(text);
  };
}

void prepend(AlignedText& text, const std::string& prefix) {
  if (text.empty()) return;
  const std::uint32_t begin = text.place(0).begin;
  AlignedText changed;
  changed.reserve(prefix.size() + text.size());
  changed.append(prefix, {begin, begin});
  changed.append(text, 0, text.size());
  text = std::move(changed);
}

void replace_matches(AlignedText& text, const PatternMatches& find, const std::string& content) {
  std::vector<ByteSpan> matches;
  find(text.text(), matches);
  if (matches.empty()) return;
  AlignedText changed;
  changed.reserve(text.size() + matches.size() * content.size());
  std::size_t done = 0;
  for (const ByteSpan& match : matches) {
    changed.append(text, done, match.begin);
    const std::size_t near = std::min(match.begin, text.size() - 1);  // of an empty match
    changed.append(content, match.size() > 0
                                ? text.place(match.begin, match.end)
                                : BytePlace{text.place(near).begin, text.place(near).begin});
    done = match.end;
  }
  changed.append(text, done, text.size());
  text = std::move(changed);
}

void strip_blanks(AlignedText& text, bool left, bool right) {
  const std::string& all = text.text();
  std::size_t begin = 0, end = 0;
  bool before = true;  // nothing but blanks up to here
  for (std::size_t at = 0; at < all.size();) {
    const CodePoint c = point_at(all, at);
    const bool blank = c.valid && is_white_space(c.value);
    if (before && !blank) begin = at;
    before = before && blank;
    at += c.size;
    if (!blank) end = at;
  }
  if (before) begin = left ? all.size() : 0;
  if (!left) begin = 0;
  if (!right) end = all.size();
  end = std::max(begin, end);
  AlignedText changed;
  changed.append(text, begin, end);
  text = std::move(changed);
}

void to_byte_characters(AlignedText& text) {
  AlignedText changed;
  changed.reserve(2 * text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string c;
    append_point(c, byte_character(static_cast<unsigned char>(text.text()[at])));
    changed.append(c, text.place(at));
  }
  text = std::move(changed);
}

Normalizer read_all(const PieceJson& json) {
  json.only({"normalizers"});
  std::vector<Normalizer> all;
  for (const PieceJson& each : json.at("normalizers").items()) all.push_back(read_normalizer(each));
  return [all](AlignedText& text) {
    for (const Normalizer& each : all) each(text);
  };
}

constexpr char kKnownNormalizers[] =
    "BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, "
    "Replace, Sequence, Strip, StripAccents";

}  // namespace

Normalizer read_normalizer(const PieceJson& json) {
  const std::string type = json.type();
  if (type == "Sequence") return read_all(json);
  if (type == "BertNormalizer") return read_bert(json);
  if (type == "Precompiled") return read_charsmap(json);
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    json.only({});
    return unicode_form(type);
  }
  if (type == "Lowercase" || type == "StripAccents" || type == "ByteLevel" || type == "Nmt") {
    json.only({});
    if (type == "Lowercase") return lower;
    if (type == "Nmt") return clean_for_translation;
    return type == "ByteLevel" ? to_byte_characters : strip_marks;
  }
  if (type == "Prepend") {
    json.only({"prepend"});
    return [prefix = json.at("prepend").text()](AlignedText& text) { prepend(text, prefix); };
  }
  if (type == "Strip") {
    json.only({"strip_left", "strip_right"});
    const bool left = json.boolean("strip_left", true), right = json.boolean("strip_right", true);
    return [left, right](AlignedText& text) { strip_blanks(text, left, right); };
  }
  if (type == "Replace") {
    json.only({"pattern", "content"});
    return [find = read_pattern(json.at("pattern")), content = json.at("content").text()](
               AlignedText& text) { replace_matches(text, find, content); };
  }
  json.fail_unknown(type, kKnownNormalizers);
}

}  // namespace headlight
