#include "core/text/pieces/patterns.h"

#include <time.h>
#include <unicode/uregex.h>

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/text/pieces/fast_patterns.h"
#include "core/text/pieces/piece_unicode.h"

namespace headlight {

const char kGpt2Pattern[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char kQwen2Pattern[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const char kLlama3Pattern[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

constexpr std::size_t kMaxExpression = 65536;  // bytes
// Of the processor. Expressions that tokenizers use take some tenths of a second for a megabyte.
constexpr double kSecondsAtLeast = 0.5, kSecondsPerByte = 5e-6;
constexpr std::int32_t kStackLimit = 64 << 20;  // bytes

struct CloseExpression {
  void operator()(URegularExpression* p) const { uregex_close(p); }
};
using Expression = std::unique_ptr<URegularExpression, CloseExpression>;

// A text as ICU matches it, and the byte at which each of its units begins.
struct WideText {
  std::u16string units;
  std::vector<std::size_t> bytes;

  explicit WideText(std::string_view text) {
    units.reserve(text.size());
    bytes.reserve(text.size() + 1);
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = point_at(text, at);
      if (c.value < 0x10000) {
        units += static_cast<char16_t>(c.value);
      } else {
        const char32_t high = c.value - 0x10000;
        units += static_cast<char16_t>(0xD800 + (high >> 10));
        units += static_cast<char16_t>(0xDC00 + (high & 0x3FF));
        bytes.push_back(at);
      }
      bytes.push_back(at);
      at += c.size;
    }
    bytes.push_back(text.size());
  }
};

// \s and \h mean something else to ICU, whose white space lacks two characters of Unicode's.
std::u16string for_icu(const std::string& expression, const std::string& name) {
  std::string changed;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char next = i + 1 < expression.size() ? expression[i + 1] : '\0';
    if (expression[i] != '\\' || next == '\0') {
      changed += expression[i];
      continue;
    }
    ++i;
    if (next == 's') {
      changed += "\\p{White_Space}";
    } else if (next == 'S') {
      changed += "\\P{White_Space}";
    } else if (next == 'h' || next == 'H') {
      throw Error(Message{
          "pieces.bad_regex",
          {{"key", name}, {"got", visible_label(shortened(expression, 80))}, {"error", "\\h"}}});
    } else {
      changed += {'\\', next};
    }
  }
  return WideText(changed).units;
}

Expression compiled(const std::string& expression, const std::string& name) {
  const auto fail = [&](const char* error) {
    throw Error(Message{"pieces.bad_regex",
                        {{"key", name},
                         {"got", visible_label(shortened(clean_utf8(expression).text, 80))},
                         {"error", error}}});
  };
  if (expression.empty() || expression.size() > kMaxExpression) fail("U_REGEX_PATTERN_TOO_BIG");
  const std::u16string pattern = for_icu(expression, name);
  UErrorCode status = U_ZERO_ERROR;
  UParseError where{};
  Expression made(uregex_open(pattern.data(), static_cast<std::int32_t>(pattern.size()),
                              UREGEX_MULTILINE, &where, &status));
  if (U_SUCCESS(status)) uregex_setStackLimit(made.get(), kStackLimit, &status);
  if (U_FAILURE(status)) fail(u_errorName(status));
  return made;
}

// Of this thread. What others do meanwhile, and a machine that sleeps, does not count.
double seconds_of_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// When the thread's allowance ends; 0: there is none.
thread_local double allowance_end = 0;

// ICU asks after 10,000 steps at one place, and before it goes on to the next place, which is too
// often to look at the clock each time.
struct Watch {
  static constexpr unsigned kPlaces = 256;
  mutable unsigned places = 0;

  static UBool U_CALLCONV goes_on(const void*, std::int32_t) { return MatchAllowance::is_left(); }
  static UBool U_CALLCONV goes_on_there(const void* watch, std::int64_t) {
    return static_cast<const Watch*>(watch)->next_place();
  }
  bool next_place() const { return ++places % kPlaces != 0 || MatchAllowance::is_left(); }
};

struct NamedExpression {
  Expression compiled;
  std::string shown;
};

void find_all(const NamedExpression& expression, std::string_view text,
              std::vector<ByteSpan>& matches) {
  const WideText wide(text);
  const MatchAllowance allowance(text.size());
  const Watch watch;
  UErrorCode status = U_ZERO_ERROR;
  // The kept one is never matched with: threads share it.
  const Expression own(uregex_clone(expression.compiled.get(), &status));
  uregex_setMatchCallback(own.get(), Watch::goes_on, nullptr, &status);
  uregex_setFindProgressCallback(own.get(), Watch::goes_on_there, &watch, &status);
  uregex_setText(own.get(), wide.units.data(), static_cast<std::int32_t>(wide.units.size()),
                 &status);
  while (U_SUCCESS(status) && uregex_findNext(own.get(), &status)) {
    const std::int32_t begin = uregex_start(own.get(), 0, &status);
    const std::int32_t end = uregex_end(own.get(), 0, &status);
    if (U_FAILURE(status)) break;
    matches.push_back(
        {wide.bytes[static_cast<std::size_t>(begin)], wide.bytes[static_cast<std::size_t>(end)]});
    if (!watch.next_place()) status = U_REGEX_STOPPED_BY_CALLER;
  }
  if (U_FAILURE(status)) {
    throw Error(
        Message{"pieces.regex_time", {{"got", expression.shown}, {"error", u_errorName(status)}}});
  }
}

}  // namespace

MatchAllowance::MatchAllowance(std::size_t bytes) : first_(allowance_end == 0) {
  if (first_)
    allowance_end =
        seconds_of_thread() + kSecondsAtLeast + kSecondsPerByte * static_cast<double>(bytes);
}

MatchAllowance::~MatchAllowance() {
  if (first_) allowance_end = 0;
}

bool MatchAllowance::is_left() { return seconds_of_thread() < allowance_end; }

PatternMatches matches_of_text(std::string searched) {
  return [searched = std::move(searched)](std::string_view text, std::vector<ByteSpan>& matches) {
    for (std::size_t at = text.find(searched); at != text.npos;
         at = text.find(searched, at + searched.size()))
      matches.push_back({at, at + searched.size()});
  };
}

PatternMatches matches_of_characters(bool (*fits)(char32_t)) {
  return [fits](std::string_view text, std::vector<ByteSpan>& matches) {
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = point_at(text, at);
      if (fits(c.value)) matches.push_back({at, at + c.size});
      at += c.size;
    }
  };
}

PatternMatches matches_of_regex(const std::string& expression, const std::string& name,
                                bool by_hand) {
  if (by_hand && expression == kGpt2Pattern) return gpt2_matches;
  if (by_hand && (expression == kLlama3Pattern || expression == kQwen2Pattern)) {
    const int digits = expression == kLlama3Pattern ? 3 : 1;
    return [digits](std::string_view text, std::vector<ByteSpan>& matches) {
      llama3_matches(text, digits, matches);
    };
  }
  const auto shared = std::make_shared<const NamedExpression>(NamedExpression{
      compiled(expression, name), visible_label(shortened(clean_utf8(expression).text, 80))});
  return [shared](std::string_view text, std::vector<ByteSpan>& matches) {
    find_all(*shared, text, matches);
  };
}

PatternMatches read_pattern(const PieceJson& json) {
  json.only({"String", "Regex"});
  if (json.has("Regex")) return matches_of_regex(json.at("Regex").text(), json.name_of("Regex"));
  const PieceJson text = json.at("String");
  // Nothing is looked for in vain.
  if (text.text().empty()) text.fail(Message{"pieces.expected.some_text"});
  return matches_of_text(text.text());
}

}  // namespace headlight
