// Vocabularies and byte pairs: text goes in and comes back, files are read back or refused.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/utf8.h"
#include "core/text/bpe.h"
#include "core/text/vocabulary.h"
#include "tests/support/error_text.h"

namespace headlight::test_vocabulary {
namespace {

using Words = std::vector<std::string>;
using Ids = std::vector<int>;

constexpr Special kSome[] = {Special::kPad, Special::kMask};

const Words kStrange = {"",
                        "plain words, and more.",
                        "tab\tand\r\nline\nends  two  spaces ",
                        "👨\u200D👩\u200D👧 🇩🇪 👍🏽",
                        "שלום עולם",
                        "e\u0301 a\u0308 \u0301",
                        "我喜欢机器学习",
                        std::string("nul\0within", 10),
                        "\xFF\xC3(\xE2\x82 broken",
                        "<0xE4> [PAD] [MASKED] [ [MASK]",
                        std::string(700, 'a')};

std::string random_bytes(Random& random) {
  std::string text;
  for (auto n = random.below(60); n > 0; --n) {
    const bool known = random.percent(50);
    text += known ? kStrange[random.below(kStrange.size())].substr(0, random.below(9))
                  : std::string(1, static_cast<char>(random.below(256)));
  }
  return text;
}

std::string learned_text() {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the cat and the dog, שלום 我喜欢 " + std::to_string(i % 7);
  return text;
}

}  // namespace

TEST_CASE("bpe: merges on an example done by hand") {
  // aaabdaaabac, the example of Gage's paper: aa is the most frequent pair (4 places), then, of
  // ab and Za (2 each), the one with the smaller left token: ab; then Zab.
  const Bpe bpe = learn_bpe("aaabdaaabac", 300);
  const std::vector<BpeMerge> expected = {{'a', 'a'}, {'a', 'b'}, {256, 257}};
  CHECK(bpe.merges() == expected);
  CHECK(bpe.encode("aaabdaaabac") == Ids{258, 'd', 258, 'a', 'c'});
  CHECK(bpe.bytes(258) == "aaab");
  CHECK(bpe.encode("aaaa") == Ids{256, 256});
  CHECK(bpe.encode("ab") == Ids{257});
  CHECK(bpe.size() == 259);  // nothing else comes twice
  // Of merges that overlap, the one learned first is done.
  CHECK(Bpe({{'a', 'b'}, {'b', 'c'}}).encode("abc") == Ids{256, 'c'});
  CHECK(Bpe({{'b', 'c'}, {'a', 'b'}}).encode("abc") == Ids{'a', 256});
  // Counts are per place: abababab has ab four times, then (ab)(ab) twice, not three times.
  const std::vector<BpeMerge> pairs = {{'a', 'b'}, {256, 256}, {257, 257}};
  CHECK(learn_bpe("abababab abababab", 300).merges().size() >= 3);
  CHECK(learn_bpe(std::vector<PieceCount>{{"abababab", 5}}, 259).merges() == pairs);
}

namespace {

// The definition, in the slowest way: count all pairs again for each merge.
std::vector<BpeMerge> learned_slowly(const std::vector<PieceCount>& pieces, int tokens) {
  std::vector<Ids> rows;
  for (const PieceCount& piece : pieces) {
    rows.emplace_back();
    for (const char byte : piece.piece) rows.back().push_back(static_cast<unsigned char>(byte));
  }
  std::vector<BpeMerge> merges;
  for (int made = 256; made < tokens; ++made) {
    std::map<std::pair<int, int>, std::uint64_t> counts;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t i = 0; i + 1 < rows[r].size(); ++i)
        counts[{rows[r][i], rows[r][i + 1]}] += pieces[r].count;
    }
    std::pair<int, int> best;
    std::uint64_t most = 1;
    for (const auto& entry : counts) {
      if (entry.second <= most) continue;
      best = entry.first;
      most = entry.second;
    }
    if (most < 2) break;
    merges.push_back({best.first, best.second});
    for (Ids& row : rows) {
      Ids merged;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const bool here = i + 1 < row.size() && row[i] == best.first && row[i + 1] == best.second;
        merged.push_back(here ? made : row[i]);
        i += here;
      }
      row = merged;
    }
  }
  return merges;
}

}  // namespace

