// Byte pairs and pieces of words learned from a short text, and how a text is cut after each number
// of merges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress.h"
#include "core/text/bpe.h"
#include "core/text/tokenizer.h"

namespace headlight {

class LearnedPieces {
 public:
  /// At most so many merges, and pieces of words beside their single characters. Throws Cancelled.
  LearnedPieces(std::string_view text, int most, const ProgressFunction& progress = {});

  int merges() const { return static_cast<int>(bpe_.merges().size()); }
  const Bpe& bpe() const { return bpe_; }
  /// As it was after so many merges.
  Bpe after(int merges) const;
  /// The pieces of a text's words after so many were learned; "[UNK]" for a word that none fit.
  std::vector<std::string> cut(std::string_view text, int learned);
  /// Single characters and those that were learned by then.
  std::size_t known(int learned) const {
    return std::min(pieces_.size(), characters_ + static_cast<std::size_t>(learned));
  }
  /// As the how manieth a piece was learned, from 1; 0 of single characters.
  int learned_as(std::string_view piece) const;
  std::size_t distinct_words() const { return distinct_words_; }
  Tokenizer& words() { return words_; }

 private:
  void learn_words(std::string_view text, int most, const ProgressFunction&);

  Bpe bpe_;
  Tokenizer words_{TokenizerKind::kWords};
  std::vector<std::string> pieces_;  // the first `characters_` are single ones
  std::map<std::string, std::size_t, std::less<>> place_;
  std::size_t characters_ = 0, distinct_words_ = 0, longest_ = 0;
};

/// Where the runs of letters, digits, spaces … end, over which no byte pair reaches.
std::vector<std::size_t> run_ends(std::string_view text);

}  // namespace headlight
