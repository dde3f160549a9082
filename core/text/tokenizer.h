// Cutting a sentence into tokens: words, characters or bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// One byte as a token's text: printable ASCII as itself, any other as "<0xE4>".
std::string byte_text(char byte);

/// How a sentence is cut.
enum class TokenizerKind { kWords, kCharacters, kBytes };

/// "words", "characters" or "bytes": the name in files and on the command line.
std::string_view to_string(TokenizerKind kind);

/// The inverse of to_string; nothing for any other text.
std::optional<TokenizerKind> tokenizer_from_string(std::string_view name);

/// One token and where it stands in the sentence.
struct Token {
  std::string text;
  std::size_t begin = 0;  // byte range [begin, end) in the sentence
  std::size_t end = 0;
  bool operator==(const Token&) const = default;
};

/// Cuts sentences. Keeps its ICU break iterator between calls, since opening one takes milliseconds
/// and using it microseconds. May be moved, not copied, and belongs to one thread at a time.
///
///   words       Unicode word boundaries (UAX #29; Chinese, Japanese, Thai ... by ICU's
///   dictionaries).
///               White space is dropped, punctuation and control characters are tokens of their
///               own.
///   characters  what a person calls a character (grapheme clusters): an emoji family or a letter
///               with a combining accent is one; spaces are kept.
///   bytes       every byte of the UTF-8; printable ASCII is written as itself, others as "<0xE4>".
class Tokenizer {
 public:
  /// Throws Error when ICU's data cannot be opened.
  explicit Tokenizer(TokenizerKind kind);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  TokenizerKind kind() const;

  /// From now on these texts, spaces between them, are one token each wherever they stand, but for
  /// bytes, of which each is one; empty: no text is. They have to outlive the tokenizer.
  void keep_whole(std::string_view text);

  /// The tokens in order, at most `max_tokens` of them; `*truncated` (when given) says whether
  /// there were more. The text should be valid UTF-8 (see clean_utf8); other bytes are cut somehow,
  /// safely. Throws Error for a text of 2 GiB or more.
  std::vector<Token> tokenize(std::string_view text, std::size_t max_tokens = SIZE_MAX,
                              bool* truncated = nullptr);

  /// Calls visit(begin, end) with the byte range of each token in order, until it returns false.
  void for_each(std::string_view text, const std::function<bool(std::size_t, std::size_t)>& visit);

  /// How many tokens `tokenize` would give, without making them.
  std::size_t count(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headlight
