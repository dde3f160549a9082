// SentencePiece's files that are cut off, of another kind, or do not go with their vocab.json. What
// whole ones say is compared with the library in test_piece_reference.cpp.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/io/atomic_file.h"
#include "core/text/pieces/base64.h"
#include "core/text/pieces/sentencepiece.h"
#include "test_paths.h"
#include "tests/text/piece_cases.h"

namespace headlight::test::test_sentencepiece {
namespace {

namespace fs = std::filesystem;
using Piece = SentencePieceFile::Piece;
using Row = SentencePieceRow;

// A field of Protocol Buffers' wire format, with a number below 16 and at most 127 bytes.
std::string field(int number, std::string_view bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} +
         std::string(bytes);
}

std::string flag(int number, int value) {
  const auto key = static_cast<unsigned>(number << 3);
  std::string bytes;
  if (key >= 128) {
    bytes = {static_cast<char>((key & 127u) | 128u), static_cast<char>(key >> 7)};
  } else {
    bytes = {static_cast<char>(key)};
  }
  return bytes + static_cast<char>(value);
}

// The piece without a score: 0.
std::string piece(std::string_view text, int type = SentencePieceFile::kNormal) {
  return field(1, field(1, text) + flag(3, type));
}

const std::string kPieces = piece("<unk>", SentencePieceFile::kUnknown) + piece("a") + piece("b");

void refused(const std::string& bytes, const std::string& id) {
  CAPTURE(visible_label(bytes));
  try {
    (void)read_sentencepiece(bytes);
    FAIL_CHECK("read");
  } catch (const Error& error) {
    CHECK(error.message().id == id);
  }
}

void refused(const SentencePieceFile& file, const Json& vocab, const std::string& id) {
  try {
    SpecialNames names;
    (void)of_sentencepiece(file, vocab, Row::kMarian, {}, names);
    FAIL_CHECK("read");
  } catch (const Error& error) {
    CHECK(error.message().id == id);
  }
}

PieceTokenizer made(const SentencePieceFile& file, const Json& vocab, Row row,
                    const OlderFiles& files = {}) {
  SpecialNames names;
  const Json json = of_sentencepiece(file, vocab, row, files, names);
  return PieceTokenizer::from_json(json.dump(), names);
}

// Ids 0 to 2 are <unk>, <s>, </s>; then "x" with a mark, the mark, and "x".
SentencePieceFile blanks_file() {
  SentencePieceFile file;
  const std::string mark = "\u2581";
  file.model = SentencePieceFile::kBpe;
  file.removes_blanks = false;
  file.pieces = {
      {"<unk>", 0, SentencePieceFile::kUnknown}, {"<s>", 0, SentencePieceFile::kControl},
      {"</s>", 0, SentencePieceFile::kControl},  {mark + "x", -1, SentencePieceFile::kNormal},
      {mark, -2, SentencePieceFile::kNormal},    {"x", -3, SentencePieceFile::kNormal}};
  return file;
}

}  // namespace

TEST_CASE("sentencepiece: what the file says") {
  const SentencePieceFile plain = read_sentencepiece(kPieces);
  REQUIRE(plain.pieces.size() == 3);
  CHECK(plain.pieces[0].type == SentencePieceFile::kUnknown);
  CHECK(plain.pieces[1].text == "a");
  CHECK(plain.model == SentencePieceFile::kUnigram);
  CHECK(plain.adds_blank);
  CHECK(plain.removes_blanks);
  CHECK_FALSE(plain.byte_fallback);
  const SentencePieceFile other =
      read_sentencepiece(kPieces + field(2, flag(3, 2) + flag(35, 1)) +
                         field(3, flag(3, 0) + flag(4, 0)) + field(9, "what others add"));
  CHECK(other.model == SentencePieceFile::kBpe);
  CHECK(other.byte_fallback);
  CHECK_FALSE(other.adds_blank);
  CHECK_FALSE(other.removes_blanks);
}

