#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/utf8.h"
#include "core/text/tokenizer.h"

namespace headlight::test_text_tokenizer {

using headlight::clean_utf8;

namespace {

using Strings = std::vector<std::string>;

constexpr TokenizerKind kKinds[] = {TokenizerKind::kWords, TokenizerKind::kCharacters,
                                    TokenizerKind::kBytes};

Strings texts_of(const std::vector<Token>& tokens) {
  Strings out;
  for (const Token& t : tokens) out.push_back(t.text);
  return out;
}

Strings cut(TokenizerKind kind, std::string_view text) {
  return texts_of(Tokenizer(kind).tokenize(text));
}

std::string random_text(std::mt19937& rng) {
  static const Strings kPieces = {"word", " ",  "\n",     "é",      "e\u0301", "我喜欢", "👨\u200D👩",
                                  "\x01", "\t", "don't",  "\u200B", "שלום",    "\xFF",   "\r\n",
                                  "...",  "🇩🇪", "\u0301", "สวัสดี",   "3.14",    "\u3000"};
  std::string out;
  for (std::size_t n = rng() % 15; n > 0; --n) {
    if (rng() % 4) {
      out += kPieces[rng() % kPieces.size()];
    } else {
      out += static_cast<char>(rng() & 0xFF);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("tokenizer kinds have names") {
  for (const TokenizerKind kind : kKinds) {
    CHECK(headlight::tokenizer_from_string(headlight::to_string(kind)) == kind);
    CHECK(Tokenizer(kind).kind() == kind);
  }
  CHECK(headlight::to_string(TokenizerKind::kWords) == "words");
  CHECK(headlight::to_string(TokenizerKind::kCharacters) == "characters");
  CHECK(headlight::to_string(TokenizerKind::kBytes) == "bytes");
  CHECK(!headlight::tokenizer_from_string("Words"));
}

TEST_CASE("words: English") {
  CHECK(
      cut(TokenizerKind::kWords, "The animal didn't cross the street because it was too tired.") ==
      Strings{"The", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too",
              "tired", "."});
  CHECK(cut(TokenizerKind::kWords, "  a,\t\n b ") == Strings{"a", ",", "b"});
  CHECK(cut(TokenizerKind::kWords, "3.14 ...") == Strings{"3.14", ".", ".", "."});
}

TEST_CASE("words: scripts without spaces are cut by dictionary") {
  CHECK(cut(TokenizerKind::kWords, "我喜欢机器学习") == Strings{"我", "喜欢", "机器", "学习"});
  CHECK(cut(TokenizerKind::kWords, "สวัสดีครับ") == Strings{"สวัสดี", "ครับ"});
  CHECK(cut(TokenizerKind::kWords, "今日は天気").size() == 3);
}

TEST_CASE("words: right to left, in logical order") {
  CHECK(cut(TokenizerKind::kWords, "שלום עולם") == Strings{"שלום", "עולם"});
  CHECK(cut(TokenizerKind::kWords, "السلام عليكم") == Strings{"السلام", "عليكم"});
}

TEST_CASE("words: control characters are not lost") {
  CHECK(cut(TokenizerKind::kWords, "a\x01\x02 b") == Strings{"a", "\x01", "\x02", "b"});
  CHECK(cut(TokenizerKind::kWords, std::string("a\0b", 3)) ==
        Strings{"a", std::string(1, '\0'), "b"});
}

TEST_CASE("characters are what a person counts") {
  CHECK(cut(TokenizerKind::kCharacters, "a b") == Strings{"a", " ", "b"});
  CHECK(cut(TokenizerKind::kCharacters, "e\u0301x") == Strings{"e\u0301", "x"});
  CHECK(cut(TokenizerKind::kCharacters, "👨\u200D👩\u200D👧\u200D👦!") ==
        Strings{"👨\u200D👩\u200D👧\u200D👦", "!"});
  CHECK(cut(TokenizerKind::kCharacters, "🇩🇪🇫🇷") == Strings{"🇩🇪", "🇫🇷"});
  CHECK(cut(TokenizerKind::kCharacters, "👍🏽") == Strings{"👍🏽"});
  CHECK(cut(TokenizerKind::kCharacters, "我喜") == Strings{"我", "喜"});
  CHECK(cut(TokenizerKind::kCharacters, "\r\n\n") == Strings{"\r\n", "\n"});
}

TEST_CASE("bytes") {
  CHECK(cut(TokenizerKind::kBytes, "aä ~") == Strings{"a", "<0xC3>", "<0xA4>", " ", "~"});
  CHECK(cut(TokenizerKind::kBytes, std::string("\0\n\x7F", 3)) ==
        Strings{"<0x00>", "<0x0A>", "<0x7F>"});
  CHECK(cut(TokenizerKind::kBytes, "\xFF") == Strings{"<0xFF>"});
}

TEST_CASE("an empty sentence has no tokens") {
  for (const TokenizerKind kind : kKinds) {
    Tokenizer tokenizer(kind);
    bool truncated = true;
    CHECK(tokenizer.tokenize("", 5, &truncated).empty());
    CHECK(!truncated);
    CHECK(tokenizer.tokenize({}).empty());
    CHECK(tokenizer.count("") == 0);
  }
}

TEST_CASE("tokens tile random text in order") {
  std::mt19937 rng(4);
  Tokenizer tokenizers[] = {Tokenizer(kKinds[0]), Tokenizer(kKinds[1]), Tokenizer(kKinds[2])};
  for (int i = 0; i < 2000; ++i) {
    const std::string text = clean_utf8(random_text(rng)).text;
    CAPTURE(text);
    for (Tokenizer& tokenizer : tokenizers) {
      const std::vector<Token> tokens = tokenizer.tokenize(text);
      REQUIRE(tokenizer.count(text) == tokens.size());
      std::size_t at = 0;
      std::string dropped;
      for (const Token& t : tokens) {
        REQUIRE(t.begin >= at);
        REQUIRE(t.begin < t.end);
        REQUIRE(t.end <= text.size());
        dropped += text.substr(at, t.begin - at);
        if (tokenizer.kind() != TokenizerKind::kBytes) {
          REQUIRE(t.text == text.substr(t.begin, t.end - t.begin));
          REQUIRE(clean_utf8(t.text).replaced == 0);
        }
        at = t.end;
      }
      dropped += text.substr(at);
      if (tokenizer.kind() != TokenizerKind::kWords) REQUIRE(dropped.empty());
      for (const char32_t c : headlight::to_code_points(dropped)) {
        const bool white = c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x3000;
        REQUIRE(white);
      }
    }
  }
}

TEST_CASE("a tokenizer gives the same answer again, after other texts and after a move") {
  Tokenizer a(TokenizerKind::kWords);
  const Strings first = texts_of(a.tokenize("one two three"));
  { (void)a.tokenize(std::string(1000, 'x') + " 我喜欢机器学习"); }
  CHECK(texts_of(a.tokenize("one two three")) == first);
  Tokenizer b = std::move(a);
  CHECK(texts_of(b.tokenize("one two three")) == first);
  a = Tokenizer(TokenizerKind::kBytes);
  CHECK(a.count("abc") == 3);
}

TEST_CASE("texts that are kept whole are one token each, wherever they stand") {
  Tokenizer tokenizer(TokenizerKind::kWords);
  const auto texts = [&](std::string_view sentence) {
    const std::vector<Token> tokens = tokenizer.tokenize(sentence);
    for (const Token& t : tokens) CHECK(sentence.substr(t.begin, t.end - t.begin) == t.text);
    return texts_of(tokens);
  };
  tokenizer.keep_whole("[SEP] [MASK]");
  CHECK(texts("a [MASK] b[SEP]c") == Strings{"a", "[MASK]", "b", "[SEP]", "c"});
  CHECK(texts("[SEP][SEP] [MASK]") == Strings{"[SEP]", "[SEP]", "[MASK]"});
  CHECK(texts("[MASK [SEP]") == Strings{"[", "MASK", "[SEP]"});
  tokenizer.keep_whole("[MASK]");
  CHECK(texts("[MASK][SEP]") == Strings{"[MASK]", "[", "SEP", "]"});
  tokenizer.keep_whole("");
  CHECK(texts("[MASK]") == Strings{"[", "MASK", "]"});
}

TEST_CASE("max_tokens cuts the list and says so") {
  for (const TokenizerKind kind : kKinds) {
    Tokenizer tokenizer(kind);
    const std::string text = "one two three";
    const std::vector<Token> all = tokenizer.tokenize(text);
    for (std::size_t max = 0; max <= all.size() + 1; ++max) {
      bool truncated = false;
      const std::vector<Token> some = tokenizer.tokenize(text, max, &truncated);
      CHECK(truncated == (max < all.size()));
      REQUIRE(some.size() == std::min(max, all.size()));
      for (std::size_t i = 0; i < some.size(); ++i) CHECK(some[i] == all[i]);
    }
  }
  // White space after the last token is not a token that was cut off.
  bool truncated = true;
  CHECK(Tokenizer(TokenizerKind::kWords).tokenize("one two  ", 2, &truncated).size() == 2);
  CHECK(!truncated);
}

TEST_CASE("cutting a sentence of 32 words is quick") {
  std::string text;
  for (int i = 0; i < 32; ++i) text += "word ";
  Tokenizer tokenizer(TokenizerKind::kWords);
  REQUIRE(tokenizer.count(text) == 32);
  const auto start = std::chrono::steady_clock::now();
  constexpr int kRepeats = 200;
  for (int i = 0; i < kRepeats; ++i) (void)tokenizer.tokenize(text);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  // About 3 us in a release build; opening an iterator each time would take milliseconds.
  CHECK(took.count() / kRepeats < 500);
}

}  // namespace headlight::test_text_tokenizer
