// Tokens that were added to a model's own: found in a text as they are written, before it is cut.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text/pieces/patterns.h"
#include "core/text/pieces/piece_json.h"
#include "core/text/pieces/steps/normalizers.h"

namespace headlight {

struct AddedToken {
  int id = 0;
  std::string content;
  bool special = false;
  bool left_blanks = false, right_blanks = false;  // takes the white space beside it ("lstrip", …)
  bool single_word = false;                        // only where no word goes on beside it
  bool normalized = false;                         // looked for in the text as it is normalized
};

/// "added_tokens" of a tokenizer.json, in the order of their ids. Throws Error.
std::vector<AddedToken> read_added_tokens(const PieceJson&);

/// Finds some of them, the longest of those that begin at a place.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  /// The tokens, and as what each is written.
  void add(const AddedToken& token, const std::string& written);
  void finish();

  struct Part {
    ByteSpan span;
    std::optional<int> id;  // none: text
  };
  /// The text in parts, none of which is empty.
  std::vector<Part> parts(std::string_view text) const;
  bool empty() const { return tokens_.empty(); }

 private:
  const AddedToken* at(std::string_view text, std::size_t place, std::size_t& length) const;

  std::unordered_map<std::string, AddedToken> tokens_;
  std::vector<std::vector<std::size_t>> lengths_;  // by first byte, the longest first
};

}  // namespace headlight
