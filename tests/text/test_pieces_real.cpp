// Real vocabularies, where HEADLIGHT_MODELS names a folder that has them: tokenizers/gpt2,
// tokenizers/bert-base-uncased, models/stories260K. They are no part of this project, so that these
// tests say that they are skipped otherwise.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/utf8.h"
#include "core/io/atomic_file.h"
#include "tests/text/piece_cases.h"

namespace headlight::test::test_pieces_real {
namespace {

using Ids = std::vector<int>;

std::optional<std::filesystem::path> real_folder(const char* name) {
  const char* const folder = std::getenv("HEADLIGHT_MODELS");
  if (folder && std::filesystem::exists(std::filesystem::path(folder) / name))
    return std::filesystem::path(folder) / name;
  MESSAGE("skipped: HEADLIGHT_MODELS names no folder with " << std::string(name));
  return std::nullopt;
}

struct Published {
  std::string text;
  Ids ids;
};

void check_published(const PieceTokenizer& tokenizer, const std::vector<Published>& all) {
  for (const Published& each : all) {
    CAPTURE(each.text);
    CHECK(ids_of(tokenizer.encode(each.text)) == each.ids);
  }
}

std::string random_unicode(Random& random) {
  std::string text;
  for (auto n = random.below(40); n > 0; --n) {
    const std::uint64_t kinds[] = {random.below(0x80),
                                   random.below(0x800),
                                   0x4E00 + random.below(0x5000),
                                   0x1F300 + random.below(0x400),
                                   random.below(0x110000),
                                   ' '};
    auto point = static_cast<char32_t>(kinds[random.below(std::size(kinds))]);
    text += to_utf8(point);
  }
  return text;
}

}  // namespace

TEST_CASE("real pieces: GPT-2's ids as they are published, and every text back to the byte") {
  const auto folder = real_folder("tokenizers/gpt2");
  if (!folder) return;
  const PieceTokenizer gpt2 = PieceTokenizer::open(*folder);
  CHECK(gpt2.size() == 50257);
  check_published(
      gpt2,
      {// The integration test of Hugging Face's transformers, test_tokenization_gpt2.py.
       {"This is a test \U0001F60A\nI was born in 92000, and this is fals\u00E9.\n"
        "\u751F\u6D3B\u7684\u771F\u8C1B\u662F\nHi  Hello\nHi   Hello\n\n \n  \n Hello\n<s>\n"
        "hi<s>there\nThe following string should be properly encoded: Hello.\n"
        "But ird and \u0E1B\u0E35   ird   \u0E14\nHey how are you doing",
        {1212, 318,  257,   1332,  30325, 232,   198, 40,    373,  4642,  287, 10190, 830,   11,
         290,  428,  318,   27807, 2634,  13,    198, 37955, 162,  112,   119, 21410, 40367, 253,
         164,  108,  249,   42468, 198,   17250, 220, 18435, 198,  17250, 220, 220,   18435, 628,
         220,  198,  220,   220,   198,   18435, 198, 27,    82,   29,    198, 5303,  27,    82,
         29,   8117, 198,   464,   1708,  4731,  815, 307,   6105, 30240, 25,  18435, 13,    198,
         1537, 220,  1447,  290,   220,   19567, 249, 19567, 113,  220,   220, 220,   1447,  220,
         220,  220,  19567, 242,   198,   10814, 703, 389,   345,  1804}},
       // The tests of GPT-3-Encoder, of tiktoken and of a port of transformers.js.
       {"hello \U0001F44B world \U0001F30D", {31373, 50169, 233, 995, 12520, 234, 235}},
       {"indivisible", {521, 452, 12843}},
       {"This is some text", {1212, 318, 617, 2420}},
       {"toString constructor hasOwnProperty valueOf",
        {1462, 10100, 23772, 468, 23858, 21746, 1988, 5189}},
       {"hello <|endoftext|>", {31373, 220, 50256}},
       {"   leading space", {220, 220, 3756, 2272}},
       {"trailing space   ", {9535, 4386, 2272, 220, 220, 220}},
       {"test $1 R2 #3 \u20AC4 \u00A35 \u00A56 \u20A37 \u20B98 \u20B19 test",
        {9288, 720, 16, 371, 17,   1303, 18,  10432, 19,   4248, 20,  38221, 21,
         2343, 224, 96, 22,  2343, 224,  117, 23,    2343, 224,  109, 24,    1332}}});
  Random random(7);
  for (int i = 0; i < 10000; ++i) {
    const std::string text = random_unicode(random);
    if (gpt2.decode(ids_of(gpt2.encode(text))) == text) continue;
    FAIL_CHECK("not the same: " << visible_label(text));
  }
}

TEST_CASE("real pieces: BERT's ids as they are published") {
  const auto folder = real_folder("tokenizers/bert-base-uncased");
  if (!folder) return;
  const PieceTokenizer bert = PieceTokenizer::open(*folder);
  CHECK(bert.size() == 30522);
  // The tests of Hugging Face's transformers.js, test_tokenization_bert.js.
  check_published(
      bert,
      {{"You should've done this", {101, 2017, 2323, 1005, 2310, 2589, 2023, 102}},
       {"The company was founded in 2016.", {101, 1996, 2194, 2001, 2631, 1999, 2355, 1012, 102}},
       {"A\n'll !!to?'d''d of, can't.",
        {101,  1037, 1005, 2222, 999,  999,  2000, 1029, 1005, 1040,
         1005, 1005, 1040, 1997, 1010, 2064, 1005, 1056, 1012, 102}},
       {"let a = obj.toString();\ntoString();",
        {101,  2292, 1037, 1027, 27885, 3501, 1012, 2000, 3367, 4892,
         1006, 1007, 1025, 2000, 3367,  4892, 1006, 1007, 1025, 102}},
       {"UNwant\u00E9d,running", {101, 18162, 1010, 2770, 102}},
       {std::string("1\0002\xEF\xBF\xBD"
                    "3",
                    7),
        {101, 13138, 102}},
       {"\u751F\u6D3B\u7684\u771F\u8C1B\u662F", {101, 1910, 100, 1916, 1921, 100, 100, 102}},
       {"Hi  Hello", {101, 7632, 7592, 102}},
       {"test $1 R2 #3 \u20AC4 \u00A35 \u00A56 \u20A37 \u20B98 \u20B19 test",
        {101,   3231, 1002, 1015, 1054, 2475, 1001, 1017, 1574, 2549,
         27813, 1071, 2575, 100,  1576, 2620, 1575, 2683, 3231, 102}},
       {"you\u2026\u00A0\u00A0", {101, 2017, 1529, 102}},
       {"weird \uFF5E edge \uFF5E case", {101, 6881, 1995, 3341, 1995, 2553, 102}},
       {" \t\n", {101, 102}}});
  const SegmentedTokens pair = bert.encode_pair("hello", "world");
  CHECK(ids_of(pair.tokens) == Ids{101, 7592, 102, 2088, 102});
  CHECK(pair.segments == Ids{0, 0, 0, 1, 1});
}

TEST_CASE("real pieces: the text of stories260K is cut into the ids that the model wrote") {
  const auto folder = real_folder("models/stories260K");
  if (!folder) return;
  const PieceTokenizer stories = PieceTokenizer::open(*folder);
  CHECK(stories.size() == 512);
  const Ids written = Json::parse(read_file(*folder / "greedy_ids_200.json", 1 << 20)).get<Ids>();
  const std::string expected = read_file(*folder / "expected_greedy.txt", 1 << 20);
  const std::string text = stories.decode(std::span(written).subspan(1));
  CHECK(text.starts_with(expected));
  CHECK(ids_of(stories.encode(text)) == written);
}

}  // namespace headlight::test::test_pieces_real
