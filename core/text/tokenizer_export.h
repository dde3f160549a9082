// The program's own vocabularies as a tokenizer.json, so that models trained here open elsewhere.
#pragma once

#include <string>

#include "core/text/vocabulary.h"

namespace headlight {

/// A tokenizer.json with which every text in valid UTF-8 gets the ids that the vocabulary gives it.
/// Of kPieces, kBpe, kBytes and kCharacters. Throws Error with the reason where the format cannot
/// say what the vocabulary does.
std::string tokenizer_json_of(const Vocabulary&);

}  // namespace headlight
