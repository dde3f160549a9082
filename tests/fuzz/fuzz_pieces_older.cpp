// Any bytes as vocab.json and merges.txt, as vocab.txt and as a list of pieces; a line "====="
// parts two files. Read or refused with an Error; what was read encodes any text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/text/pieces/older_files.h"

namespace {

using headlight::PieceTokenizer;

template <class Make>
void read(std::string_view raw, Make make) {
  try {
    headlight::SpecialNames names;
    const nlohmann::json json = make(names);
    const PieceTokenizer tokenizer = PieceTokenizer::from_json(json.dump(), names);
    for (const std::string_view text : {raw, std::string_view("a b\xC3\xA9 \xFF[MASK]<s>")}) {
      try {
        for (const headlight::PlacedToken& token : tokenizer.encode(text)) {
          if (token.id < 0 || token.id >= tokenizer.size() || token.end > text.size()) std::abort();
        }
      } catch (const headlight::Error&) {  // an unknown word
      }
    }
  } catch (const headlight::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kParts = "=====\n";
  const std::size_t at = raw.find(kParts);
  const std::string_view first = raw.substr(0, at);
  const std::string_view second = at == raw.npos ? "" : raw.substr(at + kParts.size());
  headlight::OlderFiles files;
  try {
    files.settings = nlohmann::json::parse(second, nullptr, false);
    if (files.settings.is_discarded()) files.settings = nullptr;
  } catch (const nlohmann::json::exception&) {
  }
  read(raw, [&](auto& names) { return headlight::of_vocab_txt(first, files, names); });
  read(raw, [&](auto& names) {
    return headlight::of_vocab_and_merges(first, headlight::read_merge_lines(second), {}, names);
  });
  read(raw, [&](auto& names) {
    return headlight::of_vocab_and_merges(R"({"a": 0, "b": 1, "ab": 2, "<s>": 3, "</s>": 4})",
                                          headlight::read_merge_lines(first), files, names);
  });
  read(raw, [&](auto& names) { return headlight::of_pieces_list(first, names); });
  return 0;
}
