#include "core/text/sentences.h"

#include <algorithm>
#include <memory>

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kPerTell = std::size_t{1} << 20;  // bytes

struct CloseBreaks {
  void operator()(UBreakIterator* p) const { ubrk_close(p); }
};
struct CloseText {
  void operator()(UText* p) const { utext_close(p); }
};

bool is_blank(const CodePoint& c) { return u_isUWhiteSpace(static_cast<UChar32>(c.value)); }

// The part of [begin, end) without the white space around it; empty where there is nothing else.
SentenceRange trimmed(std::string_view text, std::size_t begin, std::size_t end) {
  SentenceRange range{end, end};
  for (std::size_t at = begin; at < end;) {
    const CodePoint c = code_point_at(text, at);
    at += c.size;
    if (is_blank(c)) continue;
    range.begin = std::min(range.begin, at - c.size);
    range.end = at;
  }
  return range;
}

}  // namespace

std::vector<SentenceRange> sentence_ranges(std::string_view text,
                                           const ProgressFunction& progress) {
  UErrorCode status = U_ZERO_ERROR;
  // A fixed locale, as the tokenizer's.
  const std::unique_ptr<UBreakIterator, CloseBreaks> breaks(
      ubrk_open(UBRK_SENTENCE, "en", nullptr, 0, &status));
  const std::unique_ptr<UText, CloseText> opened(utext_openUTF8(
      nullptr, text.data() ? text.data() : "", static_cast<std::int64_t>(text.size()), &status));
  if (U_SUCCESS(status)) ubrk_setUText(breaks.get(), opened.get(), &status);
  if (U_FAILURE(status))
    throw Error(Message{"error.sentence_breaks", {{"reason", u_errorName(status)}}});
  std::vector<SentenceRange> ranges;
  std::size_t begin = 0, told = 0, lines = 2;  // line breaks since the last sentence
  for (std::int32_t b = ubrk_next(breaks.get()); b != UBRK_DONE; b = ubrk_next(breaks.get())) {
    const auto end = static_cast<std::size_t>(b);
    if (end >= told) {
      told = end + kPerTell;
      tell(progress, "progress.cutting",
           static_cast<double>(end) / static_cast<double>(text.size()));
    }
    const auto breaks_in = [&](std::size_t from, std::size_t to) {
      return static_cast<std::size_t>(std::ranges::count(text.substr(from, to - from), '\n'));
    };
    SentenceRange range = trimmed(text, begin, end);
    lines += breaks_in(begin, range.begin);
    if (range.begin < range.end) {
      range.opens = lines > 1;
      ranges.push_back(range);
      lines = 0;
    }
    lines += breaks_in(range.end, end);
    begin = end;
  }
  return ranges;
}

}  // namespace headlight
