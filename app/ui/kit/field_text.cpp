#include "app/ui/kit/field_text.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "app/ui/kit/line_text.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

// The places lent to them: a block of rare Chinese characters (extension A), whose own members are
// lent other places of it. ImGui drops the private use area from what is typed.
constexpr unsigned kLentFirst = 0x3400, kLentLast = 0x4DBF;

bool needs_place(unsigned c) {
  const bool lent = c >= kLentFirst && c <= kLentLast, dropped = c >= 0xE000 && c <= 0xF8FF;
  return c > 0xFFFF || lent || dropped;
}

struct AstralTable {
  std::unordered_map<unsigned, unsigned> to_private;
  std::vector<unsigned> from_private;
};

AstralTable& astral() {
  static AstralTable table;
  return table;
}

bool is_control(unsigned c) { return c < 0x20; }

// The place that this character is lent, the same one each time.
unsigned lend(unsigned c) {
  AstralTable& table = astral();
  const auto found = table.to_private.find(c);
  if (found != table.to_private.end()) return found->second;
  const auto place = kLentFirst + static_cast<unsigned>(table.from_private.size());
  if (place > kLentLast) return 0xFFFD;  // over 6,500 different emoji in one session
  table.from_private.push_back(c);
  table.to_private.emplace(c, place);
  return place;
}

}  // namespace

unsigned to_field_character(unsigned c) { return needs_place(c) ? lend(c) : c; }

unsigned to_line_character(unsigned c) { return is_control(c) ? lend(c) : to_field_character(c); }

bool is_lent(unsigned place) { return place >= kLentFirst && place <= kLentLast; }

unsigned picture_at(unsigned place) {
  const AstralTable& table = astral();
  if (!is_lent(place) || place - kLentFirst >= table.from_private.size()) return 0;
  const unsigned c = table.from_private[place - kLentFirst];
  if (c == '\n') return 0x21B5;
  if (c == '\t') return 0x21E5;
  return is_control(c) ? 0x2400 + c : c;
}

std::string to_line_text(std::string_view utf8) {
  const bool any =
      std::any_of(utf8.begin(), utf8.end(), [](char c) { return c >= 0 && is_control(c); });
  if (!any) return to_field_text(utf8);
  std::string text;
  for (const char32_t c : to_code_points(utf8)) text += to_utf8(to_line_character(c));
  return text;
}

std::string pasted_text(std::string_view clipboard) {
  std::string text;
  text.reserve(clipboard.size());
  for (std::size_t i = 0; i < clipboard.size(); ++i) {
    if (clipboard[i] != '\r') {
      text += clipboard[i];
    } else if (i + 1 == clipboard.size() || clipboard[i + 1] != '\n') {
      text += '\n';
    }
  }
  while (text.ends_with('\n')) text.pop_back();
  return to_line_text(text);
}

std::string to_field_text(std::string_view utf8) {
  // U+3400 and up starts with E3 or more; without one there is nothing to do.
  const bool may_need = std::any_of(utf8.begin(), utf8.end(),
                                    [](char c) { return static_cast<unsigned char>(c) >= 0xE3; });
  if (!may_need) return std::string(utf8);
  std::string text;
  for (const char32_t c : to_code_points(utf8)) text += to_utf8(to_field_character(c));
  return text;
}

std::string from_field_text(std::string_view field) {
  const AstralTable& table = astral();
  if (table.from_private.empty()) return std::string(field);
  std::string text;
  for (const char32_t c : to_code_points(field)) {
    const bool mapped = c >= kLentFirst && c - kLentFirst < table.from_private.size();
    text += to_utf8(mapped ? table.from_private[c - kLentFirst] : c);
  }
  return text;
}

}  // namespace headlight
