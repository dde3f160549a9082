// Any bytes as a vocabulary file: read or refused with an Error. What was read is written and read
// back the same, and encodes any text. Any bytes are also a text to learn byte pairs from.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/text/bpe.h"
#include "core/text/vocabulary.h"

namespace {

using headlight::TextCut;
using headlight::Vocabulary;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const Vocabulary& vocabulary, std::string_view raw) {
  const std::string json = vocabulary.to_json();
  require(Vocabulary::from_json(json) == vocabulary);
  for (const std::string_view text : {raw, std::string_view("[CLS] a [MASK][PAD] \xFF")}) {
    try {
      const std::vector<int> ids = vocabulary.encode(text);
      for (const int id : ids) require(id >= 0 && id < vocabulary.size());
      const std::string again = vocabulary.decode(ids);
      require(!vocabulary.bpe() || again == text);
    } catch (const headlight::Error&) {
      require(!vocabulary.bpe() && !vocabulary.id_of(headlight::Special::kUnknown));
    }
  }
}

void read(std::string_view json, std::string_view raw) {
  try {
    check(Vocabulary::from_json(json), raw);
  } catch (const headlight::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  read(raw, raw);
  // Also as the lists alone, so that the fuzzer need not guess the frame.
  const std::string frame = R"({"format": "headlight vocabulary", "version": 1, "cut": )";
  read(frame + R"("words", "tokens": [)" + std::string(raw) + "]}", raw);
  read(frame + R"("wordpiece", "tokens": [)" + std::string(raw) + "]}", raw);
  read(frame + R"("bpe", "tokens": [], "merges": [)" + std::string(raw) + "]}", raw);
  // Learning takes more than all else, whatever the text: of one in sixteen.
  if (size % 16 == 0) check(Vocabulary::of_bpe(headlight::learn_bpe(raw, 280)), raw);
  return 0;
}
