// Any bytes as a session file: read or refused with an Error. What was read is in range, survives
// being saved and opened again, and takes edits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/document/document.h"
#include "core/document/session_file.h"

namespace {

using headlight::Document;

void require(bool condition) {
  if (!condition) std::abort();
}

// Whether the model can be run; only an Error may say that it cannot.
bool is_valid(const headlight::Config& config) {
  try {
    headlight::validate(config);
    return true;
  } catch (const headlight::Error&) {
    return false;
  }
}

void check(const headlight::SessionFile& file, std::string_view raw) {
  const Document& document = file.document;
  require(is_valid(document.config) == file.notes.empty());
  require(document.max_tokens >= 1 && document.max_tokens <= headlight::kLargestMaxTokens);
  require(headlight::parse_session(headlight::session_text(document)).document == document);
  // Edits never throw, and doing one twice changes nothing more.
  for (const headlight::Edit& edit : std::initializer_list<headlight::Edit>{
           headlight::SetSentence{std::string(raw)}, headlight::SetConfig{document.config},
           headlight::SetMask{document.config.mask},
           headlight::SetMaxTokens{static_cast<int>(raw.size()) - 8}}) {
    const Document once = headlight::apply(document, edit);
    require(headlight::apply(once, edit) == once);
    require(headlight::parse_session(headlight::session_text(once)).document == once);
  }
  (void)document.config.mask.allows(0, 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  const auto read = [&](std::string_view text) {
    try {
      check(headlight::parse_session(text), raw);
    } catch (const headlight::Error&) {
    }
  };
  read(raw);
  // Also as the model and as the mask of a session, so that the fuzzer need not guess the frame.
  const std::string frame = R"({"format": "headlight session", "version": 1, "model": )";
  read(frame + std::string(raw) + "}");
  read(frame + R"({"mask": )" + std::string(raw) + "}}");
  return 0;
}
