// Where tokenizers cut: the expressions that are matched by hand against ICU, every way to split,
// and what normalizers do to a text and its places.
#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/utf8.h"
#include "core/text/pieces/fast_patterns.h"
#include "core/text/pieces/steps/normalizers.h"
#include "core/text/pieces/steps/pre_tokenizers.h"
#include "tests/support/error_text.h"
#include "tests/text/piece_cases.h"

namespace headlight::test::test_piece_patterns {
namespace {

std::string random_text(Random& random) {
  static const char32_t kPoints[] = {
      'a',  'B',  's',  't',    'l',    'v',    'e',   'r',  'm',    'd',     '\'',   '\'',
      ' ',  ' ',  ' ',  '\n',   '\r',   '\t',   '1',   '2',  '.',    '!',     0x17F,  0xE9,
      0x85, 0xA0, 0x0B, 0x2028, 0x3000, 0x4E2D, 0x301, 0xB2, 0x2167, 0x1F642, 0x200D, 0x660};
  std::string text;
  for (auto n = random.below(24); n > 0; --n)
    text += to_utf8(kPoints[random.below(std::size(kPoints))]);
  return text;
}

std::vector<std::string> split(const Json& pre_tokenizer, const std::string& text) {
  WordCut cut{AlignedText(text, 0), {{0, text.size()}}};
  if (text.empty()) cut.words.clear();
  read_pre_tokenizer(PieceJson(pre_tokenizer, "pre_tokenizer"))(cut);
  std::vector<std::string> words;
  for (const ByteSpan& word : cut.words)
    words.push_back(cut.text.text().substr(word.begin, word.size()));
  return words;
}

std::string normal(const Json& normalizer, const std::string& text) {
  AlignedText aligned(text, 0);
  read_normalizer(PieceJson(normalizer, "normalizer"))(aligned);
  return aligned.text();
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("pieces: the expressions of GPT-2, Llama 3 and Qwen 2 by hand are those of ICU") {
  Random random(5);
  for (const char* pattern : {kGpt2Pattern, kLlama3Pattern, kQwen2Pattern}) {
    const PatternMatches fast = matches_of_regex(pattern, "");
    const PatternMatches icu = matches_of_regex(pattern, "", false);
    for (int i = 0; i < 1500; ++i) {
      const std::string text = i == 0 ? "I'LL don't 12345  x\n\n y \r\n" : random_text(random);
      CAPTURE(pattern);
      CAPTURE(visible_label(text));
      std::vector<ByteSpan> ours, theirs;
      fast(text, ours);
      icu(text, theirs);
      CHECK(ours == theirs);
    }
  }
}

TEST_CASE("pieces: an expression that tries too many ways is refused by name, over all of a text") {
  const PatternMatches find = matches_of_regex("(a+)+$", "");
  std::vector<ByteSpan> matches;
  const std::string refused = error_of([&] { find(std::string(50, 'a') + "b", matches); });
  CHECK(has(refused, "(a+)+$"));
  find(std::string(12, 'a') + "b" + std::string(12, 'a'), matches);
  CHECK(matches == std::vector<ByteSpan>{{13, 25}});
  // Each word alone would do.
  const Json words = {{"pre_tokenizer",
                       {{"type", "Sequence"},
                        {"pretokenizers",
                         {{{"type", "WhitespaceSplit"}},
                          {{"type", "Split"},
                           {"pattern", Json::object({{"Regex", "(a+)+$"}})},
                           {"behavior", "Isolated"}}}}}}};
  const PieceTokenizer tokenizer = opened(tokenizer_of(whole_words({"?"}), words));
  const std::string word = std::string(18, 'a') + "b ";
  CHECK(tokenizer.encode(word).size() == 1);
  std::string many;
  for (int i = 0; i < 2000; ++i) many += word;
  CHECK(has(error_of([&] { tokenizer.encode(many); }), "(a+)+$"));
}

TEST_CASE("pieces: long texts of the usual kind are never refused") {
  const PatternMatches find = matches_of_regex(kGpt2Pattern, "", false);
  std::string text;
  while (text.size() < 1000000) text += "It's 1,024 words long \u2014 and they'll go on\n\n  so. ";
  std::vector<ByteSpan> matches;
  find(text, matches);
  CHECK(matches.back().end == text.size());
  matches.clear();
  find(std::string(300000, ' '), matches);
  CHECK(matches.size() == 1);
}

TEST_CASE("pieces: what a split does with a match and its neighbours") {
  const auto by = [](const char* behaviour, bool invert = false) {
    return split({{"type", "Split"},
                  {"pattern", Json::object({{"String", "-"}})},
                  {"behavior", behaviour},
                  {"invert", invert}},
                 "the-final--countdown-");
  };
  CHECK(by("Removed") == Words{"the", "final", "countdown"});
  CHECK(by("Isolated") == Words{"the", "-", "final", "-", "-", "countdown", "-"});
  CHECK(by("MergedWithPrevious") == Words{"the-", "final-", "-", "countdown-"});
  CHECK(by("MergedWithNext") == Words{"the", "-final", "-", "-countdown", "-"});
  CHECK(by("Contiguous") == Words{"the", "-", "final", "--", "countdown", "-"});
  CHECK(by("Removed", true) == Words{"-", "-", "-", "-"});
}

TEST_CASE("pieces: pre-tokenizers") {
  const std::string text = "Hey, y'all! 12\u00B2 ok_x";
  CHECK(split({{"type", "Whitespace"}}, text) ==
        Words{"Hey", ",", "y", "'", "all", "!", "12", "\u00B2", "ok_x"});
  CHECK(split({{"type", "WhitespaceSplit"}}, " a\t b\u3000c") == Words{"a", "b", "c"});
  CHECK(split({{"type", "BertPreTokenizer"}}, "a$b `c` \u201Cd\u201D") ==
        Words{"a", "$", "b", "`", "c", "`", "\u201C", "d", "\u201D"});
  CHECK(split({{"type", "Punctuation"}, {"behavior", "Contiguous"}}, "a?!b") ==
        Words{"a", "?!", "b"});
  CHECK(split({{"type", "Digits"}, {"individual_digits", true}}, "a12b") ==
        Words{"a", "1", "2", "b"});
  CHECK(split({{"type", "Digits"}, {"individual_digits", false}}, "a12b") == Words{"a", "12", "b"});
  CHECK(split({{"type", "CharDelimiterSplit"}, {"delimiter", "x"}}, "axxb") == Words{"a", "b"});
  const Json regex = {{"type", "Split"},
                      {"pattern", Json::object({{"Regex", R"(\s+|\d)"}})},
                      {"behavior", "Isolated"}};
  // U+0085 is white space to Unicode, and not to ICU's own \s.
  CHECK(split(regex, "a\u0085b1") == Words{"a", "\u0085", "b", "1"});
  const auto byte_level = [](bool prefix, bool use) {
    return Json{{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"use_regex", use}};
  };
  CHECK(split(byte_level(true, true), "a b\n\xC3\xA9") ==
        Words{"\u0120a", "\u0120b", "\u010A", "\u00C3\u00A9"});
  CHECK(split({{"type", "ByteLevel"}}, "a b") == Words{"\u0120a", "\u0120b"});
  CHECK(split(byte_level(false, false), "a b") == Words{"a\u0120b"});
  const auto metaspace = [](const char* scheme, bool cut) {
    return Json{{"type", "Metaspace"},
                {"replacement", "\u2581"},
                {"prepend_scheme", scheme},
                {"split", cut}};
  };
  CHECK(split(metaspace("always", true), "a  b") == Words{"\u2581a", "\u2581", "\u2581b"});
  CHECK(split(metaspace("always", true), " a") == Words{"\u2581a"});
  CHECK(split(metaspace("never", false), "a b") == Words{"a\u2581b"});
  // "first": only where the text begins, here once for two words.
  const Json two = {{"type", "Sequence"},
                    {"pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace("first", true)}}};
  CHECK(split(two, "a b") == Words{"\u2581a", "b"});
}

TEST_CASE("pieces: normalizers") {
  CHECK(normal({{"type", "NFD"}}, "\u00E9\u1E69") == "e\u0301s\u0323\u0307");
  CHECK(normal({{"type", "NFC"}}, "e\u0301 s\u0307\u0323") == "\u00E9 \u1E69");
  CHECK(normal({{"type", "NFKC"}}, "\uFB01\u2167\u00BD") == "fiVIII1\u20442");
  CHECK(normal({{"type", "NFKD"}}, "\uFDFA").size() > 18);  // the longest decomposition
  CHECK(normal({{"type", "NFC"}}, "\U0001F642e\u0301\xFF") == "\U0001F642\u00E9\xFF");
  CHECK(normal({{"type", "Lowercase"}}, "A\u0130\u03A3\u1E9E") == "ai\u0307\u03C3\u00DF");
  CHECK(normal({{"type", "StripAccents"}}, "e\u0301\u0903a") == "ea");
  CHECK(normal({{"type", "Nmt"}},
               "a\tb\r\n\x01\x0B\x1F\x7F\u008F\u009Fc\u1680\u200B\u200F\u2581\uFEFF") ==
        "a b  c     ");
  CHECK(normal({{"type", "Nmt"}}, "\u3000\u0085\u00A0\u200A") == "\u3000\u0085\u00A0\u200A");
  CHECK(normal({{"type", "Prepend"}, {"prepend", "_"}}, "a") == "_a");
  CHECK(normal({{"type", "Prepend"}, {"prepend", "_"}}, "") == "");
  CHECK(normal({{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}, "\u3000 a b ") ==
        "a b ");
  CHECK(normal({{"type", "Strip"}}, "  ") == "");
  const Json runs = {
      {"type", "Replace"}, {"pattern", Json::object({{"Regex", " {2,}"}})}, {"content", " "}};
  CHECK(normal(runs, "a   b  ") == "a b ");
  const auto bert = [](bool lower, Json strip) {
    return Json{{"type", "BertNormalizer"},
                {"clean_text", true},
                {"handle_chinese_chars", true},
                {"strip_accents", std::move(strip)},
                {"lowercase", lower}};
  };
  CHECK(normal(bert(true, nullptr), "H\u00C9\tx\u200B\u4E2Da") == "he x \u4E2D a");
  CHECK(normal(bert(false, nullptr), "H\u00C9") == "H\u00C9");
  CHECK(normal(bert(true, false), "H\u00C9") == "h\u00E9");
}

TEST_CASE("pieces: after normalizers each byte still knows where it came from") {
  AlignedText text("xe\u0301 \uFB01", 10);
  const Json all = {{"type", "Sequence"},
                    {"normalizers",
                     {{{"type", "NFKC"}},
                      {{"type", "Prepend"}, {"prepend", "\u2581"}},
                      {{"type", "Replace"},
                       {"pattern", Json::object({{"String", " "}})},
                       {"content", "\u2581"}}}}};
  read_normalizer(PieceJson(all, ""))(text);
  REQUIRE(text.text() == "\u2581x\u00E9\u2581fi");
  CHECK(text.place(0, 3) == BytePlace{10, 10});
  CHECK(text.place(3, 4) == BytePlace{10, 11});
  CHECK(text.place(4, 6) == BytePlace{11, 14});
  CHECK(text.place(6, 9) == BytePlace{14, 15});
  CHECK(text.place(9, 10) == BytePlace{15, 18});
}

TEST_CASE("pieces: SentencePiece's table of replacements") {
  // "A" becomes "a", U+00E9 "e"; the trie by hand: a root with children 'A' and 0xC3, that with
  // 0xA9. A unit is offset << 10 | has a value << 8 | label; a child stands at node ^ offset ^
  // byte.
  std::vector<std::uint32_t> units(2048, 0);
  const auto unit = [](std::uint32_t offset, bool value, std::uint32_t label) {
    return offset << 10 | (value ? 1u << 8 : 0u) | label;
  };
  units[0] = unit(256, false, 0);                         // children at 256 ^ byte
  units[256 ^ 'A'] = unit((256 ^ 'A') ^ 600, true, 'A');  // its value at 600
  units[600] = 0x80000000u | 0;
  units[256 ^ 0xC3] = unit((256 ^ 0xC3) ^ 1024, false, 0xC3);  // children at 1024 ^ byte
  units[1024 ^ 0xA9] = unit((1024 ^ 0xA9) ^ 700, true, 0xA9);
  units[700] = 0x80000000u | 2;
  std::string bytes;
  const auto add = [&](std::uint32_t number) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(number >> (8 * i));
  };
  add(static_cast<std::uint32_t>(units.size() * 4));
  for (const std::uint32_t u : units) add(u);
  bytes += std::string("a\0e\0", 4);
  std::string base64;
  const char* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = i; k < i + 3; ++k)
      three = three << 8 | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0u);
    for (int k = 0; k < 4; ++k)
      base64 +=
          i + static_cast<std::size_t>(k) > bytes.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
  }
  const Json map = {{"type", "Precompiled"}, {"precompiled_charsmap", base64}};
  CHECK(normal(map, "xA\u00E9 \u00E8\u4E2DA") == "xae \u00E8\u4E2Da");
  // A cluster of less than 6 bytes goes as a whole where its beginning is in the table.
  CHECK(normal(map, "A\u0301b") == "ab");
  CHECK(normal(map, "A\u0301\u20D0b") == "a\u0301\u20D0b");  // one of 6 does not
  CHECK(has(error_of([&] {
              normal({{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA!"}}, "a");
            }),
            "base64"));
  CHECK(has(error_of([&] {
              normal({{"type", "Precompiled"}, {"precompiled_charsmap", "/////w=="}}, "a");
            }),
            "base64"));
}

TEST_CASE("pieces: components that are not known are refused by name") {
  const auto pre = [](const Json& json) { return error_of([&] { split(json, "a"); }); };
  const auto norm = [](const Json& json) { return error_of([&] { normal(json, "a"); }); };
  CHECK(has(pre({{"type", "UnicodeScripts"}}), "UnicodeScripts"));
  CHECK(has(norm({{"type", "Squash"}}), "Squash"));
  CHECK(has(norm({{"type", "Sequence"}, {"normalizers", {{{"type", "Odd"}}}}}),
            "normalizer.normalizers[0]"));
  CHECK(has(pre({{"type", "Digits"}, {"groups", 3}}), "pre_tokenizer.groups"));
  CHECK(has(pre({{"type", "Metaspace"}, {"prepend_scheme", "last"}}), "last"));
  CHECK(has(pre({{"type", "Split"},
                 {"pattern", Json::object({{"Regex", "(a"}})},
                 {"behavior", "Isolated"}}),
            "pre_tokenizer.pattern.Regex"));
  CHECK(has(
      pre({{"type", "Split"}, {"pattern", Json::object({{"String", "a"}})}, {"behavior", "Odd"}}),
      "Odd"));
  CHECK(has(pre({{"type", "Split"},
                 {"pattern", Json::object({{"String", ""}})},
                 {"behavior", "Isolated"}}),
            "not empty"));
  CHECK(has(pre(Json::array()), "pre_tokenizer"));
}

}  // namespace headlight::test::test_piece_patterns
