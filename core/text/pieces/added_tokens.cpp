#include "core/text/pieces/added_tokens.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/text/pieces/piece_unicode.h"
#include "core/text/special_tokens.h"

namespace headlight {
namespace {

// Does a word end right before this place?
bool word_before(std::string_view text, std::size_t at) {
  if (at == 0) return false;
  std::size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    --begin;
  const CodePoint c = point_at(text, begin);
  return c.valid && is_word_character(c.value);
}

bool word_behind(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const CodePoint c = point_at(text, at);
  return c.valid && is_word_character(c.value);
}

// Where the white space that ends at `end` begins, not before `begin`.
std::size_t blanks_begin(std::string_view text, std::size_t begin, std::size_t end) {
  std::size_t from = end;
  for (std::size_t at = begin; at < end;) {
    const CodePoint c = point_at(text, at);
    const bool blank = c.valid && is_white_space(c.value);
    if (!blank) {
      from = end;
    } else if (from == end) {
      from = at;
    }
    at += c.size;
  }
  return from;
}

std::size_t blanks_behind(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const CodePoint c = point_at(text, at);
    if (!c.valid || !is_white_space(c.value)) break;
    at += c.size;
  }
  return at;
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const PieceJson& json) {
  std::vector<AddedToken> tokens;
  for (const PieceJson& item : json.items()) {
    item.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedToken token;
    token.id = item.at("id").integer(0, kMaxVocabulary - 1);
    token.content = item.at("content").text();
    if (token.content.empty()) item.at("content").fail(Message{"pieces.expected.some_text"});
    if (token.content.size() > kMaxTokenBytes)
      item.at("content").fail(Message{"pieces.expected.short"});
    token.special = item.boolean("special", false);
    token.left_blanks = item.boolean("lstrip", false);
    token.right_blanks = item.boolean("rstrip", false);
    token.single_word = item.boolean("single_word", false);
    token.normalized = item.boolean("normalized", !token.special);
    tokens.push_back(std::move(token));
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return tokens;
}

void AddedTokenFinder::add(const AddedToken& token, const std::string& written) {
  if (written.empty()) return;
  lengths_.resize(256);
  if (!tokens_.emplace(written, token).second) return;
  lengths_[static_cast<unsigned char>(written[0])].push_back(written.size());
}

void AddedTokenFinder::finish() {
  for (std::vector<std::size_t>& lengths : lengths_) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
}

const AddedToken* AddedTokenFinder::at(std::string_view text, std::size_t place,
                                       std::size_t& length) const {
  for (const std::size_t candidate : lengths_[static_cast<unsigned char>(text[place])]) {
    if (place + candidate > text.size()) continue;
    const auto found = tokens_.find(std::string(text.substr(place, candidate)));
    if (found == tokens_.end()) continue;
    length = candidate;
    return &found->second;
  }
  return nullptr;
}

std::vector<AddedTokenFinder::Part> AddedTokenFinder::parts(std::string_view text) const {
  std::vector<Part> parts;
  std::size_t done = 0;
  for (std::size_t place = 0; !tokens_.empty() && place < text.size();) {
    std::size_t length = 1;
    const AddedToken* token = at(text, place, length);
    const std::size_t found = place;
    place += length;
    if (!token || found < done) continue;
    if (token->single_word && (word_before(text, found) || word_behind(text, place))) continue;
    const std::size_t begin = token->left_blanks ? blanks_begin(text, done, found) : found;
    const std::size_t end = token->right_blanks ? blanks_behind(text, place) : place;
    if (begin > done) parts.push_back({{done, begin}, std::nullopt});
    parts.push_back({{begin, end}, token->id});
    done = end;
  }
  if (done < text.size()) parts.push_back({{done, text.size()}, std::nullopt});
  return parts;
}

}  // namespace headlight
