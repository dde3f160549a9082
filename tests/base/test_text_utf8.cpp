#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/base/printable.h"
#include "core/base/utf8.h"

namespace headlight::test_text_utf8 {

using headlight::clean_utf8;
using headlight::to_utf8;

namespace {

// Random bytes with many lead and continuation bytes, so that sequences break in every way.
std::string random_bytes(std::mt19937& rng) {
  static const std::string kLikely = "a \n\x80\xBF\xC2\xC3\xE0\xA0\xED\x9F\xF0\x90\xF4\x8F\xFF";
  std::string out;
  const std::size_t size = rng() % 40;
  for (std::size_t i = 0; i < size; ++i) {
    out += rng() % 3 ? kLikely[rng() % kLikely.size()] : static_cast<char>(rng() & 0xFF);
  }
  return out;
}

}  // namespace

TEST_CASE("clean_utf8 leaves valid text alone") {
  const std::vector<std::string> texts = {"",
                                          "plain",
                                          "é",
                                          "€",
                                          "😀",
                                          "שלום",
                                          std::string("a\0b", 3),
                                          "\xF4\x8F\xBF\xBF",
                                          "\xED\x9F\xBF",
                                          "\xEE\x80\x80"};
  for (const std::string& text : texts) {
    const CleanText clean = clean_utf8(text);
    CHECK(clean.text == text);
    CHECK(clean.replaced == 0);
  }
}

TEST_CASE("clean_utf8 replaces each maximal subpart of a broken sequence") {
  struct Case {
    const char* what;
    std::string bytes;
    int replaced;
  };
  const std::vector<Case> cases = {
      {"lone continuation", "\x80", 1},
      {"two lone continuations", "\x80\xBF", 2},
      {"overlong slash, 2 bytes", "\xC0\xAF", 2},
      {"overlong slash, 3 bytes", "\xE0\x80\xAF", 3},
      {"overlong, 4 bytes", "\xF0\x80\x80\xAF", 4},
      {"surrogate U+D800", "\xED\xA0\x80", 3},
      {"surrogate pair (CESU-8)", "\xED\xA0\xBD\xED\xB8\x80", 6},
      {"over U+10FFFF", "\xF4\x90\x80\x80", 4},
      {"lead byte F5", "\xF5\x80\x80\x80", 4},
      {"FE and FF", "\xFE\xFF", 2},
      {"truncated, 2 of 3 bytes", "\xE2\x82", 1},
      {"truncated, 3 of 4 bytes", "\xF0\x9F\x98", 1},
      {"truncated, 1 of 4 bytes", "\xF0", 1},
      {"new lead inside", "\xE2\x82\xC3\xA9", 1},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const CleanText clean = clean_utf8(c.bytes);
    CHECK(clean.replaced == c.replaced);
    // Neighbours survive, and nothing but U+FFFD is added.
    const std::string around = clean_utf8("<" + c.bytes + ">").text;
    CHECK(around == "<" + clean.text + ">");
  }
  // The Unicode Standard's own example (table 3-8).
  CHECK(clean_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64").text ==
        "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
}

TEST_CASE("clean_utf8 is idempotent and its output is valid for random bytes") {
  std::mt19937 rng(1);
  for (int i = 0; i < 5000; ++i) {
    const std::string bytes = random_bytes(rng);
    const CleanText once = clean_utf8(bytes);
    const CleanText twice = clean_utf8(once.text);
    REQUIRE(twice.text == once.text);
    REQUIRE(twice.replaced == 0);
    std::string rebuilt;
    for (const char32_t c : to_code_points(bytes)) rebuilt += to_utf8(c);
    REQUIRE(rebuilt == once.text);
  }
}

TEST_CASE("code points go there and back") {
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 251) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    const std::u32string back = to_code_points(to_utf8(c));
    REQUIRE(back.size() == 1);
    REQUIRE(back[0] == c);
  }
  CHECK(to_utf8(0xD800) == "\uFFFD");
  CHECK(to_utf8(0x110000) == "\uFFFD");
}

TEST_CASE("describe_character lists code points") {
  CHECK(describe_character("") == "");
  CHECK(describe_character("A") == "U+0041");
  CHECK(describe_character("😀") == "U+1F600");
  CHECK(describe_character("e\u0301") == "U+0065 U+0301");
  CHECK(describe_character("\U0010FFFF") == "U+10FFFF");
  CHECK(describe_character("\xFF") == "U+FFFD");
}

