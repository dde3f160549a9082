// The models of tokenizers against their definitions done slowly, and their options.
#include <doctest/doctest.h>

#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/base/message.h"
#include "core/base/random.h"
#include "core/text/unknown_words.h"
#include "core/text/vocabulary.h"
#include "tests/support/error_text.h"
#include "tests/text/piece_cases.h"

namespace headlight::test::test_piece_models {
namespace {

Json bpe(const std::vector<std::string>& pieces, const std::vector<std::string>& merges,
         const Json& others = Json::object()) {
  Json model = {{"type", "BPE"}, {"vocab", vocab_of(pieces)}, {"merges", merges}};
  model.update(others);
  return tokenizer_of(model);
}

const std::vector<std::string> kPieces = {"a", "b", "c", "ab", "bc", "abc", "aa", "aab", "<unk>"};
const std::vector<std::string> kMerges = {"a b", "b c", "a a", "ab c", "aa b", "a bc"};

// Of all merges that fit the first in the list, of these the leftmost.
std::string slowly(std::string word) {
  std::vector<std::string> all;
  for (const char c : word) all.emplace_back(1, c);
  for (bool found = true; found;) {
    found = false;
    for (std::size_t m = 0; m < kMerges.size() && !found; ++m) {
      const std::size_t blank = kMerges[m].find(' ');
      for (std::size_t i = 0; i + 1 < all.size() && !found; ++i) {
        if (all[i] != kMerges[m].substr(0, blank) || all[i + 1] != kMerges[m].substr(blank + 1))
          continue;
        all[i] += all[i + 1];
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        found = true;
      }
    }
  }
  std::string text;
  for (const std::string& piece : all) text += (text.empty() ? "" : " ") + piece;
  return text;
}

}  // namespace

TEST_CASE("pieces: merges by rank, short words and long ones, as by the definition") {
  const PieceTokenizer tokenizer = opened(bpe(kPieces, kMerges));
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    std::string word;
    const auto size = i % 3 == 0 ? 60 + random.below(200) : random.below(30);
    for (std::uint64_t k = 0; k < size; ++k) word += static_cast<char>('a' + random.below(3));
    CAPTURE(word);
    CHECK(cut_of(tokenizer, word) == slowly(word));
  }
  // The same with pairs as lists.
  Json pairs = bpe(kPieces, {});
  for (const std::string& merge : kMerges) {
    const std::size_t blank = merge.find(' ');
    pairs["model"]["merges"].push_back({merge.substr(0, blank), merge.substr(blank + 1)});
  }
  CHECK(cut_of(opened(pairs), "aabcabc") == slowly("aabcabc"));
  // A pair that is there twice has the rank of the last.
  CHECK(cut_of(opened(bpe({"a", "b", "c", "ab", "bc"}, {"a b", "b c", "a b"})), "abc") == "a bc");
}

TEST_CASE("pieces: a word of a megabyte ends") {
  const PieceTokenizer tokenizer = opened(bpe(kPieces, kMerges));
  std::string word;
  Random random(4);
  for (int i = 0; i < 1 << 20; ++i) word += static_cast<char>('a' + random.below(3));
  const std::vector<PlacedToken> tokens = tokenizer.encode(word);
  REQUIRE(!tokens.empty());
  CHECK(tokens.back().end == word.size());
}

TEST_CASE("pieces: options of BPE") {
  const auto cut = [&](const Json& others, const std::string& text) {
    return cut_of(opened(bpe(kPieces, kMerges, others)), text);
  };
  // What is not known is left out, or is [UNK]; several together are one with fuse_unk.
  CHECK(cut(Json::object(), "axyb") == "ab");
  CHECK(cut({{"unk_token", "<unk>"}}, "axyb") == "a <unk> <unk> b");
  CHECK(cut({{"unk_token", "<unk>"}, {"fuse_unk", true}}, "axyb") == "a <unk> b");
  std::vector<std::string> with_bytes = kPieces;
  for (const char* byte : {"<0xC3>", "<0xA9>"}) with_bytes.emplace_back(byte);
  const PieceTokenizer fallback =
      opened(bpe(with_bytes, kMerges, {{"byte_fallback", true}, {"unk_token", "<unk>"}}));
  CHECK(cut_of(fallback, "a\u00E9\u00E8b") == "a <0xC3> <0xA9> <unk> b");
  CHECK(fallback.piece(9) == "<0xC3>");
  // A word that is a piece, though no merges make it.
  CHECK(cut_of(opened(bpe({"a", "b", "ba"}, {}, {{"ignore_merges", true}})), "ba") == "ba");
  CHECK(cut_of(opened(bpe({"a", "b", "ba"}, {})), "ba") == "b a");
  // Marks of what goes on with a word, and of its end.
  CHECK(cut_of(opened(bpe({"a", "##b", "ab", "##c", "abc"}, {"a ##b", "ab ##c"},
                          {{"continuing_subword_prefix", "##"}})),
               "abc") == "abc");
  CHECK(cut_of(opened(bpe({"a", "b", "b</w>", "ab</w>"}, {"a b</w>"},
                          {{"end_of_word_suffix", "</w>"}})),
               "bab") == "b ab</w>");
  CHECK(cut({{"dropout", 0.0}}, "ab") == "ab");
}

