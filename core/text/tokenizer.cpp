#include "core/text/tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

constexpr std::pair<TokenizerKind, std::string_view> kNames[] = {
    {TokenizerKind::kWords, "words"},
    {TokenizerKind::kCharacters, "characters"},
    {TokenizerKind::kBytes, "bytes"},
};

struct CloseBreakIterator {
  void operator()(UBreakIterator* p) const { ubrk_close(p); }
};
struct CloseText {
  void operator()(UText* p) const { utext_close(p); }
};

bool is_white_space(std::string_view segment) {
  for (std::size_t at = 0; at < segment.size();) {
    const CodePoint c = code_point_at(segment, at);
    if (!u_isUWhiteSpace(static_cast<UChar32>(c.value))) return false;
    at += c.size;
  }
  return true;
}

}  // namespace

std::string byte_text(char byte) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  if (value >= 0x20 && value < 0x7F) return std::string(1, byte);
  return std::string("<0x") + kHex[value >> 4] + kHex[value & 0xF] + ">";
}

std::string_view to_string(TokenizerKind kind) {
  for (const auto& [k, name] : kNames) {
    if (k == kind) return name;
  }
  return "unknown";
}

std::optional<TokenizerKind> tokenizer_from_string(std::string_view name) {
  for (const auto& [kind, n] : kNames) {
    if (n == name) return kind;
  }
  return std::nullopt;
}

struct Tokenizer::Impl {
  TokenizerKind kind;
  std::vector<std::string_view> whole;                         // texts that are one token each
  std::unique_ptr<UBreakIterator, CloseBreakIterator> breaks;  // none for bytes
  std::unique_ptr<UText, CloseText> text;

  explicit Impl(TokenizerKind k) : kind(k) {
    if (kind == TokenizerKind::kBytes) return;
    UErrorCode status = U_ZERO_ERROR;
    const auto type = kind == TokenizerKind::kWords ? UBRK_WORD : UBRK_CHARACTER;
    // A fixed locale: the same sentence gives the same tokens on every machine.
    breaks.reset(ubrk_open(type, "en", nullptr, 0, &status));
    if (U_FAILURE(status)) {
      throw Error(std::string("Headlight needs the Unicode library's text segmentation data, but "
                              "it could not be opened (") +
                  u_errorName(status) + "). Reinstall ICU (libicu).");
    }
  }

  // Calls visit(begin, end) for each token in order until it returns false.
  template <class Visit>
  void for_each(std::string_view sentence, Visit visit) {
    if (whole.empty() || kind == TokenizerKind::kBytes) {
      for_each_between(sentence, visit);
      return;
    }
    // Where each of them comes next: looked for again only when it has been passed.
    std::vector<std::size_t> next(whole.size(), 0);
    bool goes_on = true, first = true;
    for (std::size_t from = 0; goes_on && from < sentence.size(); first = false) {
      std::size_t at = sentence.size(), size = 0;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        if (first || next[i] < from) next[i] = sentence.find(whole[i], from);
        if (next[i] >= at) continue;
        at = next[i];
        size = whole[i].size();
      }
      for_each_between(sentence.substr(from, at - from), [&](std::size_t begin, std::size_t end) {
        goes_on = visit(from + begin, from + end);
        return goes_on;
      });
      if (goes_on && at < sentence.size()) goes_on = visit(at, at + size);
      from = at + size;
    }
  }

  // The same where no text is whole.
  template <class Visit>
  void for_each_between(std::string_view sentence, Visit visit) {
    if (kind == TokenizerKind::kBytes) {
      for (std::size_t i = 0; i < sentence.size(); ++i) {
        if (!visit(i, i + 1)) return;
      }
      return;
    }
    // ICU reports boundaries as 32-bit numbers.
    if (sentence.size() > std::numeric_limits<std::int32_t>::max()) {
      throw Error("A sentence may have up to 2 GiB of text; this one has " +
                  std::to_string(sentence.size()) + " bytes. Use a shorter one.");
    }
    UErrorCode status = U_ZERO_ERROR;
    const char* data = sentence.data() == nullptr ? "" : sentence.data();
    UText* opened =
        utext_openUTF8(text.get(), data, static_cast<std::int64_t>(sentence.size()), &status);
    if (text == nullptr) text.reset(opened);
    ubrk_setUText(breaks.get(), text.get(), &status);
    if (U_FAILURE(status)) {
      throw Error(std::string("The Unicode library could not cut this sentence (") +
                  u_errorName(status) + "). Please report this together with the text.");
    }
    std::size_t begin = 0;
    for (std::int32_t b = ubrk_next(breaks.get()); b != UBRK_DONE; b = ubrk_next(breaks.get())) {
      const auto end = static_cast<std::size_t>(b);
      const bool drop =
          kind == TokenizerKind::kWords && is_white_space(sentence.substr(begin, end - begin));
      if (!drop && !visit(begin, end)) return;
      begin = end;
    }
  }
};

Tokenizer::Tokenizer(TokenizerKind kind) : impl_(std::make_unique<Impl>(kind)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

TokenizerKind Tokenizer::kind() const { return impl_->kind; }

void Tokenizer::keep_whole(std::string_view texts) {
  impl_->whole.clear();
  while (!texts.empty()) {
    const std::size_t end = std::min(texts.find(' '), texts.size());
    if (end > 0) impl_->whole.push_back(texts.substr(0, end));
    texts.remove_prefix(std::min(end + 1, texts.size()));
  }
}

std::vector<Token> Tokenizer::tokenize(std::string_view text, std::size_t max_tokens,
                                       bool* truncated) {
  std::vector<Token> tokens;
  bool more = false;
  impl_->for_each(text, [&](std::size_t begin, std::size_t end) {
    more = tokens.size() >= max_tokens;
    if (more) return false;
    tokens.push_back({impl_->kind == TokenizerKind::kBytes
                          ? byte_text(text[begin])
                          : std::string(text.substr(begin, end - begin)),
                      begin, end});
    return true;
  });
  if (truncated != nullptr) *truncated = more;
  return tokens;
}

void Tokenizer::for_each(std::string_view text,
                         const std::function<bool(std::size_t, std::size_t)>& visit) {
  impl_->for_each(text, [&](std::size_t begin, std::size_t end) { return visit(begin, end); });
}

std::size_t Tokenizer::count(std::string_view text) {
  std::size_t n = 0;
  impl_->for_each(text, [&](std::size_t, std::size_t) {
    ++n;
    return true;
  });
  return n;
}

}  // namespace headlight
