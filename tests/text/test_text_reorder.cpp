// Words in another order: the tokens are permuted, spaces stay sensible, nothing is lost.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/utf8.h"
#include "core/text/reorder.h"

namespace headlight::test_text_reorder {
namespace {

std::vector<std::string> cut(const std::string& text, TokenizerKind kind) {
  std::vector<std::string> words;
  for (const Token& t : Tokenizer(kind).tokenize(text)) words.push_back(t.text);
  return words;
}

std::string moved(const std::string& text, int from, int to,
                  TokenizerKind kind = TokenizerKind::kWords) {
  return move_token(text, kind, from, to).text;
}

}  // namespace

TEST_CASE("reorder: words take their spaces along") {
  CHECK(moved("the cat sat", 1, 0) == "cat the sat");
  CHECK(moved("the cat sat", 0, 2) == "cat sat the");
  CHECK(moved("the cat sat", 0, 99) == "cat sat the");
  CHECK(moved("the cat sat", 2, -5) == "sat the cat");
  CHECK(moved("the cat sat.", 3, 0) == ".the cat sat");
  CHECK(moved("  the  cat\nsat ", 2, 1) == "  the\nsat  cat ");
  CHECK(moved("a, b", 1, 2) == "a b,");
}

TEST_CASE("reorder: nothing happens where nothing can be moved") {
  for (const int from : {-1, 3, 99}) CHECK(moved("the cat sat", from, 0) == "the cat sat");
  CHECK(moved("the cat sat", 1, 1) == "the cat sat");
  CHECK(moved("one", 0, 5) == "one");
  CHECK(moved("", 0, 0).empty());
  CHECK(moved("   ", 0, 1) == "   ");
}

TEST_CASE("reorder: words that would run together get a space") {
  CHECK(moved("cat,sat", 1, 2) == "cat sat ,");
  CHECK(moved("(a)(b)", 4, 0) == "b(a)()");
}

TEST_CASE("reorder: every move permutes the tokens") {
  const std::vector<std::string> texts = {
      "The animal didn't cross the street because it was too tired",
      "one, two; (three) \"four\"!? 5.6 -7",
      "caf\u00e9 \u6211\u559c\u6b22\u732b\u3002 \u05e9\u05dc\u05d5\u05dd \U0001F600\U0001F601 x",
      "a b"};
  for (const std::string& text : texts) {
    for (const TokenizerKind kind : {TokenizerKind::kWords, TokenizerKind::kCharacters}) {
      const std::vector<std::string> before = cut(text, kind);
      const int n = static_cast<int>(before.size());
      for (int from = 0; from < n; from += kind == TokenizerKind::kWords ? 1 : 5) {
        for (int to = 0; to < n; to += kind == TokenizerKind::kWords ? 1 : 7) {
          CAPTURE(text);
          CAPTURE(from);
          CAPTURE(to);
          std::vector<std::string> expected = before;
          expected.erase(expected.begin() + from);
          expected.insert(expected.begin() + to, before[static_cast<std::size_t>(from)]);
          const Reordered result = move_token(text, kind, from, to);
          CHECK(cut(result.text, kind) == expected);
          for (std::size_t i = 0; i < before.size(); ++i) {
            CHECK(expected[result.new_place[i]] == before[i]);
          }
        }
      }
    }
  }
}

TEST_CASE("reorder: a byte takes its character along, so the text stays whole") {
  const std::string text = "a\u00e9\u6211\U0001F600b";
  for (int from = 0; from < static_cast<int>(text.size()); ++from) {
    for (int to = 0; to < static_cast<int>(text.size()); ++to) {
      CAPTURE(from);
      CAPTURE(to);
      const Reordered result = move_token(text, TokenizerKind::kBytes, from, to);
      CHECK(clean_utf8(result.text).replaced == 0);
      std::string sorted = result.text, original = text;
      std::sort(sorted.begin(), sorted.end());
      std::sort(original.begin(), original.end());
      CHECK(sorted == original);
      for (std::size_t i = 0; i < text.size(); ++i) {
        CHECK(result.text[result.new_place[i]] == text[i]);
      }
    }
  }
  CHECK(moved("ab\u00e9", 2, 0, TokenizerKind::kBytes) ==
        "\u00e9"
        "ab");
  CHECK(moved("ab\u00e9", 3, 0, TokenizerKind::kBytes) ==
        "\u00e9"
        "ab");
}

}  // namespace headlight::test_text_reorder