TEST_CASE("bpe: learning quickly is learning slowly, whatever the order of the pieces") {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> texts(1 + random.below(12));
    std::vector<PieceCount> pieces;
    for (std::string& text : texts) {
      for (auto n = random.below(14); n > 0; --n) text += static_cast<char>('a' + random.below(3));
      pieces.push_back({text, 1 + random.below(4)});
    }
    const auto merges = learn_bpe(pieces, 256 + 20).merges();
    CHECK(merges == learned_slowly(pieces, 256 + 20));
    std::reverse(pieces.begin(), pieces.end());
    CHECK(merges == learn_bpe(pieces, 256 + 20).merges());
  }
}

TEST_CASE("bpe: any bytes come back, from any learned text") {
  Random random(2);
  for (const Bpe& bpe : {Bpe(), learn_bpe(learned_text(), 320), learn_bpe("", 300)}) {
    for (const std::string& text : kStrange) CHECK(bpe.decode(bpe.encode(text)) == text);
    for (int i = 0; i < 500; ++i) {
      const std::string text = random_bytes(random);
      REQUIRE(bpe.decode(bpe.encode(text)) == text);
    }
  }
  const Bpe learned = learn_bpe(learned_text(), 320);
  CHECK(learned.size() > 290);
  CHECK(learned.encode(" the") == Ids{learned.encode(" the").at(0)});  // one token
  for (const std::string text : {"abc", "שלום 我喜欢 the cat"})
    CHECK(learned.encode(text).size() <= text.size());
}

TEST_CASE("bpe: pieces tile a text and end between characters") {
  const auto pieces = [](std::string_view text) {
    Words list;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = bpe_piece_end(text, at);
      REQUIRE(end > at);
      list.emplace_back(text.substr(at, end - at));
      at = end;
    }
    return list;
  };
  CHECK(pieces("the cat's 12 mats.\n\n  end ") ==
        Words{"the", " cat", "'", "s", " 12", " mats", ".", "\n\n ", " end", " "});
  CHECK(pieces("e\u0301a שלום") == Words{"e\u0301a", " שלום"});
  const Words long_ones = pieces(std::string(150, 'a'));
  REQUIRE(long_ones.size() == 3);
  CHECK(long_ones[0].size() == kMaxBpePiece);
  std::string chinese;
  for (int i = 0; i < 200; ++i) chinese += "我";
  for (const std::string& piece : pieces(chinese)) CHECK(clean_utf8(piece).replaced == 0);
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    std::string all, text = random_bytes(random);
    for (const std::string& piece : pieces(text)) all += piece;
    CHECK(all == text);
  }
}

TEST_CASE("bpe: bad sizes and merges are refused, and learning can be stopped") {
  CHECK_THROWS_AS((void)learn_bpe("abc", 256), UsageError);
  CHECK(error_of([] { (void)learn_bpe("abc", 65537); }) ==
        "byte pairs need 257 to 65536 tokens (256 are the bytes); got 65537");
  CHECK(error_of([] { Bpe({{'a', 256}}); }).starts_with("merge 1 of the byte pairs cannot be: "));
  CHECK(error_of([] { Bpe({{'a', 'b'}, {-1, 2}}); }).find("0 to 256") != std::string::npos);
  CHECK(error_of([] { Bpe({{'a', 'b'}, {'a', 'b'}}); }).find("before") != std::string::npos);
  std::vector<BpeMerge> doubling = {{'a', 'a'}};
  for (int i = 0; i < 6; ++i) doubling.push_back({256 + i, 256 + i});
  CHECK(error_of([&] { Bpe{doubling}; }).find("128 bytes; expected up to 64") != std::string::npos);
  CHECK_THROWS_AS((void)Bpe().decode(Ids{256}), Error);
  int calls = 0;
  const auto stop = [&](const Progress& progress) {
    CHECK((progress.share >= 0 && progress.share <= 1));
    return ++calls < 2;
  };
  CHECK_THROWS_AS((void)learn_bpe(learned_text(), 320, stop), Cancelled);
  CHECK(calls == 2);
}