TEST_CASE("sentencepiece: files that are none, and what is not known") {
  refused("", "pieces.no_sentencepiece");
  refused("\x0A", "pieces.no_sentencepiece");
  refused("{\"version\": 1}", "pieces.no_sentencepiece");
  refused(piece(""), "pieces.no_sentencepiece");
  refused(piece("\xFF"), "pieces.no_sentencepiece");
  refused(piece("a", 7), "pieces.no_sentencepiece");
  refused(field(1, field(1, "a") + std::string("\x15\0\0\xC0\x7F", 5)), "pieces.no_sentencepiece");
  refused(flag(1, 1), "pieces.no_sentencepiece");
  refused(std::string(11, '\xFF'), "pieces.no_sentencepiece");
  for (std::size_t size = 1; size < kPieces.size(); ++size) {
    // Between two fields a file may end.
    if (size == piece("<unk>").size() || size == piece("<unk>").size() + piece("a").size())
      continue;
    refused(kPieces.substr(0, size), "pieces.no_sentencepiece");
  }
  refused(kPieces + field(2, flag(3, 3)), "pieces.unknown_type");   // words
  refused(kPieces + field(2, flag(24, 1)), "pieces.unknown_type");  // blanks behind
  refused(kPieces + field(3, flag(5, 0)), "pieces.unknown_type");   // blanks as they are
}

TEST_CASE("sentencepiece: a vocab.json that does not go with it") {
  SentencePieceFile file = read_sentencepiece(kPieces);
  refused(file, {{"<unk>", 0}, {"a", 2}}, "pieces.no_id");
  refused(file, {{"<unk>", 0}, {"a", 0}}, "pieces.id_twice");
  refused(file, Json::array(), "pieces.wrong_value");
  file.model = SentencePieceFile::kBpe;
  file.pieces.push_back({"a", 0, SentencePieceFile::kNormal});
  refused(file, nullptr, "pieces.piece_twice");
  file.pieces.back() = {"ab", 0, SentencePieceFile::kUnused};
  refused(file, nullptr, "pieces.unknown_type");
}

TEST_CASE("sentencepiece: what stands around a text") {
  SentencePieceFile file;
  file.pieces = {{"<unk>", 0, SentencePieceFile::kUnknown},
                 {"<s>", 0, SentencePieceFile::kControl},
                 {"</s>", 0, SentencePieceFile::kControl},
                 {"\xE2\x96\x81"
                  "a",
                  -1, SentencePieceFile::kNormal}};
  CHECK(ids_of(made(file, nullptr, Row::kMarian).encode("a")) == std::vector{3, 2});
  CHECK(ids_of(made(file, nullptr, Row::kLlama).encode("a")) == std::vector{1, 3});
  OlderFiles files;
  files.settings = {{"add_bos_token", false}, {"add_eos_token", true}};
  CHECK(ids_of(made(file, nullptr, Row::kLlama, files).encode("a")) == std::vector{3, 2});
  files.settings = {{"src_lang", "fr"}};
  files.more_special = {"__en__", "__fr__"};
  const PieceTokenizer languages = made(file, nullptr, Row::kM2M, files);
  CHECK(languages.size() == 6);
  CHECK(ids_of(languages.encode("a")) == std::vector{5, 3, 2});
  CHECK(ids_of(languages.encode("__en__ a")) == std::vector{5, 4, 3, 2});
  files.settings = nullptr;  // without a word English
  CHECK(ids_of(made(file, nullptr, Row::kM2M, files).encode("a")) == std::vector{4, 3, 2});
}