TEST_CASE("pieces: WordPiece and whole words") {
  Json model = {{"type", "WordPiece"},
                {"vocab", vocab_of({"[UNK]", "un", "##aff", "##able", "a", "##a", "able"})},
                {"unk_token", "[UNK]"},
                {"max_input_chars_per_word", 12},
                {"continuing_subword_prefix", "##"}};
  const PieceTokenizer tokenizer =
      opened(tokenizer_of(model, {{"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                                  {"decoder", {{"type", "WordPiece"}}},
                                  {"added_tokens", {added(0, "[UNK]")}}}));
  CHECK(cut_of(tokenizer, "unaffable able xun a") == "un ##aff ##able able [UNK] a");
  CHECK(cut_of(tokenizer, "aaaaaaaaaaaa") ==
        "a" + std::string(" ##a ##a ##a ##a ##a ##a ##a ##a ##a ##a ##a"));
  CHECK(cut_of(tokenizer, "aaaaaaaaaaaaa") == "[UNK]");
  CHECK(tokenizer.piece(2) == "##aff");
  CHECK(tokenizer.bytes(2) == "aff");
  CHECK(tokenizer.decode(ids_of(tokenizer.encode("unaffable able"))) == "unaffable able");
  const auto vocabulary = Vocabulary::of_pieces(std::make_shared<const PieceTokenizer>(tokenizer));
  const std::vector<std::string> unknown = unknown_tokens(vocabulary, "xun able [UNK] zu xun");
  CHECK(unknown == std::vector<std::string>{"xun", "zu"});
  CHECK(has(say(Language::kEnglish, unknown_message("any", vocabulary, unknown)),
            "no pieces for 'xun', 'zu', so the model reads [UNK] instead"));
  for (const char* key : {"max_input_chars_per_word", "continuing_subword_prefix"})
    model.erase(key);  // then 100 and ##
  const PieceTokenizer hundred = opened(tokenizer_of(model));
  CHECK(hundred.encode(std::string(100, 'a')).size() == 100);
  CHECK(cut_of(hundred, "aa") == "a ##a");
  CHECK(cut_of(hundred, std::string(101, 'a')) == "[UNK]");
  model.erase("unk_token");
  CHECK(has(error_of([&] { opened(tokenizer_of(model)).encode("zebra"); }), "zebra"));
}

TEST_CASE("pieces: an empty piece is called by its number") {
  const PieceTokenizer tokenizer = opened(tokenizer_of(
      {{"type", "WordPiece"}, {"vocab", vocab_of({"a", "", "b"})}, {"unk_token", "a"}}));
  CHECK(tokenizer.piece(0) == "a");
  CHECK(tokenizer.piece(1) == "1");
  CHECK(tokenizer.bytes(1) == "");
}

TEST_CASE("pieces: Unigram finds the best of all cuts") {
  const std::map<std::string, double> scores = {{"<unk>", 0},  {"a", -2},     {"b", -2.5},
                                                {"ab", -3.1},  {"ba", -3.3},  {"aba", -4.2},
                                                {"bb", -5.25}, {"abab", -6.5}};
  Json vocab = Json::array();
  for (const auto& [piece, score] : scores) vocab.push_back({piece, score});
  const PieceTokenizer tokenizer =
      opened(tokenizer_of({{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}}));
  Random random(9);
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (auto n = 1 + random.below(10); n > 0; --n)
      word += static_cast<char>('a' + random.below(2));
    // Every cut, as a number whose bits say where.
    double best = -std::numeric_limits<double>::infinity();
    for (unsigned cuts = 0; cuts < 1u << (word.size() - 1); ++cuts) {
      double sum = 0;
      std::string piece;
      for (std::size_t k = 0; k < word.size(); ++k) {
        piece += word[k];
        if (k + 1 < word.size() && !(cuts >> k & 1)) continue;
        const auto known = scores.find(piece);
        sum += known == scores.end() ? -1e9 : known->second;
        piece.clear();
      }
      best = std::max(best, sum);
    }
    double ours = 0;
    std::string back;
    for (const PlacedToken& token : tokenizer.encode(word)) {
      ours += scores.at(tokenizer.written(token.id));
      back += tokenizer.written(token.id);
    }
    CAPTURE(word);
    CHECK(back == word);
    CHECK(ours == doctest::Approx(best));
  }
  CHECK(cut_of(tokenizer, "xya") == "<unk> a");  // what is unknown goes together
  CHECK(tokenizer.encode("xya").front() == PlacedToken{0, 0, 2});
  // What is unknown is worth 10 less than the least: "xa", "b" is -20, the other way -21.
  const Json dear = Json::parse(R"([["<unk>", 0], ["xa", -10], ["b", -10], ["ab", -1]])");
  CHECK(cut_of(opened(tokenizer_of({{"type", "Unigram"}, {"unk_id", 0}, {"vocab", dear}})),
               "xab") == "xa b");
}