TEST_CASE("vocabulary: words with specials, typed as a person types them") {
  const Vocabulary v(TextCut::kWords, {"[PAD]", "[UNK]", "[MASK]", "the", "cat", ".", "(", ")"});
  CHECK(v.size() == 8);
  CHECK(v.encode("the cat [MASK]the dog.") == Ids{3, 4, 2, 3, 1, 5});
  CHECK(v.encode("[mask]") == Ids{1, 1, 1});
  CHECK(v.decode(Ids{3, 4, 5, 6, 3, 7}) == "the cat. (the)");
  CHECK(v.id_of(Special::kMask) == 2);
  CHECK(!v.id_of(Special::kClass));
  CHECK(v.is_special(0));
  CHECK(!v.is_special(3));
  CHECK(!v.is_special(-1));
  CHECK(v.find("cat") == 4);
  CHECK(!v.find("dog"));
  const std::vector<PlacedToken> placed = v.encode_placed(" the[MASK] cat");
  const std::vector<PlacedToken> expected = {{3, 1, 4}, {2, 4, 10}, {4, 11, 14}};
  CHECK(placed == expected);
  Tokenizer kept(v.tokenizer_kind());
  CHECK(v.encode("the cat", &kept) == v.encode("the cat"));
  const Vocabulary copy = v;
  CHECK(copy.encode("cat") == Ids{4});
  CHECK(error_of([&] { (void)v.decode(Ids{3, 8}); }) == "there is no token 8; expected 0 to 7");

  const Vocabulary no_unknown(TextCut::kWords, {"the", "cat"});
  CHECK(
      error_of([&] { (void)no_unknown.encode("the zebra"); }) ==
      "the model does not know 'zebra'; its vocabulary has 2 tokens: the cat. Use these, or train "
      "on a text that has it");
  CHECK(error_of([&] { (void)no_unknown.encode("caat"); }).find("did you mean 'cat'?") !=
        std::string::npos);
  CHECK(no_unknown.encode("").empty());
}

TEST_CASE("vocabulary: strange text round trips by characters, bytes and byte pairs") {
  Words characters = {"[UNK]"};
  for (const std::string& text : kStrange) {
    Tokenizer tokenizer(TokenizerKind::kCharacters);
    for (const Token& token : tokenizer.tokenize(clean_utf8(text).text)) {
      if (std::find(characters.begin(), characters.end(), token.text) == characters.end())
        characters.push_back(token.text);
    }
  }
  const Vocabulary by_character(TextCut::kCharacters, characters);
  const Vocabulary all[] = {by_character, Vocabulary::of_bytes(kSome),
                            Vocabulary::of_bpe(learn_bpe(learned_text(), 320), kSome)};
  Random random(4);
  for (const Vocabulary& v : all) {
    CAPTURE(to_string(v.cut()));
    const bool exact = v.cut() != TextCut::kCharacters;
    for (const std::string& text : kStrange)
      CHECK(v.decode(v.encode(text)) == (exact ? text : clean_utf8(text).text));
    for (int i = 0; i < 300 && exact; ++i) {
      const std::string text = random_bytes(random);
      REQUIRE(v.decode(v.encode(text)) == text);
      std::size_t at = 0;
      for (const PlacedToken& token : v.encode_placed(text)) {
        REQUIRE(token.begin == at);
        REQUIRE(text.substr(at, token.end - at) == v.text_of(token.id));
        at = token.end;
      }
      REQUIRE(at == text.size());
    }
    const Vocabulary again = Vocabulary::from_json(v.to_json());
    CHECK(again == v);
    CHECK(again.to_json() == v.to_json());
    CHECK(again.encode(kStrange[3]) == v.encode(kStrange[3]));
  }
  CHECK(all[1].size() == 258);
  CHECK(all[1].token(0xE4) == "<0xE4>");
  CHECK(all[1].encode("a[MASK]\xE4") == Ids{'a', 257, 0xE4});
  CHECK(all[2].token(0xE4) == "<0xE4>");
  CHECK(!(all[1] == all[2]));
}

TEST_CASE("vocabulary: cuts have names") {
  for (const TextCut cut :
       {TextCut::kWords, TextCut::kCharacters, TextCut::kBytes, TextCut::kBpe, TextCut::kWordPiece})
    CHECK(text_cut_from_string(to_string(cut)) == cut);
  CHECK(!text_cut_from_string("Words"));
}

