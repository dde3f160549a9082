// Any bytes as a SentencePiece model. Read or refused with an Error; what was read encodes any
// text, by its own ids and by those of a vocab.json.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/text/pieces/sentencepiece.h"

namespace {

using headlight::SentencePieceFile;
using headlight::SentencePieceRow;

void encode(const SentencePieceFile& file, const nlohmann::json& vocab, SentencePieceRow row,
            std::string_view raw) {
  try {
    headlight::SpecialNames names;
    const nlohmann::json json = headlight::of_sentencepiece(file, vocab, row, {}, names);
    const auto tokenizer = headlight::PieceTokenizer::from_json(json.dump(), names);
    for (const std::string_view text : {raw, std::string_view("a  b\xC3\xA9 \xFF</s> <s>")}) {
      for (const headlight::PlacedToken& token : tokenizer.encode(text)) {
        if (token.id < 0 || token.id >= tokenizer.size() || token.end > text.size()) std::abort();
      }
    }
  } catch (const headlight::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  try {
    const SentencePieceFile file = headlight::read_sentencepiece(raw);
    encode(file, nullptr, SentencePieceRow::kLlama, raw);
    nlohmann::json vocab = {{"</s>", 0}, {"<unk>", 1}};
    for (const SentencePieceFile::Piece& piece : file.pieces)
      vocab.emplace(piece.text, vocab.size());
    encode(file, vocab, SentencePieceRow::kMarian, raw);
  } catch (const headlight::Error&) {
  }
  return 0;
}
