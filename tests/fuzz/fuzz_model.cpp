// Any bytes as the config.json of a saved model: read or refused with an Error. What was read makes
// a model, is in range, and survives being saved and opened again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/model/model_file.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void read(std::string_view text) {
  try {
    const headlight::ModelFile file = headlight::parse_model(text);
    headlight::validate(file.config);
    require(file.vocab >= 1 && file.vocab <= headlight::kLargestVocab);
    require(file.context >= 1 && file.context <= headlight::kLargestContext);
    require(headlight::parse_model(headlight::model_text(file)) == file);
  } catch (const headlight::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string raw(reinterpret_cast<const char*>(data), size);
  read(raw);
  // Also as single values, so that the fuzzer need not guess the frame.
  const std::string frame = R"({"format": "headlight model", "version": 1, "context": 8, )";
  read(frame + R"("vocab": 8, "model": )" + raw + "}");
  read(frame + R"("model": {}, "vocab": )" + raw + "}");
  return 0;
}
