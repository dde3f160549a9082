#include "core/text/reorder.h"

#include <algorithm>
#include <numeric>

namespace headlight {
namespace {

// Tokens first..last that move as one: a character's bytes stay together.
struct Block {
  std::int64_t first = 0, last = 0;
};

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

Block block_at(std::string_view sentence, TokenizerKind kind, std::int64_t at) {
  Block b{at, at};
  if (kind != TokenizerKind::kBytes) return b;
  const auto continues = [&](std::int64_t i) {
    return is_continuation(sentence[static_cast<std::size_t>(i)]);
  };
  while (b.first > 0 && continues(b.first)) --b.first;
  while (b.last + 1 < static_cast<std::int64_t>(sentence.size()) && continues(b.last + 1)) ++b.last;
  return b;
}

// Old places in the new order.
std::vector<std::size_t> new_order(std::string_view sentence, TokenizerKind kind, std::size_t count,
                                   std::int64_t from, std::int64_t to) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Block moved = block_at(sentence, kind, from);
  const std::int64_t width = moved.last - moved.first + 1;
  const std::int64_t last = static_cast<std::int64_t>(count) - width;
  to = std::clamp<std::int64_t>(to, 0, last);
  std::vector<std::size_t> block(order.begin() + moved.first, order.begin() + moved.last + 1);
  order.erase(order.begin() + moved.first, order.begin() + moved.last + 1);
  // Not into the middle of another character: past it when moving right, before it when moving
  // left.
  const auto inside = [&](std::int64_t place) {
    return kind == TokenizerKind::kBytes && place > 0 && place < last &&
           is_continuation(sentence[order[static_cast<std::size_t>(place)]]);
  };
  while (inside(to)) to += to > moved.first ? 1 : -1;
  order.insert(order.begin() + to, block.begin(), block.end());
  return order;
}

std::string joined(std::string_view sentence, const std::vector<Token>& tokens,
                   const std::vector<std::size_t>& order, const std::vector<std::string>& gaps) {
  std::string text(sentence.substr(0, tokens.front().begin));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Token& token = tokens[order[i]];
    if (i > 0) text += gaps[i];
    text += sentence.substr(token.begin, token.end - token.begin);
  }
  return text + std::string(sentence.substr(tokens.back().end));
}

bool cuts_as(Tokenizer& tokenizer, const std::string& text, const std::vector<Token>& tokens,
             const std::vector<std::size_t>& order) {
  const std::vector<Token> now = tokenizer.tokenize(text);
  return std::equal(now.begin(), now.end(), order.begin(), order.end(),
                    [&](const Token& t, std::size_t old) { return t.text == tokens[old].text; });
}

}  // namespace

Reordered move_token(std::string_view sentence, TokenizerKind kind, std::int64_t from,
                     std::int64_t to, std::string_view whole) {
  Tokenizer tokenizer(kind);
  tokenizer.keep_whole(whole);
  const std::vector<Token> tokens = tokenizer.tokenize(sentence);
  Reordered result;
  result.text = sentence;
  result.new_place.resize(tokens.size());
  std::iota(result.new_place.begin(), result.new_place.end(), std::size_t{0});
  if (from < 0 || from >= static_cast<std::int64_t>(tokens.size())) return result;
  const std::vector<std::size_t> order = new_order(sentence, kind, tokens.size(), from, to);
  if (order == result.new_place) return result;
  for (std::size_t i = 0; i < order.size(); ++i) result.new_place[order[i]] = i;

  // The space before each token; what stood first has none of its own and takes that of the new
  // first.
  const auto gap_before = [&](std::size_t old) {
    const std::size_t owner = old == 0 ? order[0] : old;
    if (owner == 0) return std::string();
    return std::string(
        sentence.substr(tokens[owner - 1].end, tokens[owner].begin - tokens[owner - 1].end));
  };
  std::vector<std::string> gaps(order.size());
  for (std::size_t i = 1; i < order.size(); ++i) gaps[i] = gap_before(order[i]);
  result.text = joined(sentence, tokens, order, gaps);
  if (kind != TokenizerKind::kWords || cuts_as(tokenizer, result.text, tokens, order))
    return result;
  // Words ran together: a space between new neighbours, and if that is not enough between all.
  for (const bool everywhere : {false, true}) {
    for (std::size_t i = 1; i < order.size(); ++i) {
      const bool new_pair = order[i] != order[i - 1] + 1;
      if (gaps[i].empty() && (new_pair || everywhere)) gaps[i] = " ";
    }
    result.text = joined(sentence, tokens, order, gaps);
    if (cuts_as(tokenizer, result.text, tokens, order)) break;
  }
  return result;
}

}  // namespace headlight
