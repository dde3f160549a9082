// Any bytes, cleaned and cut in every way: tokens tile the text, labels are valid and never empty.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/utf8.h"
#include "core/text/tokenizer.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_kind(headlight::Tokenizer& tokenizer, std::string_view text) {
  std::size_t at = 0;
  const auto tokens = tokenizer.tokenize(text);
  for (const headlight::Token& token : tokens) {
    require(token.begin >= at && token.end > token.begin && token.end <= text.size());
    require(tokenizer.kind() == headlight::TokenizerKind::kWords || token.begin == at);
    at = token.end;
    const std::string label = headlight::visible_label(token.text);
    require(!label.empty() && headlight::clean_utf8(label).replaced == 0);
    require(headlight::clean_utf8(headlight::visual_order(label)).replaced == 0);
  }
  require(tokenizer.count(text) == tokens.size());
  bool truncated = false;
  const std::size_t max = tokens.size() / 2;
  require(tokenizer.tokenize(text, max, &truncated).size() == max);
  require(truncated == (max < tokens.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using headlight::Tokenizer;
  using headlight::TokenizerKind;
  static Tokenizer tokenizers[] = {Tokenizer(TokenizerKind::kWords),
                                   Tokenizer(TokenizerKind::kCharacters),
                                   Tokenizer(TokenizerKind::kBytes)};
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  const headlight::CleanText clean = headlight::clean_utf8(raw);
  require(headlight::clean_utf8(clean.text).text == clean.text);
  require(clean.replaced > 0 || clean.text == raw);
  require(headlight::clean_utf8(headlight::visual_order(raw)).replaced == 0 || clean.replaced > 0);
  for (Tokenizer& tokenizer : tokenizers) {
    check_kind(tokenizer, clean.text);
    (void)tokenizer.count(raw);  // bytes that were not cleaned must be safe too
  }
  return 0;
}
