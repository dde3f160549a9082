// Any bytes as a tokenizer.json: read or refused with an Error. What was read encodes any text,
// with places that go forward within it; byte-level ones give it back. The vocabulary that holds it
// is read back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "core/text/vocabulary.h"

namespace {

using headlight::PieceTokenizer;

void require(bool condition) {
  if (!condition) std::abort();
}

void encode(const PieceTokenizer& tokenizer, std::string_view text) {
  try {
    std::vector<int> ids;
    std::size_t before = 0;
    for (const headlight::PlacedToken& token : tokenizer.encode(text, false)) {
      require(token.id >= 0 && token.id < tokenizer.size());
      require(token.begin >= before && token.begin <= token.end && token.end <= text.size());
      before = token.begin;
      ids.push_back(token.id);
    }
    (void)tokenizer.decode(ids);
    require(tokenizer.encode_pair(text, "b").tokens.size() >= ids.size());
  } catch (const headlight::Error&) {  // an unknown word, or an expression that takes too long
  }
}

void read(std::string_view json, std::string_view raw) {
  try {
    const PieceTokenizer tokenizer = PieceTokenizer::from_json(json);
    for (int id = 0; id < tokenizer.size(); ++id)
      require(!tokenizer.has(id) || tokenizer.piece(id) != "");
    for (const std::string_view text : {raw, std::string_view(" a b\t\xC3\xA9\xFF<a>'s  12\n")})
      encode(tokenizer, text);
    const auto shared = std::make_shared<const PieceTokenizer>(tokenizer);
    const auto vocabulary = headlight::Vocabulary::of_pieces(shared);
    require(headlight::Vocabulary::from_json(vocabulary.to_json()) == vocabulary);
  } catch (const headlight::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  read(raw, raw);
  // Also as the components alone, so that the fuzzer need not guess the frame.
  const std::string part(raw);
  read(
      R"({"model": {"type": "BPE", "unk_token": "a", "byte_fallback": true, "vocab": {"a": 0, "b": 1, "ab": 2,)"
      R"( "<0xC3>": 3, "c": 9}, "merges": ["a b"]}, )" +
          part + "}",
      raw);
  return 0;
}