TEST_CASE("visible_label shows what is invisible") {
  CHECK(visible_label("") == "∅");
  CHECK(visible_label("cat") == "cat");
  CHECK(visible_label(" ") == "␣");
  CHECK(visible_label("\t") == "⇥");
  CHECK(visible_label("\n") == "↵");
  CHECK(visible_label("\r\n") == "␍↵");
  CHECK(visible_label(std::string(1, '\0')) == "␀");
  CHECK(visible_label("\x1B") == "␛");
  CHECK(visible_label("\x7F") == "␡");
  CHECK(visible_label("\u0085") == "U+0085");
  CHECK(visible_label("\u00A0") == "U+00A0");
  CHECK(visible_label("\u3000") == "U+3000");
  CHECK(visible_label("\u200B") == "U+200B");
  CHECK(visible_label("\u200D") == "U+200D");
  CHECK(visible_label("\uFEFF") == "U+FEFF");
  CHECK(visible_label("\u2066") == "U+2066");
  CHECK(visible_label("x\u202Ey") == "xU+202Ey");
  CHECK(visible_label("<0xE4>") == "<0xE4>");
  CHECK(visible_label("\xFF") == "\uFFFD");
}

TEST_CASE("visible_label composes, and keeps joiners inside visible text") {
  CHECK(visible_label("e\u0301") == "\u00E9");
  CHECK(visible_label("\u1100\u1161") == "\uAC00");
  const std::string family = "👨\u200D👩\u200D👧";
  CHECK(visible_label(family) == family);
  CHECK(visible_label("❤\uFE0F") == "❤\uFE0F");
  const std::string persian = "می\u200Cخواهم";
  CHECK(visible_label(persian) == persian);
}

TEST_CASE("visible_label is never empty and always valid") {
  std::mt19937 rng(2);
  for (int i = 0; i < 3000; ++i) {
    const std::string label = visible_label(random_bytes(rng));
    REQUIRE(!label.empty());
    REQUIRE(clean_utf8(label).replaced == 0);
  }
}

TEST_CASE("printable: what would act on a terminal is shown, all else stays") {
  CHECK(printable("a\x1b[31mb\x07\r\x7f") == "a␛[31mb␇␍␡");
  CHECK(printable("\xC2\x9B"
                  "2J") == "U+009B2J");
  CHECK(printable("x\xE2\x80\xAEy") == "xU+202Ey");
  CHECK(printable("\xFF") == "\xEF\xBF\xBD");
  for (const char* text :
       {"", "one\n\ttwo three", "−1.5e−3 → “é”", "我喜欢", "👩‍👩‍👧", "שלום"})
    CHECK(printable(text) == text);
}

TEST_CASE("visual_order leaves left-to-right text unchanged") {
  for (const std::string text : {"", "cat", "我喜欢", "e\u0301", "😀", "(a]"}) {
    CHECK(visual_order(text) == text);
  }
}

TEST_CASE("visual_order turns Hebrew round") {
  CHECK(visual_order("שלום") == "םולש");
  // Left-to-right runs keep their order, brackets face the right way.
  CHECK(visual_order("שלום (abc)") == "(abc) םולש");
  CHECK(visual_order("abc שלום") == "abc םולש");
  // A point stays behind its letter: shin + shin dot, vav.
  CHECK(visual_order("\u05E9\u05C1\u05D5") == "\u05D5\u05E9\u05C1");
}

TEST_CASE("visual_order joins Arabic letters") {
  // seen, lam-alef, meem: the lam and alef become one ligature.
  CHECK(visual_order("\u0633\u0644\u0627\u0645") == "\uFEE1\uFEFC\uFEB3");
  // A vowel sign stays a combining mark after its letter.
  CHECK(visual_order("\u0628\u064E") == "\uFE8F\u064E");
  CHECK(visual_order("\u067E\u0686") == "\uFB7B\uFB58");  // Persian peh, tcheh
}

TEST_CASE("visual_order gives valid text for random code points") {
  std::mt19937 rng(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t k = rng() % 12; k > 0; --k) {
      text += to_utf8(static_cast<char32_t>(rng() % 2 ? 0x590 + rng() % 0x1B0 : rng() % 0x2100));
    }
    REQUIRE(clean_utf8(visual_order(text)).replaced == 0);
  }
}

}  // namespace headlight::test_text_utf8