TEST_CASE(
    "sentencepiece: Llama without `legacy` marks the text's beginning alone, and no blank twice") {
  SentencePieceFile file = blanks_file();
  OlderFiles files;
  const auto ids = [&](const std::string& text) {
    return ids_of(made(file, nullptr, Row::kLlama, files).encode(text, false));
  };
  for (const bool over_blanks : {false, true}) {
    CAPTURE(over_blanks);
    if (over_blanks) file.pieces.push_back({"x\u2581x", -4, SentencePieceFile::kUserDefined});
    files.settings = {{"legacy", false}};
    CHECK(ids("x x") == std::vector{3, 3});
    CHECK(ids("x</s>x") == std::vector{3, 2, 5});
    CHECK(ids("</s>x </s> x") == std::vector{2, 5, 4, 2, 3});
    CHECK(ids(" x") == std::vector{3});
    CHECK(ids("  x") == std::vector{4, 3});
    CHECK(ids(" ") == std::vector{4});
    const PieceTokenizer tokenizer = made(file, nullptr, Row::kLlama, files);
    CHECK(tokenizer.decode(std::vector{3, 3}) == "x x");
    files.settings["add_prefix_space"] = false;
    CHECK(ids("x x") == std::vector{5, 3});
    files.settings = {{"legacy", true}};
    CHECK(ids("x</s>x") == std::vector{3, 2, 3});
    CHECK(ids(" x") == std::vector{4, 3});
    files.settings["add_prefix_space"] = false;
    CHECK(ids("x</s>x") == std::vector{5, 2, 5});
  }
  file.adds_blank = false;  // which the class does not ask
  files.settings = {{"legacy", false}};
  CHECK(ids("x") == std::vector{3});
  CHECK(ids_of(made(file, nullptr, Row::kMarian, files).encode("x", false)) == std::vector{5});
}

TEST_CASE("sentencepiece: what its BPE does not know is one piece, looked up as a whole") {
  SentencePieceFile file;
  file.model = SentencePieceFile::kBpe;
  file.adds_blank = false;
  file.pieces = {{"<unk>", 0, SentencePieceFile::kUnknown},
                 {"\u2581", -1, SentencePieceFile::kNormal},
                 {"a", -2, SentencePieceFile::kNormal}};
  const Json vocab = {{"<unk>", 0},  {"\u2581", 1},       {"a", 2}, {"\u4E2D", 3},
                      {"\u6587", 4}, {"\u6587\u5B57", 5}, {"b", 6}};
  const PieceTokenizer tokenizer = made(file, vocab, Row::kMarian);
  const auto ids = [&](const char* text) { return ids_of(tokenizer.encode(text, false)); };
  CHECK(ids("\u4E2D\u6587") == std::vector{0});
  CHECK(ids("\u4E2D \u6587a\u6587\u5B57") == std::vector{3, 1, 4, 2, 5});
  CHECK(ids("ab bb") == std::vector{2, 6, 1, 0});
  const PieceTokenizer again =
      PieceTokenizer::from_json(tokenizer.to_tokenizer_json(), tokenizer.special_names());
  CHECK(ids_of(again.encode("\u4E2D\u6587", false)) == std::vector{0});
}

TEST_CASE("sentencepiece: M2M-100 knows its hundred languages by itself") {
  SentencePieceFile file;
  file.pieces = {{"<unk>", 0, SentencePieceFile::kUnknown},
                 {"</s>", 0, SentencePieceFile::kControl},
                 {"\u2581"
                  "a",
                  -1, SentencePieceFile::kNormal}};
  OlderFiles files;
  const PieceTokenizer tokenizer = made(file, nullptr, Row::kM2M, files);
  CHECK(tokenizer.size() == 103);
  CHECK(tokenizer.find("__af__") == 3);
  CHECK(tokenizer.find("__zu__") == 102);
  CHECK(ids_of(tokenizer.encode("a __fr__")) == std::vector{21, 2, 27, 1});
  files.settings = {{"language_codes", "wmt21"}, {"src_lang", "de"}};
  CHECK(ids_of(made(file, nullptr, Row::kM2M, files).encode("a")) == std::vector{10, 2, 1});
  files.config = {{"vocab_size", 3}};  // a model without rows for them
  CHECK(made(file, nullptr, Row::kM2M, files).size() == 3);
  CHECK(made(file, nullptr, Row::kMarian).size() == 3);
}

