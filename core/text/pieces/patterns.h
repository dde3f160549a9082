// Where a pattern matches in a text: what tokenizers cut and replace by.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/pieces/piece_json.h"

namespace headlight {

/// Bytes [begin, end) of a text.
struct ByteSpan {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
  bool operator==(const ByteSpan&) const = default;
};

/// Appends the matches in a text, in order; none overlaps another one. May be called by several
/// threads. Bears any bytes.
using PatternMatches = std::function<void(std::string_view text, std::vector<ByteSpan>& matches)>;

/// While it lives, all regular expressions that this thread matches share one allowance of the
/// processor's time: half a second, and more for a long text. Within another one it changes
/// nothing; where there is none, each text that an expression is looked for in has its own.
class MatchAllowance {
 public:
  explicit MatchAllowance(std::size_t bytes);
  ~MatchAllowance();
  MatchAllowance(const MatchAllowance&) = delete;
  MatchAllowance& operator=(const MatchAllowance&) = delete;

  /// Is there some left of the thread's?
  static bool is_left();

 private:
  bool first_;
};

/// Wherever these bytes stand; not empty.
PatternMatches matches_of_text(std::string text);
/// Each character for which `fits` holds.
PatternMatches matches_of_characters(bool (*fits)(char32_t));
/// A regular expression in the syntax that tokenizers are written with. Those of GPT-2, Llama 3 and
/// Qwen 2 are matched by hand, unless `by_hand` is false. Throws Error for one that cannot be read.
/// The matches throw Error, which names the expression, for a text on which it takes too long.
PatternMatches matches_of_regex(const std::string& expression, const std::string& name,
                                bool by_hand = true);
/// {"String": …} or {"Regex": …}.
PatternMatches read_pattern(const PieceJson&);

/// GPT-2's own expression.
extern const char kGpt2Pattern[];
/// Qwen 2's; Llama 3's has \p{N}{1,3} for \p{N}.
extern const char kQwen2Pattern[];
extern const char kLlama3Pattern[];

}  // namespace headlight
