// How a sentence goes on by itself: one drawn token after the other, as text that a person could
// have typed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/document/document.h"
#include "core/train/cached_predictor.h"
#include "core/train/sampling.h"

namespace headlight {

/// The sentence that `with` makes of an id drawn from these logits; nothing when one that ends the
/// row is drawn or no id makes one. What makes none (a part of a character cannot stand in a text)
/// is not drawn. Throws as token_chances() does.
std::optional<std::string> drawn_sentence(
    std::span<const float> logits, const SamplingOptions&, std::uint64_t seed, std::uint64_t draw,
    const std::function<bool(int id)>& ends,
    const std::function<std::optional<std::string>(int id)>& with);

/// Writes on behind the sentence of a document, faster than whole runs could.
class SentenceWriter {
 public:
  /// Can it, for this document and its model? Otherwise each token takes a run.
  static bool can_write(const Document&, const Model&);

  /// can_write() must hold.
  SentenceWriter(std::shared_ptr<const Model>, const Document&, const SamplingOptions&,
                 std::uint64_t seed);

  /// The sentence with one token more, drawn as if each had been asked for alone; nothing when the
  /// row is full or the model ends it. Throws as drawn_sentence() does, and Error for a sentence
  /// that the model cannot read.
  std::optional<std::string> next();

 private:
  std::optional<Tokenizer> tokenizer_;
  CachedPredictor predictor_;
  std::string sentence_;
  std::size_t most_;  // tokens
  SamplingOptions sampling_;
  std::uint64_t seed_;
};

}  // namespace headlight
