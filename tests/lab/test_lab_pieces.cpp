// Pieces of words: what is said of a sentence's tokens, and when it is not.
#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/lab/learned_pieces.h"
#include "tests/support/error_text.h"
#include "tests/support/lab_bench.h"

namespace headlight::test_lab_pieces {

TEST_CASE("labs: pieces of words say what merges did to this sentence") {
  LabBench bench;
  const LabResult usual = bench.run("pieces");
  for (const char* id : {"first", "word", "apart", "unknown", "emoji"})
    CHECK(has_notice(usual, id));
  CHECK(usual.value("vocabulary") == 256 + 64);
  CHECK(right_answer(usual, "more") == "fewer");
  CHECK(right_answer(usual, "other") == "more");
  CHECK(all_are_drawn(find_lab("pieces"), usual));
  // More merges never make a text longer.
  CHECK(std::ranges::is_sorted(series_of(usual, "length.sentence").y, std::greater{}));
  CHECK(series_of(usual, "length.sentence").y[0] == 1);  // ASCII: a byte is a character
  CHECK(series_of(usual, "length.chinese").y[0] == 3);

  const LabResult none = bench.run("pieces", kLabSentence, {{"merges", "0"}});
  for (const char* id : {"word", "apart"}) CHECK_FALSE(has_notice(none, id));
  CHECK(right_answer(none, "more") == "");
  // Learned from Chinese as well, the Chinese sentence gets shorter, and nothing is unknown.
  const LabResult both =
      bench.run("pieces", kLabSentence, {{"learned", "both"}, {"merges", "200"}});
  CHECK(right_answer(both, "other") == "fewer");
  for (const char* id : {"apart", "unknown"}) CHECK_FALSE(has_notice(both, id));
}

TEST_CASE("labs: pieces of a sentence that repeats itself, and of another language") {
  LabBench bench;
  // The first merge is of the story alone, the second of the sentence.
  const LabResult later = bench.run(
      "pieces", "zzqqzzqqzzqqzzqqzzqqzzqqzzqqzzqqzzqqzzqqzzqqzzqqzzqqzzqq", {{"merges", "1"}});
  CHECK(right_answer(later, "more") != "fewer");
  std::string families;
  for (int i = 0; i < 9; ++i) families += "👨‍👩‍👧 ";
  CHECK_FALSE(has_notice(bench.run("pieces", families), "emoji"));
  const LabResult chinese =
      bench.run("pieces", "小狗找不到它的球，很难过。", {{"learned", "chinese"}});
  CHECK(series_of(chinese, "length.english").y[0] == 1);
  CHECK(std::ranges::count(chinese.series, std::string("length.chinese"), &LabSeries::name) == 0);
}

TEST_CASE("labs: pieces of a long text, of none, and of any model's sentence") {
  LabBench bench;
  std::string longest;
  for (int i = 0; i < 1000; ++i) longest += "word" + std::to_string(i) + " ";
  const LabResult cut = bench.run("pieces", longest);
  REQUIRE(cut.notes.size() == 1);
  CHECK(say(Language::kEnglish, cut.notes[0]).find("first 400 of ") != std::string::npos);
  for (const LabPicture& p : cut.pictures)
    CHECK(p.cells.size() == p.rows.size() * p.columns.size());
  CHECK(error_of([&] { bench.run("pieces", " "); }).find("empty") != std::string::npos);
  CHECK(bench.run("pieces", "3 1 2 [SEP]", {}, "sort").value("tokens.sentence") > 0);
  CHECK_FALSE(has_notice(bench.run("pieces", "x"), "word"));
  Document document;
  int told = 0;
  CHECK_THROWS_AS(bench.run("pieces", document, {}, [&](const Progress&) { return ++told < 3; }),
                  Cancelled);
  CHECK(told == 3);
}

TEST_CASE("labs: what is learned is cut as it was after each merge") {
  LearnedPieces learned("abab abab abab", 8);
  CHECK(learned.after(0).encode("abab").size() == 4);
  CHECK(learned.after(1).encode("abab").size() == 2);  // ab
  CHECK(learned.after(2).encode("abab").size() == 1);
  CHECK(learned.cut("abab", 0) == std::vector<std::string>{"a", "##b", "##a", "##b"});
  CHECK(learned.cut("abc", 8) == std::vector<std::string>{"[UNK]"});
  CHECK(learned.learned_as("a") == 0);
  CHECK(learned.learned_as(learned.cut("abab", 8)[0]) > 0);
  CHECK(learned.distinct_words() == 1);
}

}  // namespace headlight::test_lab_pieces
