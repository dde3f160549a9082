// Whole tokenizers: tokens that were added, places, rows of one and two texts, the way back to
// text, names on an axis, the program's vocabulary of pieces.
#include <doctest/doctest.h>

#include <thread>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/text/pieces/piece_unicode.h"
#include "core/text/unknown_words.h"
#include "core/text/vocabulary.h"
#include "tests/support/error_text.h"
#include "tests/text/piece_cases.h"

namespace headlight::test::test_pieces {
namespace {

using Ids = std::vector<int>;

Json byte_level() {
  const Json component = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  return tokenizer_of({{"type", "BPE"}, {"vocab", byte_level_vocab()}, {"merges", kByteMerges}},
                      {{"pre_tokenizer", component},
                       {"post_processor", component},
                       {"decoder", component},
                       {"added_tokens", {added(262, "<|endoftext|>")}}});
}

// SentencePiece's, with a mark for blanks and bytes for what is not known.
Json marked() {
  std::vector<std::string> pieces = {"<unk>", "<s>", "</s>"};
  for (int byte = 0; byte < 256; ++byte)
    pieces.push_back(byte_piece(static_cast<unsigned char>(byte)));
  for (const char* piece : {"\u2581", "a", "b", "\u2581a", "ab", "\u2581ab"})
    pieces.emplace_back(piece);
  const Json to_mark = {
      {"type", "Replace"}, {"pattern", Json::object({{"String", " "}})}, {"content", "\u2581"}};
  const Json to_blank = {
      {"type", "Replace"}, {"pattern", Json::object({{"String", "\u2581"}})}, {"content", " "}};
  return tokenizer_of({{"type", "BPE"},
                       {"vocab", vocab_of(pieces)},
                       {"merges", {"\u2581 a", "a b", "\u2581a b", "\u2581 ab"}},
                       {"unk_token", "<unk>"},
                       {"fuse_unk", true},
                       {"byte_fallback", true}},
                      {{"normalizer",
                        {{"type", "Sequence"},
                         {"normalizers", {{{"type", "Prepend"}, {"prepend", "\u2581"}}, to_mark}}}},
                       {"decoder",
                        {{"type", "Sequence"},
                         {"decoders",
                          {to_blank,
                           {{"type", "ByteFallback"}},
                           {{"type", "Fuse"}},
                           {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
                       {"added_tokens", {added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")}}});
}

std::string random_bytes(Random& random) {
  static const std::string kParts[] = {"hello", " w", "\u00E9", "\U0001F642", "\u4E2D", "  ",
                                       "\n",    "'s", "12",     "\xFF",       "\xE4",   "\u2581"};
  std::string text;
  for (auto n = random.below(30); n > 0; --n) {
    text += random.percent(70) ? kParts[random.below(std::size(kParts))]
                               : std::string(1, static_cast<char>(random.below(256)));
  }
  return text;
}

}  // namespace

TEST_CASE("pieces: byte-level ids, places, names, and the way back to the byte") {
  const PieceTokenizer tokenizer = opened(byte_level());
  const std::vector<PlacedToken> tokens = tokenizer.encode("hello w\u00E9\xF0<|endoftext|>");
  const std::vector<PlacedToken> expected = {
      {259, 0, 5}, {260, 5, 7}, {261, 7, 9}, {0xF0, 9, 10}, {262, 10, 23}};
  CHECK(tokens == expected);
  CHECK(tokenizer.piece(260) == " w");
  CHECK(tokenizer.written(260) == "\u0120w");
  CHECK(tokenizer.piece(261) == "\u00E9");
  CHECK(tokenizer.piece(0xE4) == "<0xE4>");
  CHECK(tokenizer.bytes(0xE4) == "\xE4");
  CHECK(tokenizer.find(" w") == 260);
  CHECK(tokenizer.find("\u0120w") == 260);
  CHECK(tokenizer.find("<|endoftext|>") == 262);
  CHECK(!tokenizer.find("nothing"));
  CHECK(tokenizer.is_special(262));
  CHECK(!tokenizer.is_special(259));
  CHECK(tokenizer.id_of(Special::kEnd) == 262);
  CHECK(!tokenizer.id_of(Special::kMask));
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_bytes(random);
    std::size_t at = 0;
    for (const PlacedToken& token : tokenizer.encode(text)) {
      REQUIRE(token.begin == at);
      at = token.end;
    }
    CHECK(at == text.size());
    CHECK(tokenizer.decode(ids_of(tokenizer.encode(text))) == text);
  }
  CHECK(has(error_of([&] { (void)tokenizer.decode(Ids{263}); }), "there is no token 263"));
  // In an added token that is not of bytes alone, those that could be bytes are themselves.
  Json more = byte_level();
  more["added_tokens"].push_back(added(263, "\u00E9\u4E2D"));
  CHECK(opened(more).decode(Ids{263}) == "\u00E9\u4E2D");
  CHECK(has(error_of([&] { (void)tokenizer.decode(Ids{-1}); }), "there is no token -1"));
}

TEST_CASE("pieces: SentencePiece's marks and bytes") {
  const PieceTokenizer tokenizer = opened(marked());
  CHECK(cut_of(tokenizer, "ab a") == "\u2581ab \u2581a");
  CHECK(cut_of(tokenizer, "a\u00E9") == "\u2581a <0xC3> <0xA9>");
  // Places count no mark that was put in front.
  const std::vector<PlacedToken> tokens = tokenizer.encode("ab a");
  CHECK(tokens[0] == PlacedToken{tokenizer.find("\u2581ab").value(), 0, 2});
  CHECK(tokens[1] == PlacedToken{tokenizer.find(" a").value(), 2, 4});
  CHECK(tokenizer.piece(tokens[1].id) == " a");
  CHECK(tokenizer.piece(3 + 0x41) == "<0x41>");
  CHECK(tokenizer.bytes(3 + 0x41) == "A");
  for (const char* text : {"ab a", "  a\nb\u00E9 \U0001F642", " ", "zzz"})
    CHECK(tokenizer.decode(ids_of(tokenizer.encode(text))) == text);
  // A long text is cut before its marks, and nothing comes out otherwise.
  std::string text;
  Random random(2);
  for (int i = 0; i < 3000; ++i) text += "ab  x"[random.below(5)];
  Json uncut = marked();  // a merge that could reach over a mark, were the pieces there
  uncut["model"]["vocab"]["b\u2581"] = 300;
  uncut["model"]["vocab"]["q"] = 301;
  uncut["model"]["vocab"]["qb\u2581"] = 302;
  uncut["model"]["merges"].push_back("q b\u2581");
  CHECK(ids_of(opened(uncut).encode(text)) == ids_of(tokenizer.encode(text)));
}

TEST_CASE("pieces: invalid bytes become U+FFFD where the tokenizer is not byte-level") {
  const PieceTokenizer tokenizer = opened(marked());
  const std::vector<PlacedToken> tokens = tokenizer.encode("a\xFF");
  REQUIRE(tokens.size() == 4);
  CHECK(tokens[1] == PlacedToken{3 + 0xEF, 1, 2});
  CHECK(tokenizer.decode(ids_of(tokens)) == "a\uFFFD");
}

TEST_CASE("pieces: tokens that were added, and their flags") {
  const auto with = [](const Json& token) {
    return opened(tokenizer_of(whole_words({"[UNK]", "a", "b"}),
                               {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                                {"normalizer", {{"type", "Lowercase"}}},
                                {"added_tokens", {token}}}));
  };
  const auto places = [](const PieceTokenizer& tokenizer, const std::string& text) {
    std::string all;
    for (const PlacedToken& token : tokenizer.encode(text))
      all += std::to_string(token.id) + "@" + std::to_string(token.begin) + "-" +
             std::to_string(token.end) + " ";
    return all;
  };
  CHECK(places(with(added(5, "<M>")), "a <M> b") == "1@0-1 5@2-5 2@6-7 ");
  CHECK(places(with(added(5, "<M>")), "a <m> b") == "1@0-1 0@2-5 2@6-7 ");
  CHECK(places(with(added(5, "<M>", {{"normalized", true}})), "a <m><M>") == "1@0-1 5@2-5 5@5-8 ");
  CHECK(places(with(added(5, "<M>", {{"lstrip", true}})), "a  <M> b") == "1@0-1 5@1-6 2@7-8 ");
  CHECK(places(with(added(5, "<M>", {{"rstrip", true}})), "a <M>\t b") == "1@0-1 5@2-7 2@7-8 ");
  CHECK(places(with(added(5, "ab", {{"single_word", true}})), "ab abb ab") == "5@0-2 0@3-6 5@7-9 ");
  // What one of them took is not taken again by the next.
  const Json both = {{"lstrip", true}, {"rstrip", true}};
  CHECK(places(with(added(5, "<M>", both)), "<M>  <M> a") == "5@0-5 5@5-9 1@9-10 ");
  // Without a word of it, those that are special are looked for as they are typed.
  Json plain = {{"id", 5}, {"content", "<M>"}, {"special", false}};
  CHECK(places(with(plain), "a <m>") == "1@0-1 5@2-5 ");
  plain["special"] = true;
  CHECK(places(with(plain), "a <m>") == "1@0-1 0@2-5 ");
  // Of tokens that begin at one place the longest one.
  Json two =
      tokenizer_of(whole_words({"[UNK]"}), {{"added_tokens", {added(1, "<x"), added(2, "<xy>")}}});
  CHECK(ids_of(opened(two).encode("<xy><x")) == Ids{2, 1});
  // Ids may have holes, which are shown as numbers.
  const PieceTokenizer holes = with(added(5, "<M>"));
  CHECK(holes.size() == 6);
  CHECK(!holes.has(4));
  CHECK(holes.piece(4) == "4");
  CHECK(holes.decode(Ids{1, 4, 2}) == "a b");
  CHECK(has(error_of([&] { with(added(1, "<M>")); }), "<M>"));
  CHECK(has(error_of([&] { with(added(5, "b")); }), "own id is 2"));
  CHECK(has(error_of([&] { with(added(5, "")); }), "added_tokens[0].content"));
  CHECK(has(error_of([&] { with(added(-5, "x")); }), "added_tokens[0].id"));
}

TEST_CASE("pieces: what is put around one text and around two") {
  const auto with = [](const Json& processor) {
    return opened(
        tokenizer_of(whole_words({"[UNK]", "a", "b", "[CLS]", "[SEP]"}),
                     {{"pre_tokenizer", {{"type", "Whitespace"}}}, {"post_processor", processor}}));
  };
  const Json bert = {{"type", "BertProcessing"}, {"sep", {"[SEP]", 4}}, {"cls", {"[CLS]", 3}}};
  const SegmentedTokens pair = with(bert).encode_pair("a", "b b");
  CHECK(ids_of(pair.tokens) == Ids{3, 1, 4, 2, 2, 4});
  CHECK(pair.segments == Ids{0, 0, 0, 1, 1, 1});
  CHECK(pair.tokens[0] == PlacedToken{3, 0, 0});
  CHECK(pair.tokens[4] == PlacedToken{2, 2, 3});
  CHECK(ids_of(with(bert).encode("a")) == Ids{3, 1, 4});
  CHECK(ids_of(with(bert).encode("a", false)) == Ids{1});
  CHECK(ids_of(with(bert).encode_pair("a", "b", false).tokens) == Ids{1, 2});
  CHECK(with(bert).id_of(Special::kClass) == std::nullopt);  // no token that was added
  const Json roberta = {{"type", "RobertaProcessing"},
                        {"sep", {"[SEP]", 4}},
                        {"cls", {"[CLS]", 3}},
                        {"trim_offsets", true},
                        {"add_prefix_space", false}};
  CHECK(ids_of(with(roberta).encode_pair("a", "b").tokens) == Ids{3, 1, 4, 4, 2, 4});
  CHECK(with(roberta).encode_pair("a", "b").segments == Ids{0, 0, 0, 0, 0, 0});
  const auto special = [](int segment) {
    return Json{{"SpecialToken", {{"id", "E"}, {"type_id", segment}}}};
  };
  const auto text = [](const char* id, int segment) {
    return Json{{"Sequence", {{"id", id}, {"type_id", segment}}}};
  };
  Json rows = {{"type", "TemplateProcessing"},
               {"single", {text("A", 0), special(0)}},
               {"pair", {text("B", 1), special(1), text("A", 0)}},
               {"special_tokens", {{"E", {{"id", "E"}, {"ids", {4, 3}}, {"tokens", {"x", "y"}}}}}}};
  CHECK(ids_of(with(rows).encode("a")) == Ids{1, 4, 3});
  CHECK(ids_of(with(rows).encode_pair("a", "b").tokens) == Ids{2, 4, 3, 1});
  CHECK(with(rows).encode_pair("a", "b").segments == Ids{1, 1, 1, 0});
  const Json both = {{"type", "Sequence"}, {"processors", {{{"type", "ByteLevel"}}, rows}}};
  CHECK(ids_of(with(both).encode("a")) == Ids{1, 4, 3});
  const auto refused = [&](const Json& json) { return error_of([&] { with(json); }); };
  CHECK(has(refused({{"type", "Sequence"}, {"processors", {rows, bert}}}), "processors[1]"));
  CHECK(has(refused({{"type", "Other"}}), "Other"));
  rows["special_tokens"]["E"]["ids"] = {99};
  CHECK(has(refused(rows), "special_tokens.E.ids[0]"));
  rows["special_tokens"]["E"]["ids"] = {4};
  rows["single"] = {special(0)};
  CHECK(has(refused(rows), "post_processor.single"));
}

TEST_CASE("pieces: decoders") {
  const auto decoded = [](const Json& decoder, const std::vector<std::string>& pieces) {
    const PieceTokenizer tokenizer =
        opened(tokenizer_of(whole_words(pieces), {{"decoder", decoder}}));
    Ids ids;
    for (const std::string& piece : pieces) ids.push_back(tokenizer.find(piece).value());
    return tokenizer.decode(ids);
  };
  CHECK(decoded({{"type", "WordPiece"}}, {"do", "n", "'t", "go", "##ing", "."}) ==
        "do n 't going.");
  CHECK(decoded({{"type", "WordPiece"}}, {"I", "'m", "he", "'s", "we", "'re", "you", "'ve", "n't",
                                          "do not", "' x", ",", "?", "!"}) ==
        "I'm he's we're you'ven't don't'x,?!");
  CHECK(decoded({{"type", "WordPiece"}, {"cleanup", false}}, {"go", "."}) == "go .");
  CHECK(decoded({{"type", "BPEDecoder"}, {"suffix", "</w>"}}, {"a", "b</w>", "c</w>"}) == "ab c");
  CHECK(decoded({{"type", "Metaspace"}, {"replacement", "\u2581"}}, {"\u2581a", "\u2581b", "c"}) ==
        "a bc");
  CHECK(decoded({{"type", "Metaspace"}, {"prepend_scheme", "never"}}, {"\u2581a", "b"}) == " ab");
  CHECK(decoded(nullptr, {"a", "b"}) == "a b");
  CHECK(has(error_of([&] { decoded({{"type", "CTC"}}, {"a"}); }), "CTC"));
}

TEST_CASE("pieces: the program's vocabulary of pieces") {
  const auto shared = std::make_shared<const PieceTokenizer>(opened(byte_level()).with_size(270));
  const Vocabulary vocabulary = Vocabulary::of_pieces(shared);
  CHECK(vocabulary.cut() == TextCut::kPieces);
  CHECK(text_cut_from_string("pieces") == TextCut::kPieces);
  CHECK(!is_learned(TextCut::kPieces));
  CHECK(vocabulary.size() == 270);
  CHECK(vocabulary.token(269) == "269");
  CHECK(vocabulary.encode("hello w<|endoftext|>") == Ids{259, 260, 262});
  CHECK(vocabulary.encode_placed("hello")[0] == PlacedToken{259, 0, 5});
  CHECK(vocabulary.decode(Ids{259, 260}) == "hello w");
  CHECK(vocabulary.text_of(260) == " w");
  CHECK(vocabulary.find(" w") == 260);
  CHECK(vocabulary.id_of(Special::kEnd) == 262);
  CHECK(vocabulary.is_special(262));
  CHECK(vocabulary.blanks_begin_words());
  CHECK(vocabulary.tokens()->size() == 270);
  CHECK(unknown_tokens(vocabulary, "xyz\xFF").empty());
  const Vocabulary again = Vocabulary::from_json(vocabulary.to_json());
  CHECK(again == vocabulary);
  CHECK(again.to_json() == vocabulary.to_json());
  CHECK(
      !(again == Vocabulary::of_pieces(std::make_shared<const PieceTokenizer>(opened(marked())))));
  CHECK(!(again == Vocabulary::of_bytes()));
  CHECK(has(error_of([&] { (void)shared->with_size(100); }), "100 rows"));
  Json json = Json::parse(vocabulary.to_json());
  json["size"] = 3;
  CHECK(has(error_of([&] { (void)Vocabulary::from_json(json.dump()); }), "3 rows"));
  json.erase("tokenizer");
  CHECK(has(error_of([&] { (void)Vocabulary::from_json(json.dump()); }), "tokenizer"));
}

TEST_CASE("pieces: threads share a tokenizer") {
  Json json = byte_level();
  json["normalizer"] = {{"type", "NFC"}};
  json["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"},
         {"pattern", Json::object({{"Regex", R"(\p{L}+|\s|.)"}})},
         {"behavior", "Isolated"}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  const PieceTokenizer tokenizer = opened(json);
  const std::string text = "hello w\u00E9 hello 123 e\u0301 hello";
  const Ids right = ids_of(tokenizer.encode(text));
  std::vector<char> same(4, 1);
  std::vector<std::thread> threads;
  for (char& each : same) {
    threads.emplace_back([&tokenizer, &text, &right, &each] {
      for (int i = 0; i < 200; ++i) each = each && ids_of(tokenizer.encode(text)) == right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char each : same) CHECK(each == 1);
}

}  // namespace headlight::test::test_pieces
