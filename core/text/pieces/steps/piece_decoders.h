// Decoders: how pieces become text again. Types and meanings are those of tokenizer.json files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/text/pieces/piece_json.h"

namespace headlight {

/// Changes the pieces of a row; in the end they are joined as they stand. May be called by several
/// threads.
using RowDecoder = std::function<void(std::vector<std::string>& pieces)>;
/// The bytes that one piece stands for, wherever it stands.
using OneDecoder = std::function<void(std::string& piece)>;

struct PieceDecoder {
  RowDecoder row;
  OneDecoder one;
};

/// Throws Error for what is not known, by name.
PieceDecoder read_piece_decoder(const PieceJson&);
/// Of a tokenizer without one: blanks between the pieces.
PieceDecoder plain_piece_decoder();

}  // namespace headlight
