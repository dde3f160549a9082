#include "core/text/bpe.h"

#include <unicode/uchar.h>

#include <limits>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/text/pair_counts.h"

namespace headlight {
namespace {

constexpr int kBytes = 256;

enum class Class { kLetter, kDigit, kSpace, kOther };

Class class_of(char32_t c) {
  if (c < 0x80) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Class::kLetter;
    if (c >= '0' && c <= '9') return Class::kDigit;
    if (c == ' ' || (c >= 9 && c <= 13)) return Class::kSpace;
    return Class::kOther;
  }
  const auto point = static_cast<UChar32>(c);
  if (u_isUWhiteSpace(point)) return Class::kSpace;
  // Combining marks belong to the letter before them.
  constexpr auto kMarks = U_GC_M_MASK;
  if (u_isalpha(point) || (U_GET_GC_MASK(point) & kMarks) != 0) return Class::kLetter;
  return u_isdigit(point) ? Class::kDigit : Class::kOther;
}

[[noreturn]] void fail_merge(std::size_t index, const Message& problem) {
  throw Error(Message{"bpe.merge", {{"n", std::to_string(index + 1)}}}.with(problem));
}

}  // namespace

std::size_t bpe_piece_end(std::string_view text, std::size_t at) {
  std::size_t end = at;
  CodePoint c = code_point_at(text, end);
  Class kind = class_of(c.value);
  // One space before a word belongs to the word.
  if (c.value == ' ' && end + 1 < text.size()) {
    const CodePoint next = code_point_at(text, end + 1);
    if (class_of(next.value) != Class::kSpace) {
      kind = class_of(next.value);
      end += 1;
      c = next;
    }
  }
  std::size_t last = end;  // where the last code point of the run begins
  while (end < text.size() && class_of(c.value) == kind && end + c.size - at <= kMaxBpePiece) {
    last = end;
    end += c.size;
    if (end < text.size()) c = code_point_at(text, end);
  }
  // The last space of a run of white space goes to the word after it.
  const bool before_word = kind == Class::kSpace && end < text.size() && text[last] == ' ' &&
                           last > at && class_of(c.value) != Class::kSpace;
  return before_word ? last : end;
}

Bpe::Bpe(std::vector<BpeMerge> merges) : merges_(std::move(merges)) {
  if (merges_.size() > static_cast<std::size_t>(kMaxBpeTokens - kBytes)) {
    throw Error(Message{"bpe.too_many",
                        {{"limit", std::to_string(kMaxBpeTokens - kBytes)},
                         {"got", std::to_string(merges_.size())}}});
  }
  bytes_.reserve(kBytes + merges_.size());
  for (int byte = 0; byte < kBytes; ++byte) bytes_.emplace_back(1, static_cast<char>(byte));
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    const auto [left, right] = merges_[i];
    const int made = kBytes + static_cast<int>(i);
    if (left < 0 || right < 0 || left >= made || right >= made)
      fail_merge(i, Message{"bpe.merge.order", {{"last", std::to_string(made - 1)}}});
    std::string joined = bytes(left) + bytes(right);
    if (joined.size() > kMaxBpePiece) {
      fail_merge(i, Message{"bpe.merge.long",
                            {{"limit", std::to_string(kMaxBpePiece)},
                             {"got", std::to_string(joined.size())}}});
    }
    if (!made_.emplace(pair_key(left, right), made).second)
      fail_merge(i, Message{"bpe.merge.twice"});
    bytes_.push_back(std::move(joined));
  }
}

void Bpe::encode_piece(std::string_view piece, std::vector<int>& out) const {
  const std::size_t begin = out.size();
  for (const char byte : piece) out.push_back(static_cast<unsigned char>(byte));
  for (;;) {
    int best = std::numeric_limits<int>::max();
    std::size_t where = 0;
    for (std::size_t i = begin; i + 1 < out.size(); ++i) {
      const auto found = made_.find(pair_key(out[i], out[i + 1]));
      if (found == made_.end() || found->second >= best) continue;
      best = found->second;
      where = i;
    }
    if (best == std::numeric_limits<int>::max()) return;
    out[where] = best;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(where) + 1);
  }
}

std::vector<int> Bpe::encode(std::string_view text) const {
  std::vector<int> ids;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = bpe_piece_end(text, at);
    encode_piece(text.substr(at, end - at), ids);
    at = end;
  }
  return ids;
}

std::string Bpe::decode(std::span<const int> ids) const {
  std::string text;
  for (const int id : ids) {
    if (id < 0 || id >= size()) {
      throw Error(Message{"vocabulary.no_such_id",
                          {{"id", std::to_string(id)}, {"last", std::to_string(size() - 1)}}});
    }
    text += bytes(id);
  }
  return text;
}

}  // namespace headlight
