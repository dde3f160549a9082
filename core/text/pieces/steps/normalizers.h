// Normalizers: what is done to a text before it is cut. Types and meanings are those of
// tokenizer.json files.
#pragma once

#include <functional>

#include "core/text/pieces/aligned_text.h"
#include "core/text/pieces/piece_json.h"

namespace headlight {

/// Changes a text; may be called by several threads. Bears any bytes.
using Normalizer = std::function<void(AlignedText&)>;

/// Throws Error for what is not known, by name.
Normalizer read_normalizer(const PieceJson&);

/// "Precompiled": SentencePiece's table of replacements, in base64. A member
/// "match": "longest" of our own: where the table is applied as SentencePiece itself does it.
Normalizer read_charsmap(const PieceJson&);

}  // namespace headlight
