// "Metaspace", SentencePiece's way with blanks, as its pre-tokenizer and its decoder have it.
#pragma once

#include <string>

#include "core/text/pieces/steps/pre_tokenizers.h"

namespace headlight {

struct MetaspaceOptions {
  std::string mark = "\xE2\x96\x81";  // ▁
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

/// Throws Error for a word that is not known, and for options that contradict each other.
MetaspaceOptions read_metaspace(const PieceJson&);

}  // namespace headlight
