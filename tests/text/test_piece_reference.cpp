// Small tokenizers of each kind against what a slow and plain program computes of the same texts:
// tests/reference/tokenizers/make_tokenizers.py; those of SentencePiece's files against that
// library: make_sentencepiece.py.
#include <doctest/doctest.h>

#include <filesystem>

#include "core/base/utf8.h"
#include "core/io/atomic_file.h"
#include "test_paths.h"
#include "tests/text/piece_cases.h"

namespace headlight::test::test_piece_reference {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int>;

Json expected_of(const fs::path& folder) {
  return Json::parse(read_file(folder / "expected.json", 1 << 20));
}

void check_text(const PieceTokenizer& tokenizer, const Json& expected) {
  const auto text = expected["text"].get<std::string>();
  CAPTURE(visible_label(text));
  SegmentedTokens row;
  if (expected.contains("second")) {
    row = tokenizer.encode_pair(text, expected["second"].get<std::string>());
    CHECK(row.segments == expected["segments"].get<Ids>());
  } else {
    row.tokens = tokenizer.encode(text);
  }
  const auto ids = expected["ids"].get<Ids>();
  CHECK(ids_of(row.tokens) == ids);
  CHECK(tokenizer.decode(ids) == expected.value("decoded", text));
}

}  // namespace

TEST_CASE("reference pieces: a target is cut as its own SentencePiece file says") {
  const fs::path folder = fs::path(HEADLIGHT_TEST_DIR) / "reference/tokenizers/marian";
  const auto target = PieceTokenizer::open_target(folder);
  REQUIRE(target);
  const Json expected = Json::parse(read_file(folder / "expected_target.json", 1 << 20));
  for (const Json& each : expected) check_text(*target, each);
  CHECK(expected.size() >= 200);
  CHECK(*target->pieces() == *PieceTokenizer::open(folder).pieces());
  CHECK_FALSE(PieceTokenizer::open_target(folder.parent_path() / "gpt2"));
}

TEST_CASE("reference pieces: ids, segments and decoded texts of every kind of tokenizer") {
  int folders = 0, older = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(HEADLIGHT_TEST_DIR) / "reference/tokenizers")) {
    if (!fs::exists(entry.path() / "expected.json")) continue;
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const PieceTokenizer tokenizer = PieceTokenizer::open(entry.path());
    const Json expected = expected_of(entry.path());
    int pairs = 0;
    for (const Json& each : expected) {
      check_text(tokenizer, each);
      pairs += each.contains("second");
    }
    CHECK(expected.size() >= 200);
    CHECK(pairs >= 10);
    ++folders;
    older += !fs::exists(entry.path() / "tokenizer.json");
  }
  CHECK(folders == 15);
  CHECK(older == 6);
}

}  // namespace headlight::test::test_piece_reference
