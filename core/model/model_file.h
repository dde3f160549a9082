// config.json of a saved model: which transformer its weights belong to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

/// Of config.json, and of what stands beside it: train.json, tokenizer.json.
inline constexpr int kModelVersion = 1;
inline constexpr std::int64_t kLargestVocab = 1 << 24, kLargestContext = 1 << 16;

inline constexpr std::size_t kLargestClasses = 1000;

struct ModelFile {
  Config config;
  std::int64_t vocab = 0;                 // rows of W_E
  std::int64_t context = 0;               // positions that it was trained on
  std::string task, kind;                 // words of whoever trained it; kept as they are
  std::vector<std::string> classes = {};  // ModelForm::kClasses: their names, at least 2
  std::int64_t source = 0;                // ModelForm::kTranslate: source positions
  // kTranslate: rows of the table that the encoder has for itself; 0: it reads the decoder's.
  std::int64_t source_vocab = 0;
  // What ends what it writes, the usual one first; none: [EOS].
  std::vector<int> ends = {};
  // kTranslate: what its own row begins with, where that is not [BOS], and what has to come next:
  // the mark of a language.
  std::optional<int> begin = {};
  std::vector<int> forced = {};
  std::vector<int> never = {};  // kTranslate: what it does not write, however likely
  // What takes no position in a row where its type is known, and would take one here.
  std::optional<int> unplaced = {};
  bool operator==(const ModelFile&) const = default;
};

/// The shape of a program of this model, of one row of `context` tokens.
RunShape shape_of(const ModelFile&);

/// The text of config.json; the model itself in the words of a session file.
std::string model_text(const ModelFile&);

/// Reads it. Throws Error for anything that is not such a file of this version with values in range
/// that make a model (validate); the message names the key, what was expected and what came.
ModelFile parse_model(std::string_view text);

}  // namespace headlight
