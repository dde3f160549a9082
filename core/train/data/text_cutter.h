// TextCutter: from texts to ids and the vocabulary that they need, in one pass over the text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/progress.h"
#include "core/text/vocabulary.h"

namespace headlight {

/// A long list of ids: two bytes each while they fit, then four.
class CompactIds {
 public:
  void push_back(std::uint32_t id);
  std::uint32_t operator[](std::size_t i) const { return wide_ ? large_[i] : small_[i]; }
  std::size_t size() const { return wide_ ? large_.size() : small_.size(); }
  void reserve(std::size_t n) { small_.reserve(n); }
  /// Each id becomes to[id]; two bytes each again when those fit.
  void renumber(std::span<const std::uint32_t> to);
  bool wide() const { return wide_; }

 private:
  bool wide_ = false;
  std::vector<std::uint16_t> small_;
  std::vector<std::uint32_t> large_;
};

/// How many tokens are learned where nobody says so.
inline constexpr int kDefaultBpe = 512, kDefaultWordPieces = 2000;

struct CutOptions {
  TextCut cut = TextCut::kCharacters;
  int vocabulary = 0;  // see TextOptions
  bool characters = false;
  int most_tokens = 0;  // a vocabulary of more is refused
  std::vector<Special> specials;
  std::shared_ptr<const Vocabulary> known;  // use this one
};

struct CutTexts {
  std::shared_ptr<const Vocabulary> vocabulary;
  CompactIds ids;                 // of all texts, one after another
  std::vector<std::size_t> ends;  // where each text ends in them
};

class TextCutter {
 public:
  explicit TextCutter(CutOptions options);

  /// Cuts one more text, of valid UTF-8 (of other bytes the tokens mean nothing). Progress runs
  /// from `share` on, `per_byte` a byte; `passed` is told now and then how many bytes of the text
  /// are done with. Throws Cancelled.
  void add(std::string_view text, const ProgressFunction& progress, double share, double per_byte,
           const PassedFunction& passed = {});

  bool empty() const { return ids_.size() == 0; }

  /// The vocabulary, made or known, and the ids. Throws Error for a vocabulary that would be too
  /// large, for a token that the known vocabulary lacks, and for specials that it lacks;
  /// UsageError for a size that cannot be; Cancelled. Call once.
  CutTexts finish(const ProgressFunction& progress);

 private:
  std::size_t step_end(std::string_view text, std::size_t at) const;
  void add_characters(std::string_view text);
  void add_token(std::string_view token);
  std::vector<std::uint32_t> number_words(std::vector<std::string>& tokens) const;
  std::vector<std::uint32_t> number_known() const;
  CutTexts finish_tokens();
  std::shared_ptr<const Vocabulary> learned(const ProgressFunction& progress) const;
  CutTexts finish_pieces(const ProgressFunction& progress);
  void check_size(std::size_t distinct) const;
  void check_known() const;

  CutOptions options_;
  std::optional<Tokenizer> tokenizer_;
  // Tokens (for byte pairs: pieces, for pieces of words: words) by number, in the order in which
  // they came.
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string_view> texts_;  // into the keys of numbers_, which stay where they are
  std::vector<std::uint64_t> counts_;
  std::array<std::int64_t, 128> ascii_{};  // number of a token of one byte, -1: not seen yet
  std::string key_;
  CompactIds ids_;
  std::vector<std::size_t> ends_;
};

}  // namespace headlight
