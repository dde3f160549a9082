// WordPiece: what is learned, against the definition done slowly; how words are cut; what comes
// back from a file; what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/random.h"
#include "core/text/vocabulary.h"
#include "core/text/word_pieces.h"
#include "tests/support/error_text.h"

namespace headlight::test_word_pieces {
namespace {

using Words = std::vector<std::string>;
using Ids = std::vector<int>;

// The definition: all counts taken again for each piece. Of pieces by their texts, so that nothing
// is shared with the learner.
Words learned_slowly(const std::vector<PieceCount>& words, std::size_t pieces) {
  std::vector<Words> rows;
  Words made;
  for (const PieceCount& word : words) {
    Words row;
    for (std::size_t i = 0; i < word.piece.size(); ++i)
      row.push_back((i ? "##" : "") + std::string(1, word.piece[i]));
    rows.push_back(row);
    made.insert(made.end(), row.begin(), row.end());
  }
  const auto first = [](const std::string& a, const std::string& b) {
    const bool x = goes_on_with_word(a), y = goes_on_with_word(b);
    return x != y ? y : a < b;
  };
  std::sort(made.begin(), made.end(), first);
  made.erase(std::unique(made.begin(), made.end()), made.end());
  while (made.size() < pieces) {
    std::map<std::string, double> f;
    std::map<std::pair<int, int>, double> pairs;
    double all = 0;
    const auto number = [&](const std::string& piece) {
      return static_cast<int>(std::find(made.begin(), made.end(), piece) - made.begin());
    };
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t i = 0; i < rows[r].size(); ++i) {
        const auto n = static_cast<double>(words[r].count);
        f[rows[r][i]] += n;
        all += n;
        if (i > 0) pairs[{number(rows[r][i - 1]), number(rows[r][i])}] += n;
      }
    }
    double most = 0;
    std::pair<int, int> best{-1, -1};
    for (const auto& [pair, n] : pairs) {
      const double a = f[made[static_cast<std::size_t>(pair.first)]],
                   b = f[made[static_cast<std::size_t>(pair.second)]];
      const double gain = n * std::log(n * all / (a * b));
      if (n < 2 || gain <= most) continue;  // of equal ones the first
      most = gain;
      best = pair;
    }
    if (best.first < 0) break;
    const std::string left = made[static_cast<std::size_t>(best.first)],
                      right = made[static_cast<std::size_t>(best.second)],
                      joined = left + right.substr(2);
    if (number(joined) == static_cast<int>(made.size())) made.push_back(joined);
    for (Words& row : rows) {
      for (std::size_t i = 0; i + 1 < row.size(); ++i) {
        if (row[i] != left || row[i + 1] != right) continue;
        row[i] = joined;
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
  }
  return made;
}

Vocabulary pieces_of_words(Words tokens) {
  tokens.insert(tokens.begin(), {"[UNK]", "[MASK]"});
  return {TextCut::kWordPiece, std::move(tokens)};
}

}  // namespace

TEST_CASE("wordpiece: likelihood, not frequency, decides") {
  // hu stands 10 times in 20 pieces beside h (10) and ##u (10): 10 · log(10 · 32 / 100) = 11.6. The
  // pair x ##y comes 4 times, with nothing else: 4 · log(4 · 32 / 16) = 8.3.
  const std::vector<PieceCount> words = {{"hu", 10}, {"xy", 4}, {"q", 4}};
  const Words pieces = learn_word_pieces(words, 7);
  CHECK(pieces == Words{"h", "q", "x", "##u", "##y", "hu", "xy"});
  // z ##w is the rarest pair, but its parts stand nowhere else: 15 · log(15 · 142 / 225) = 34. Of
  // e ##b and c ##a (20 each) the parts are known from elsewhere: 20 · log(20 · 142 / 720) = 27.
  const std::vector<PieceCount> often = {{"ea", 16}, {"eb", 20}, {"ca", 20}, {"zw", 15}};
  CHECK(learn_word_pieces(often, 7).back() == "zw");
}

TEST_CASE("wordpiece: learning quickly is learning slowly, whatever the order of the words") {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, std::uint64_t> counts;
    for (auto words = 1 + random.below(14); words > 0; --words) {
      std::string word;
      for (auto n = 1 + random.below(9); n > 0; --n)
        word += static_cast<char>('a' + random.below(3));
      counts[word] += 1 + random.below(5);
    }
    std::vector<PieceCount> words;
    for (const auto& [word, count] : counts) words.push_back({word, count});
    const Words learned = learn_word_pieces(words, 20);
    CHECK(learned == learned_slowly(words, 20));
    std::reverse(words.begin(), words.end());
    CHECK(learned == learn_word_pieces(words, 20));
  }
}

