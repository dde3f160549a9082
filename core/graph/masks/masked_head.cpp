#include "core/graph/masks/masked_head.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"

namespace headlight {
namespace {

constexpr std::string_view kStacks[] = {"", "encoder.", "cross."};

[[noreturn]] void refuse(std::string_view text) {
  throw UsageError(Message{"error.head_text", {{"got", std::string(text)}}});
}

}  // namespace

std::string head_text(const MaskedHead& h) {
  return std::string(kStacks[static_cast<std::size_t>(h.of)]) + std::to_string(h.layer) + "." +
         std::to_string(h.head);
}

MaskedHead read_head(std::string_view text) {
  MaskedHead h;
  std::string_view rest = text;
  for (const HeadsOf of : {HeadsOf::kEncoder, HeadsOf::kCross}) {
    const std::string_view word = kStacks[static_cast<std::size_t>(of)];
    if (!rest.starts_with(word)) continue;
    h.of = of;
    rest.remove_prefix(word.size());
    break;
  }
  const std::size_t dot = rest.find('.');
  if (dot == rest.npos) refuse(text);
  const auto number = [&](std::string_view digits, int& out) {
    const char* end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, out);
    if (error != std::errc() || at != end || out < 0) refuse(text);
  };
  number(rest.substr(0, dot), h.layer);
  number(rest.substr(dot + 1), h.head);
  return h;
}

std::string heads_text(const std::vector<MaskedHead>& heads) {
  std::string text;
  for (const MaskedHead& h : heads) text += (text.empty() ? "" : ",") + head_text(h);
  return text;
}

std::vector<MaskedHead> read_heads(std::string_view text) {
  std::vector<MaskedHead> heads;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    heads.push_back(read_head(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::sort(heads.begin(), heads.end());
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  return heads;
}

}  // namespace headlight