// As the files of some models have them ("<unk>" of the older CamemBERT).
TEST_CASE("pieces: of a Unigram piece that is there twice the last one counts") {
  const Json vocab =
      Json::parse(R"([["u", 0], ["ab", -9], ["a", -1], ["b", -1], ["ab", -1.5], ["u", -3]])");
  for (const int unknown : {0, 5}) {
    CAPTURE(unknown);
    const PieceTokenizer tokenizer =
        opened(tokenizer_of({{"type", "Unigram"}, {"unk_id", unknown}, {"vocab", vocab}}));
    CHECK(ids_of(tokenizer.encode("ab")) == std::vector<int>{4});
    CHECK(ids_of(tokenizer.encode(std::string("ab\0\0b", 5))) == std::vector<int>{4, unknown, 3});
    CHECK(tokenizer.find("ab") == 4);
    CHECK(tokenizer.id_of(Special::kUnknown) == unknown);
    CHECK(PieceTokenizer::from_json(tokenizer.to_tokenizer_json(), tokenizer.special_names()) ==
          tokenizer);
  }
}

TEST_CASE("pieces: vocabularies and merges that are wrong are refused, and say where") {
  const auto refused = [](const Json& json) { return error_of([&] { opened(json); }); };
  CHECK(has(refused(bpe({}, {})), "empty"));
  CHECK(has(refused(bpe({"a", "b"}, {"a b"})),
            "'model.merges[0]' joins \u201Ca\u201D and \u201Cb\u201D"));
  CHECK(has(refused(bpe({"a", "b", "ab"}, {"a b", "a c"})), "model.merges[1]"));
  CHECK(has(refused(bpe({"a", "b", "ab"}, {"a b", "ab"})), "model.merges[1]"));
  CHECK(has(refused(bpe({"a"}, {}, {{"dropout", 0.1}})), "model.dropout"));
  CHECK(has(refused(bpe({"a"}, {}, {{"fuse_unk", 1}})), "true or false"));
  CHECK(has(refused(bpe({"a"}, {}, {{"odd", 1}})), "model.odd"));
  const auto with_ids = [&](const Json& vocab) {
    return refused(tokenizer_of({{"type", "WordLevel"}, {"vocab", vocab}}));
  };
  CHECK(has(with_ids({{"a", 0}, {"b", 0}}), "two pieces"));
  CHECK(has(with_ids({{"a", -1}}), "from 0 to 262143"));
  CHECK(has(with_ids({{"a", 262144}}), "from 0 to 262143"));
  CHECK(has(with_ids({{"a", 1e300}}), "from 0 to 262143"));
  CHECK(has(with_ids({{"a", 18446744073709551615ull}}), "from 0 to 262143"));
  CHECK(has(with_ids({{"a", "0"}}), "model.vocab.a"));
  CHECK(has(with_ids(Json::array()), "model.vocab"));
  CHECK(has(refused(tokenizer_of({{"type", "Magic"}, {"vocab", {{"a", 0}}}})), "Magic"));
  CHECK(has(refused(tokenizer_of({{"type", "Unigram"}, {"vocab", {{"a"}}}})), "model.vocab[0]"));
  CHECK(has(
      refused(tokenizer_of(
          {{"type", "Unigram"}, {"unk_id", 1}, {"vocab", Json::array({Json::array({"a", 0.0})})}})),
      "model.unk_id"));
  CHECK(has(refused(Json::object()), "'model' is missing"));
  CHECK(has(refused(Json::array()), "an object"));
}

}  // namespace headlight::test::test_piece_models
