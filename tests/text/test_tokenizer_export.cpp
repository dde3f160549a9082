// A vocabulary of this program, written as a tokenizer.json and read again, gives every text the
// same ids; what that format cannot say is refused.
#include <doctest/doctest.h>

#include "core/base/random.h"
#include "core/base/utf8.h"
#include "core/text/tokenizer_export.h"
#include "tests/support/error_text.h"
#include "tests/text/piece_cases.h"

namespace headlight::test::test_tokenizer_export {
namespace {

std::string random_valid(Random& random) {
  static const char32_t kPoints[] = {'a',    'b',    'n',  ' ',     ' ',     '\n',   '\t',
                                     '1',    '2',    '.',  '!',     0xE9,    0x301,  0x5D0,
                                     0x4E2D, 0x3000, 0x85, 0xA0,    0x1F642, 0x200D, 0x1F468,
                                     0xB2,   0x663,  '\r', 0x1F1E9, 0x1F1EA};
  std::string text;
  // Runs, so that pieces of more than 64 bytes come.
  for (auto n = random.below(12); n > 0; --n) {
    const char32_t point = kPoints[random.below(std::size(kPoints))];
    for (auto k = random.percent(20) ? random.below(120) : 1; k > 0; --k) text += to_utf8(point);
  }
  return text;
}

void check_same(const Vocabulary& own, bool any_text) {
  const PieceTokenizer read = PieceTokenizer::from_json(tokenizer_json_of(own));
  CHECK(read.size() == own.size());
  Random random(11);
  for (int i = 0; i < 1500; ++i) {
    std::string text = random_valid(random);
    if (i % 5 == 0) text.insert(random.below(2) * text.size(), "[MASK]");
    CAPTURE(visible_label(text));
    const std::vector<PlacedToken> ours = own.encode_placed(text);
    CHECK(read.encode(text) == ours);
    if (any_text) CHECK(read.decode(ids_of(ours)) == text);
  }
  for (const Special special : {Special::kPad, Special::kMask, Special::kUnknown})
    CHECK(read.id_of(special) == own.id_of(special));
}

}  // namespace

TEST_CASE("a vocabulary as a tokenizer.json: bytes, byte pairs and characters have the same ids") {
  constexpr Special kSome[] = {Special::kPad, Special::kMask};
  check_same(Vocabulary::of_bytes(kSome), true);
  std::string text;
  for (int i = 0; i < 30; ++i)
    text += "banana nab  ab\n\n\u05D0\u00E9 12 a! \u4E2D\U0001F642 " + std::to_string(i % 7);
  check_same(Vocabulary::of_bpe(learn_bpe(text, 320), kSome), true);
  check_same(
      Vocabulary(TextCut::kCharacters, {"[PAD]", "[UNK]", "[MASK]", "a", "b", " ", "\n", "\u00E9",
                                        "e\u0301", "\u4E2D", "\r\n", "1", "a\u0301"}),
      false);
}

TEST_CASE(
    "a vocabulary as a tokenizer.json: what cannot be said there is refused with the reason") {
  const auto refused = [](const Vocabulary& v) {
    return error_of([&] { (void)tokenizer_json_of(v); });
  };
  CHECK(has(refused(Vocabulary(TextCut::kWords, {"the", "cat"})), "where words end"));
  CHECK(has(refused(Vocabulary(TextCut::kWordPiece, {"a", "##b"})), "where words end"));
  CHECK(has(refused(Vocabulary::of_numbers(5)), "numbers"));
  // "a" + "bc" and "ab" + "c" are two tokens of the same bytes.
  const Bpe twice({{'a', 'b'}, {'b', 'c'}, {256, 'c'}, {'a', 257}});
  CHECK(has(refused(Vocabulary::of_bpe(twice)), "258 and 259"));
}

}  // namespace headlight::test::test_tokenizer_export
