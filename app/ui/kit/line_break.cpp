#include "app/ui/kit/line_break.h"

#include "app/ui/kit/imgui_compat.h"

namespace headlight {
namespace {

bool is_chinese(char32_t c) { return c >= 0x2E80 && c <= 0xFFEF; }

// Must not begin a line: closing marks.
bool clings_to_before(char32_t c) {
  constexpr std::u32string_view kMarks = U"，。、；：？！）》」』】〉…—·”’.,;:?!)]}%°";
  return kMarks.find(c) != kMarks.npos;
}

// Must not end a line: opening marks.
bool clings_to_after(char32_t c) {
  constexpr std::u32string_view kMarks = U"（《「『【〈“‘([{√÷";
  return kMarks.find(c) != kMarks.npos;
}

bool may_break(char32_t before, char32_t after) {
  if (before == ' ') return after != ' ';
  if (!is_chinese(before) && !is_chinese(after)) return false;
  return after != ' ' && !clings_to_before(after) && !clings_to_after(before);
}

}  // namespace

std::size_t first_line(std::string_view words, float width,
                       const std::function<float(char32_t)>& advance) {
  float used = 0, hanging = 0;  // spaces at the end may hang over
  std::size_t at = 0, last_break = 0;
  char32_t before = 0;
  while (at < words.size()) {
    unsigned code = 0;
    const char* place = words.data() + at;
    const int bytes = ImTextCharFromUtf8(&code, place, words.data() + words.size());
    const auto c = static_cast<char32_t>(code);
    if (c == '\n') return at > 0 ? at : 1;
    if (at > 0 && may_break(before, c)) last_break = at;
    const float w = advance(c);
    if (c == ' ') {
      hanging += w;
    } else {
      used += hanging + w;
      hanging = 0;
    }
    if (at > 0 && used > width) return last_break > 0 ? last_break : at;
    at += static_cast<std::size_t>(bytes > 0 ? bytes : 1);
    before = c;
  }
  return words.size();
}

}  // namespace headlight