TEST_CASE("vocabulary: lists of tokens that cannot be are refused") {
  const auto refused = [](Words tokens) {
    return error_of([&] { Vocabulary(TextCut::kWords, tokens); });
  };
  CHECK(refused({}).starts_with("a vocabulary needs at least one token"));
  CHECK(refused({"a", ""}).starts_with("token 1 of the vocabulary is empty"));
  CHECK(refused({"a", "b", "a"}).find("twice, as 0 and as 2") != std::string::npos);
  CHECK(refused({"\xFF"}).starts_with("token 0 of the vocabulary is not UTF-8"));
  CHECK(refused({std::string(5000, 'a')}).find("5000 bytes; expected up to 4096") !=
        std::string::npos);
  Words many;
  for (int i = 0; i <= kMaxVocabulary; ++i) many.push_back(std::to_string(i));
  CHECK(
      refused(many).starts_with("a vocabulary may have up to 262,144 tokens; this one has "
                                "262,145."));
  CHECK_THROWS_AS(Vocabulary(TextCut::kBpe, Words{"a"}), UsageError);
}

TEST_CASE("vocabulary: malformed files are refused, and what is wrong is named") {
  const auto refused = [](std::string_view json) {
    return error_of([&] { (void)Vocabulary::from_json(json); });
  };
  const auto framed = [](const std::string& rest) {
    return R"({"format": "headlight vocabulary", "version": 1, )" + rest + "}";
  };
  struct Case {
    std::string json, message;
  };
  const std::string merged = Vocabulary::of_bpe(Bpe({{'a', 'b'}}), kSome).to_json();
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string json = merged;
    REQUIRE(json.find(from) != json.npos);
    json.replace(json.find(from), from.size(), to);
    return json;
  };
  const Case cases[] = {
      {"", "not whole JSON"},
      {merged.substr(0, merged.size() / 2), "Was it cut off"},
      {"[1, 2]", "not a Headlight vocabulary"},
      {R"({"format": "other"})", "not a Headlight vocabulary"},
      {std::string(100, '[') + std::string(100, ']'), "more than 8 levels"},
      {R"({"format": "headlight vocabulary"})", "lacks 'version'"},
      {R"({"format": "headlight vocabulary", "version": 0})", "'version' should be version 1"},
      {R"({"format": "headlight vocabulary", "version": 2})",
       "has version 2; this Headlight reads"},
      {framed(R"("cut": "Words")"),
       "'cut' should be one of words, wordpiece, characters, bytes, bpe"},
      {framed(R"("cut": "words")"), "lacks 'tokens'"},
      {framed(R"("cut": "words", "tokens": {})"), "'tokens' should be a list of texts"},
      {framed(R"("cut": "words", "tokens": ["a", 7])"), "'tokens[1]' should be a list of texts"},
      {framed(R"("cut": "words", "tokens": [])"), "at least one token"},
      {framed(R"("cut": "words", "tokens": ["a", "a"])"), "twice"},
      {framed("\"cut\": \"words\", \"tokens\": [\"\xFF\"]"), "not whole JSON"},
      {framed(R"("cut": "bytes", "tokens": ["a"])"), "'tokens[0]' should be “<0x00>”"},
      {framed(R"("cut": "bpe", "tokens": [])"), "lacks 'merges'"},
      {framed(R"("cut": "bpe", "tokens": [], "merges": [])"), "lacks 'tokens[0]'"},
      {changed("[97, 98]", "[97, -1]"), "'merges[0]' should be a list of [left, right] pairs"},
      {changed("[97, 98]", "[97, 98, 3]"), "'merges[0]'"},
      {changed("[97, 98]", "[97, 256]"), "merge 1 of the byte pairs cannot be"},
      {changed("\"ab\"", "\"ac\""),
       "'tokens[256]' should be “ab”, as the bytes and merges make it"},
      {changed("[MASK]", "mask"), "'tokens[258]' should be a special token"},
      {changed("[MASK]", "[PAD]"), "twice"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.json);
    const std::string message = refused(c.json);
    CAPTURE(message);
    CHECK(message.find(c.message) != std::string::npos);
  }
  CHECK(Vocabulary::from_json(merged).size() == 259);
}

}  // namespace headlight::test_vocabulary
