#include "core/text/pieces/fast_patterns.h"

#include "core/text/pieces/piece_unicode.h"

namespace headlight {
namespace {

enum class Sort { kLetter, kNumber, kBlank, kOther };

struct SortedPoint {
  Sort sort = Sort::kOther;
  char32_t value = 0;
  std::size_t size = 0;
};

SortedPoint sorted_at(std::string_view text, std::size_t at) {
  const CodePoint c = point_at(text, at);
  Sort sort = Sort::kOther;
  if (is_letter(c.value)) {
    sort = Sort::kLetter;
  } else if (is_number(c.value)) {
    sort = Sort::kNumber;
  } else if (is_white_space(c.value)) {
    sort = Sort::kBlank;
  }
  return {sort, c.value, c.size};
}

// Where the run of this sort that goes on at `at` ends, after at most `most` characters.
std::size_t run_end(std::string_view text, std::size_t at, Sort sort, int most = -1) {
  for (; at < text.size() && most != 0; --most) {
    const SortedPoint c = sorted_at(text, at);
    if (c.sort != sort) break;
    at += c.size;
  }
  return at;
}

// White space with no line end that is matched before it: all but the last blank, which goes with
// the word, or the blank alone.
std::size_t blanks_end(std::string_view text, std::size_t at) {
  std::size_t end = at, last = at;
  for (; end < text.size();) {
    const SortedPoint c = sorted_at(text, end);
    if (c.sort != Sort::kBlank) break;
    last = end;
    end += c.size;
  }
  return end == text.size() || last == at ? end : last;
}

// The letters of "'s", "'re" … behind the apostrophe at `at`; 0 for none.
std::size_t contraction(std::string_view text, std::size_t at, bool any_case) {
  const auto letter = [&](std::size_t i) {
    if (i >= text.size()) return '\0';
    const char c = text[i];
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = letter(at + 1), second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 1;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
      (first == 'l' && second == 'l'))
    return 2;
  // The long s is an s in another case.
  return any_case && text.substr(at + 1).starts_with("\xC5\xBF") ? 2 : 0;
}

bool is_line_end(char32_t c) { return c == '\n' || c == '\r'; }

// \s*[\r\n]+: up to the last line end of the white space at `at`; `at` where it has none.
std::size_t lines_end(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (at < text.size()) {
    const SortedPoint c = sorted_at(text, at);
    if (c.sort != Sort::kBlank) break;
    at += c.size;
    if (is_line_end(c.value)) end = at;
  }
  return end;
}

std::size_t gpt2_end(std::string_view text, std::size_t at) {
  const SortedPoint c = sorted_at(text, at);
  if (c.value == '\'') {
    if (const std::size_t letters = contraction(text, at, false)) return at + 1 + letters;
  }
  if (c.sort != Sort::kBlank) return run_end(text, at + c.size, c.sort);
  if (c.value == ' ' && at + 1 < text.size()) {
    const SortedPoint next = sorted_at(text, at + 1);
    if (next.sort != Sort::kBlank) return run_end(text, at + 1 + next.size, next.sort);
  }
  return blanks_end(text, at);
}

std::size_t llama3_end(std::string_view text, std::size_t at, int digits) {
  const SortedPoint c = sorted_at(text, at);
  if (c.value == '\'') {
    if (const std::size_t letters = contraction(text, at, true)) return at + 1 + letters;
  }
  if (c.sort == Sort::kLetter) return run_end(text, at + c.size, Sort::kLetter);
  if (c.sort == Sort::kNumber) return run_end(text, at + c.size, Sort::kNumber, digits - 1);
  const std::size_t behind = at + c.size;
  SortedPoint next;
  if (behind < text.size()) next = sorted_at(text, behind);
  const bool something = behind < text.size();
  if (!is_line_end(c.value) && something && next.sort == Sort::kLetter)
    return run_end(text, behind + next.size, Sort::kLetter);
  const bool before_others = c.value == ' ' && something && next.sort == Sort::kOther;
  if (c.sort == Sort::kOther || before_others) {
    std::size_t end = run_end(text, behind, Sort::kOther);
    while (end < text.size() && is_line_end(static_cast<unsigned char>(text[end]))) ++end;
    return end;
  }
  const std::size_t lines = lines_end(text, at);
  return lines > at ? lines : blanks_end(text, at);
}

}  // namespace

void gpt2_matches(std::string_view text, std::vector<ByteSpan>& matches) {
  for (std::size_t at = 0; at < text.size(); at = matches.back().end)
    matches.push_back({at, gpt2_end(text, at)});
}

void llama3_matches(std::string_view text, int digits, std::vector<ByteSpan>& matches) {
  for (std::size_t at = 0; at < text.size(); at = matches.back().end)
    matches.push_back({at, llama3_end(text, at, digits)});
}

}  // namespace headlight