TEST_CASE("wordpiece: always the longest piece that fits, and [UNK] for a whole word") {
  const Vocabulary v =
      pieces_of_words({"un", "una", "##a", "##aff", "##able", "##ff", "able", "."});
  const auto texts = [&](std::string_view text) {
    Words tokens;
    for (const int id : v.encode(text)) tokens.push_back(v.token(id));
    return tokens;
  };
  CHECK(texts("unaffable") == Words{"una", "##ff", "##able"});
  CHECK(texts("able.") == Words{"able", "."});
  // una, then nothing begins with x: not "una [UNK]", and not un either.
  CHECK(texts("unax able") == Words{"[UNK]", "able"});
  CHECK(texts(std::string(kMaxPieceWord + 1, 'a')) == Words{"[UNK]"});
  // Each piece knows its place, and the pieces of a word are joined again.
  const std::vector<PlacedToken> placed = v.encode_placed("able unaffable");
  CHECK(placed == std::vector<PlacedToken>{{8, 0, 4}, {3, 5, 8}, {7, 8, 10}, {6, 10, 14}});
  CHECK(v.decode(v.encode("able unaffable .")) == "able unaffable.");
  CHECK(v.text_of(*v.find("##able")) == "able");
  CHECK(v.goes_on(*v.find("##able")));
  CHECK(!v.goes_on(*v.find("able")));
}

TEST_CASE("wordpiece: what stands right behind [MASK] goes on with its word") {
  const Vocabulary v = pieces_of_words({"un", "##able", "able", ".", "##."});
  CHECK(v.encode("[MASK]able") == Ids{1, *v.find("##able")});
  CHECK(v.encode("[MASK] able") == Ids{1, *v.find("able")});
  CHECK(v.encode("un [MASK].") == Ids{*v.find("un"), 1, *v.find(".")});
  const Ids hidden = {1, *v.find("##able"), *v.find("able"), 1};
  CHECK(v.decode(hidden) == "[MASK]able able [MASK]");
  CHECK(v.encode(v.decode(hidden)) == hidden);
}

TEST_CASE(
    "wordpiece: a file gives the same vocabulary; too small a one says how many there must be") {
  const std::vector<PieceCount> words = {{"\u00e9t\u00e9", 3}, {"tee", 2}, {"\u6211", 1}};
  Words tokens = learn_word_pieces(words, 12);
  // é, t and 我 begin words; é, t and e go on with them.
  CHECK(tokens[0] == "t");
  CHECK(tokens[2] == "\u6211");
  tokens.insert(tokens.begin(), "[UNK]");
  const Vocabulary v(TextCut::kWordPiece, tokens);
  const Vocabulary again = Vocabulary::from_json(v.to_json());
  CHECK(again == v);
  CHECK(again.cut() == TextCut::kWordPiece);
  CHECK(again.encode("\u00e9t\u00e9 tee x") == v.encode("\u00e9t\u00e9 tee x"));
  CHECK(v.knows("\u00e9t\u00e9"));
  CHECK(!v.knows("x"));
  const std::string problem = error_of([&] { (void)learn_word_pieces(words, 5, 2); });
  CHECK(problem.find("at least 8 tokens") != problem.npos);
  CHECK(problem.find("the 6 characters") != problem.npos);
  CHECK(problem.find("got 7") != problem.npos);
}

}  // namespace headlight::test_word_pieces