TEST_CASE("sentencepiece: what its user defined is one piece, whatever it is worth") {
  SentencePieceFile file;
  const std::string mark = "\u2581";
  file.removes_blanks = false;
  file.pieces = {{"<unk>", 0, SentencePieceFile::kUnknown},
                 {mark + "a", -1, SentencePieceFile::kNormal},
                 {mark, -5, SentencePieceFile::kNormal},
                 {"a", -1, SentencePieceFile::kNormal},
                 {"b", -1, SentencePieceFile::kNormal},
                 {"ab", -90, SentencePieceFile::kUserDefined},
                 {mark + mark, 0, SentencePieceFile::kUserDefined}};
  const PieceTokenizer tokenizer = made(file, nullptr, Row::kMarian);
  CHECK(ids_of(tokenizer.encode("aab")) == std::vector{1, 5});
  CHECK(ids_of(tokenizer.encode("a  a")) == std::vector{1, 6, 3});
}

TEST_CASE("sentencepiece: what its user defined has the best score for each byte, less 0.1") {
  SentencePieceFile file;
  file.adds_blank = false;
  file.pieces = {{"<unk>", 0, SentencePieceFile::kUnknown},
                 {"a", -0.2, SentencePieceFile::kNormal},
                 {"b", -0.2, SentencePieceFile::kNormal},
                 {"ab", -90, SentencePieceFile::kUserDefined}};
  SpecialNames names;
  const Json vocab =
      of_sentencepiece(file, nullptr, Row::kMarian, {}, names).at("model").at("vocab");
  CHECK(vocab[3][1].get<double>() == doctest::Approx(-0.1).epsilon(1e-12));
  file.pieces[1].score = 0.5;  // then SentencePiece's is for each byte
  const Json more =
      of_sentencepiece(file, nullptr, Row::kMarian, {}, names).at("model").at("vocab");
  CHECK(more[3][1].get<double>() == doctest::Approx(0.9).epsilon(1e-12));
}

// "g" + "gg" and "gg" + "g" are worth the same. What was found first is kept in float32; the second
// takes its place where that was rounded down.
TEST_CASE("sentencepiece: of two ways that are worth the same rounding says which") {
  SentencePieceFile file;
  file.adds_blank = false;
  Random random(4);
  int first_ways = 0;
  constexpr int kTries = 60;
  for (int i = 0; i < kTries; ++i) {
    const float one = -2 - static_cast<float>(random.uniform()), two = 1.3f * one, both = one + two;
    file.pieces = {{"<unk>", 0, SentencePieceFile::kUnknown},
                   {"g", one, SentencePieceFile::kNormal},
                   {"gg", two, SentencePieceFile::kNormal}};
    const double sum = static_cast<double>(one) + static_cast<double>(two);
    const bool second_wins = sum > static_cast<double>(both);
    first_ways += second_wins ? 0 : 1;
    CAPTURE(one);
    CHECK(ids_of(made(file, nullptr, Row::kMarian).encode("ggg", false)) ==
          (second_wins ? std::vector{2, 1} : std::vector{1, 2}));
  }
  CHECK(first_ways > 5);
  CHECK(first_ways < kTries - 5);
}

TEST_CASE("sentencepiece: which file of a folder it is") {
  const fs::path from = fs::path(HEADLIGHT_TEST_DIR) / "reference/tokenizers/marian";
  const fs::path folder = fs::temp_directory_path() / "headlight-sentencepiece";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::copy_file(from / "source.spm", folder / "source.spm");
  CHECK_THROWS_AS((void)PieceTokenizer::is_in(folder), Error);  // the ids are vocab.json's
  fs::copy_file(from / "vocab.json", folder / "vocab.json");
  CHECK(PieceTokenizer::is_in(folder));
  CHECK_FALSE(PieceTokenizer::open_target(folder));
  fs::copy_file(from / "target.spm", folder / "target.spm");
  CHECK(PieceTokenizer::open_target(folder));
  write_file_atomic(folder / "source.spm", "nothing");
  try {
    (void)PieceTokenizer::open(folder);
    FAIL_CHECK("opened");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("source.spm") != std::string::npos);
  }
  fs::remove_all(folder);
}

TEST_CASE("sentencepiece: a language's code is a token at the beginning of a text alone") {
  const PieceTokenizer marian =
      PieceTokenizer::open(fs::path(HEADLIGHT_TEST_DIR) / "reference/tokenizers/marian");
  const int french = *marian.find(">>fra<<"), unknown = *marian.id_of(Special::kUnknown),
            end = *marian.id_of(Special::kEnd);
  const auto begins = [&](const std::string& text, const std::vector<int>& first) {
    const std::vector<int> ids = ids_of(marian.encode(text, false));
    CAPTURE(text);
    REQUIRE(ids.size() >= first.size());
    CHECK(std::equal(first.begin(), first.end(), ids.begin()));
    return std::count(ids.begin(), ids.end(), french);
  };
  const int the = ids_of(marian.encode("the", false)).at(0);
  CHECK(begins(">>fra<< the", {french, the}) == 1);
  CHECK(begins(">>fra<<the", {french, the}) == 1);
  CHECK(begins(">>fra<<>>fra<< the", {french}) == 1);
  CHECK(begins(">>nowhere<< the", {unknown, the}) == 0);
  CHECK(begins("the >>fra<< the", {the}) == 0);
  CHECK(begins(" >>fra<< the", {}) == 0);
  CHECK(begins(">>fra the", {}) == 0);
  CHECK(begins("</s>>>fra<< the", {end, french, the}) == 1);  // a part begins there
  const std::vector<PlacedToken> placed = marian.encode(">>fra<< the", false);
  CHECK(placed[0] == PlacedToken{french, 0, 7});
  CHECK(placed[1].end == 11);
}

TEST_CASE("sentencepiece: source and target have vocabularies of their own") {
  const fs::path from = fs::path(HEADLIGHT_TEST_DIR) / "reference/tokenizers/marian";
  const fs::path folder = fs::temp_directory_path() / "headlight-two-vocabularies";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const char* name : {"source.spm", "target.spm", "vocab.json"})
    fs::copy_file(from / name, folder / name);
  const Json ids = Json::parse(read_file(folder / "vocab.json", 1 << 20));
  Json turned = Json::object();  // the last id first
  for (auto entry = ids.begin(); entry != ids.end(); ++entry)
    turned[entry.key()] = static_cast<int>(ids.size()) - 1 - entry->get<int>();
  write_file_atomic(folder / "target_vocab.json", turned.dump());
  const PieceTokenizer source = PieceTokenizer::open(folder),
                       shared = *PieceTokenizer::open_target(from),
                       own = *PieceTokenizer::open_target(folder);
  const std::string text = "la vieille dame lit";
  std::vector<int> expected = ids_of(shared.encode(text));
  CHECK(ids_of(source.encode(text)) != expected);
  for (int& id : expected) id = static_cast<int>(ids.size()) - 1 - id;
  CHECK(ids_of(own.encode(text)) == expected);
  CHECK(own.decode(expected) == text + "</s>");
  CHECK(source == PieceTokenizer::open(from));
  // The settings may say that there is one.
  write_file_atomic(folder / "tokenizer_config.json", R"({"separate_vocabs": false})");
  CHECK(ids_of(PieceTokenizer::open_target(folder)->encode(text)) == ids_of(shared.encode(text)));
  fs::remove_all(folder);
}

TEST_CASE("sentencepiece: base64 both ways") {
  for (const auto& [bytes, text] :
       std::initializer_list<std::pair<std::string, std::string>>{{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"\xFF\xFE\xFD", "//79"}}) {
    CHECK(to_base64(bytes) == text);
    CHECK(from_base64(text) == bytes);
  }
  CHECK_FALSE(from_base64("Zm*v"));
}

}  // namespace headlight::test::test_sentencepiece
