// The user's own text: cut in every way, split, drawn from; files that change while they are read;
// and every kind of bad input with what to do about it.
#include <doctest/doctest.h>

#include <chrono>
#include <set>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "tests/support/text_source_support.h"

namespace headlight::test_text_source {
namespace {

Ids all_ids(const TextSource& source) { return source.window(0, static_cast<int>(source.size())); }

std::string refused(const std::string& text,
                    const TextOptions& options = by(TextCut::kCharacters)) {
  return error_of([&] { (void)TextSource::load(pasted(text), options); });
}

const std::string kText =
    "The cat sat. שלום עולם!\r\nA 👨\u200D👩\u200D👧 e\u0301 was here, 我喜欢 the the the cat.\n";

}  // namespace

TEST_CASE(
    "text source: cut in every way, the ids are those of the vocabulary and the text returns") {
  std::string text;
  for (int i = 0; i < 20; ++i) text += kText + "no. " + std::to_string(i) + "\n\n";
  for (const TextCut cut :
       {TextCut::kWords, TextCut::kCharacters, TextCut::kBytes, TextCut::kBpe}) {
    CAPTURE(to_string(cut));
    TextOptions options = by(cut);
    if (cut == TextCut::kBpe) options.vocabulary = 300;
    const TextSource source = TextSource::load(pasted(text), options);
    const Ids ids = all_ids(source);
    CHECK(ids == source.vocabulary()->encode(text));
    if (cut != TextCut::kWords) CHECK(source.vocabulary()->decode(ids) == text);
    CHECK(source.notes().empty());
    const auto train = source.part(Split::kTraining), rest = source.part(Split::kValidation);
    CHECK(rest.begin == train.end);
    CHECK(rest.end == source.size());
    CHECK(rest.end - rest.begin == source.size() / 10);
    const double bytes = source.bytes_per_token(Split::kTraining) * double(train.end) +
                         source.bytes_per_token(Split::kValidation) * double(rest.end - rest.begin);
    CHECK(bytes == doctest::Approx(double(text.size())));
    // The same vocabulary again: the same ids.
    options.known = source.vocabulary();
    CHECK(all_ids(TextSource::load(pasted(text), options)) == ids);
    CHECK(*TextSource::load(pasted(text), options).vocabulary() == *source.vocabulary());
  }
}

TEST_CASE("text source: characters in code point order, words by how often they come") {
  const TextSource characters = TextSource::load(pasted("bananab"), by(TextCut::kCharacters));
  CHECK(*characters.vocabulary()->tokens() == Words{"a", "b", "n"});
  const std::string text = "b a c a b a d the end of it";
  const TextSource words = TextSource::load(pasted(text), by(TextCut::kWords));
  CHECK(*words.vocabulary()->tokens() == Words{"a", "b", "c", "d", "end", "it", "of", "the"});
  TextOptions few = by(TextCut::kWords);
  few.vocabulary = 3;
  const TextSource kept = TextSource::load(pasted(text), few);
  CHECK(*kept.vocabulary()->tokens() == Words{"[UNK]", "a", "b"});
  CHECK(all_ids(kept) == Ids{2, 1, 0, 1, 2, 1, 0, 0, 0, 0, 0});
  few.vocabulary = 1;
  CHECK(has(refused(text, few), "room for at least 2 tokens"));
  // An unknown word for a known vocabulary without [UNK].
  TextOptions known = by(TextCut::kCharacters);
  known.known = characters.vocabulary();
  CHECK(has(refused("banana split", known), "does not know '␣'"));
}

TEST_CASE("text source: byte pairs within characters make each character a token, others bytes") {
  std::string text;
  for (int i = 0; i < 8; ++i) text += "床前明月光，疑是地上霜。\nthe 月 é";
  TextOptions options = by(TextCut::kBpe);
  options.vocabulary = 1000;
  options.characters = true;
  const TextSource source = TextSource::load(pasted(text), options);
  const Vocabulary& vocabulary = *source.vocabulary();
  CHECK(vocabulary.size() < 320);  // 256 bytes, 12 characters and their beginnings
  const std::vector<int> ids = all_ids(source);
  CHECK(vocabulary.decode(ids) == text);
  CHECK(ids.size() == to_code_points(text).size());
  for (int id = 0; id < vocabulary.size(); ++id)
    CHECK(to_code_points(clean_utf8(std::string(vocabulary.text_of(id))).text).size() <= 3);
  // Not in the text: its bytes.
  CHECK(vocabulary.encode("龙").size() >= 2);
  CHECK(vocabulary.encode("🎉").size() == 4);
  CHECK(vocabulary.decode(vocabulary.encode("龙🎉")) == "龙🎉");
  // Words do reach over characters without it.
  options.characters = false;
  CHECK(all_ids(TextSource::load(pasted(text), options)).size() < ids.size() / 2);
}

TEST_CASE("text source: more than 65,536 different tokens") {
  std::string text;
  for (int i = 0; i < 70000; ++i) text += "w" + std::to_string(i) + (i % 9 ? " " : "\r\n");
  text += "e\u0301\u0301 我喜欢机器学习 ";
  for (int i = 0; i < 70000; ++i) text += "w" + std::to_string(i) + " ";
  TextOptions options = by(TextCut::kWords);
  CHECK(has(refused(text, options), "the text has 70,0"));
  CHECK(has(refused(text, options), "cut it by characters or byte pairs (bpe)"));
  options.most_tokens = 100000;
  const TextSource source = TextSource::load(pasted(text), options);
  CHECK(source.vocabulary()->size() > 70000);
  CHECK(all_ids(source) == source.vocabulary()->encode(text));
  options.vocabulary = 100;  // narrow again
  const TextSource few = TextSource::load(pasted(text), options);
  CHECK(all_ids(few) == few.vocabulary()->encode(text));
  const TextSource characters = TextSource::load(pasted(text), by(TextCut::kCharacters));
  CHECK(all_ids(characters) == characters.vocabulary()->encode(text));
}

TEST_CASE("text source: a long text is cut in steps that no token feels") {
  constexpr std::size_t kStep = 1u << 20;
  for (const std::string across : {"together", "\r\n", "e\u0301", "👨\u200D👩"}) {
    // The step would end after each byte of it in turn.
    for (std::size_t k = 1; k < across.size(); ++k) {
      std::string text(kStep - k, ' ');
      for (std::size_t i = 0; i + 3 < text.size(); i += 3) text.replace(i, 2, "ab");
      text += across + " and so on";
      CAPTURE(across);
      const TextCut cut = across == "together" ? TextCut::kWords : TextCut::kCharacters;
      const TextSource source = TextSource::load(pasted(text), by(cut));
      const Ids expected = source.vocabulary()->encode(across + " and so on");
      const auto n = static_cast<int>(expected.size());
      REQUIRE(source.window(source.size() - expected.size(), n) == expected);
      if (k == 3) break;
    }
  }
}

TEST_CASE("text source: windows are drawn from their own part, the same for the same seed") {
  std::string text;
  for (int i = 0; i < 90; ++i) text += "ab";
  for (int i = 0; i < 10; ++i) text += "yz";
  const LoadedTask loaded = load_text_task(pasted(text), by(TextCut::kCharacters, 8));
  const Task& task = *loaded.task;
  CHECK(task.kind() == TaskKind::kNextToken);
  CHECK(task.context() == 8);
  CHECK(task.has(Split::kValidation));
  CHECK(task.bytes_per_token(Split::kValidation) == 1);
  Random a(1), b(1);
  std::set<Ids> windows;
  for (const Split split : {Split::kTraining, Split::kValidation}) {
    for (int i = 0; i < 300; ++i) {
      const TaskExample e = task.draw(a, split);
      REQUIRE(e == task.draw(b, split));
      REQUIRE(e.tokens.size() == 8);
      for (std::size_t k = 0; k < 7; ++k) REQUIRE(e.targets[k] == e.tokens[k + 1]);
      const std::string row =
          task.vocabulary().decode(e.tokens) + task.vocabulary().token(e.targets[7]);
      const bool validation = split == Split::kValidation;
      REQUIRE(row.find_first_of(validation ? "ab" : "yz") == row.npos);
      windows.insert(e.tokens);
    }
  }
  CHECK(windows.size() == 4);
  // Each of two possible windows, the first and the last, comes.
  const LoadedTask two = load_text_task(pasted("abcdefghij"), by(TextCut::kCharacters, 8));
  std::set<Ids> both;
  for (int i = 0; i < 50; ++i) both.insert(two.task->draw(a).tokens);
  CHECK(both == std::set<Ids>{{0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 7, 8}});
}

TEST_CASE("text source: too short, empty, binary, broken or out of range") {
  CHECK(refused("") ==
        "the pasted text is empty: expected some text to learn from. Choose another one");
  CHECK(has(refused("\xEF\xBB\xBF"), "is empty"));
  CHECK(refused("abcd") ==
        "the pasted text is too short: a window of 4 tokens needs 5 (one more to predict), but it "
        "has 4. Choose a shorter context or a longer text");
  CHECK(has(refused(" \n \t  ", by(TextCut::kWords)), "but it has 0"));
  CHECK(has(refused(std::string("abcdef\0gh", 9)), "byte 6 is zero"));
  CHECK(has(refused("\xFF\xFE"
                    "a\0b\0c\0"),
            "is in UTF-16"));
  std::string latin;
  for (int i = 0; i < 20; ++i) latin += "sch\xF6n und gut ";
  CHECK(has(refused(latin), "is not in UTF-8: 20 of its 280 bytes"));
  // A little damage is repaired and told.
  const TextSource repaired = TextSource::load(pasted("ab\xFFrakadabra"), by(TextCut::kCharacters));
  CHECK(has(say(repaired.notes()), "bytes that were not UTF-8 (1) became U+FFFD"));
  CHECK(repaired.vocabulary()->find("\uFFFD"));
  CHECK(say(TextSource::load(pasted("\xEF\xBB\xBF"
                                    "abcdefg"),
                             by(TextCut::kBytes))
                .notes()) ==
        "The part for validation would be too short, so all of it is used for training. For a "
        "validation loss choose a larger share, a shorter context or more text\n");
  CHECK(!text_task(std::make_shared<const TextSource>(
                       TextSource::load(pasted("abcdefg"), by(TextCut::kBytes))))
             .task->has(Split::kValidation));
  CHECK(has(refused(kText, by(TextCut::kBytes, 0)), "the context must be between 1 and 65536"));
  TextOptions options = by(TextCut::kBytes);
  options.validation = 51;
  CHECK(
      has(refused(kText, options), "the share for validation in percent must be between 0 and 50"));
  options = by(TextCut::kBpe);
  options.vocabulary = 100;
  CHECK(has(refused(kText, options), "byte pairs need 257 to 65536 tokens"));
  options = by(TextCut::kCharacters);
  options.most_tokens = 5;
  CHECK(has(refused(kText, options), "cut it by byte pairs (bpe) with fewer tokens, or by bytes"));
}

TEST_CASE("text source: files, also those that change while they are read") {
  std::string text;
  while (text.size() < (3u << 20)) text += "all work and no play ";
  const TextOptions options = by(TextCut::kBytes);
  double share = 0;
  std::set<std::string> doing;
  const auto watch = [&](const Progress& progress) {
    doing.emplace(progress.doing);
    share = progress.share;
    REQUIRE((share >= 0 && share <= 1));
    return true;
  };
  {
    const TemporaryFile file(text);
    CHECK(TextSource::load({file.path(), ""}, options, watch).size() == text.size());
    CHECK(doing == std::set<std::string>{"progress.reading", "progress.cutting"});
  }
  {
    const TemporaryFile file(text);  // deleted after the first piece: what is open stays
    const auto remove = [&](const Progress& progress) {
      if (progress.share > 0) std::filesystem::remove(file.path());
      return true;
    };
    CHECK(TextSource::load({file.path(), ""}, options, remove).size() == text.size());
    CHECK(!std::filesystem::exists(file.path()));
    const std::string message = error_of([&] {
      (void)TextSource::load({file.path(), ""}, options);
    });
    CHECK(has(message, "No such file or directory. Check the spelling of the path,"));
  }
  for (const std::string_view during : {"progress.reading", "progress.cutting"}) {
    for (const int rest : {0, 5000, 2'500'000}) {
      CAPTURE(rest);
      const TemporaryFile file(text);
      const auto cut = [&](const Progress& progress) {
        const bool now = progress.doing == during && progress.share > 0;
        if (now) std::filesystem::resize_file(file.path(), static_cast<std::uintmax_t>(rest));
        return true;
      };
      const std::string message = error_of([&] {
        (void)TextSource::load({file.path(), ""}, options, cut);
      });
      CHECK(has(message, "became shorter while it was read: expected 3,145,7"));
      CHECK(has(message, "but only " + count_text(rest) + " came"));
    }
  }
  {
    const TemporaryFile file(text);
    for (const std::string_view stop : {"progress.reading", "progress.cutting"}) {
      const auto cancel = [&](const Progress& progress) {
        return progress.doing != stop || progress.share == 0;
      };
      CHECK_THROWS_AS((void)TextSource::load({file.path(), ""}, options, cancel), Cancelled);
    }
    const std::string folder = file.path().parent_path().string();
    CHECK(has(error_of([&] { (void)TextSource::load({folder, ""}, options); }), "is a folder"));
  }
}

TEST_CASE("text source: a file is not what it becomes while it is read, for every kind of work") {
  // Zeros would be binary, break quotes, be unknown to a vocabulary: none of that is the reason.
  std::string rows = "text,label\n";
  while (rows.size() < (3u << 20))
    rows += "\"quoted, \"\"text\"\" and more of it\",good\nshort,bad\n";
  const auto shorter = [&](const std::string& name, const auto& load) {
    for (const std::string_view during : {"progress.reading", "progress.cutting"}) {
      const TemporaryFile file(rows, name);
      const auto cut = [&](const Progress& progress) {
        if (progress.doing == during && progress.share > 0)
          std::filesystem::resize_file(file.path(), 1'500'003);
        return true;
      };
      CHECK(has(error_of([&] {
                  load(TextInput{file.path(), ""}, ProgressFunction(cut));
                }),
                "became shorter while it was read"));
    }
  };
  shorter("rows.csv", [](const TextInput& input, const ProgressFunction& progress) {
    (void)load_labelled_task(input, by(TextCut::kWords, 0), progress);
  });
  for (const TextCut cut : {TextCut::kWords, TextCut::kCharacters, TextCut::kBpe}) {
    shorter("rows.txt", [&](const TextInput& input, const ProgressFunction& progress) {
      TextOptions options = by(cut);
      options.vocabulary = cut == TextCut::kBpe ? 300 : 0;
      (void)TextSource::load(input, options, progress);
    });
  }
  const TemporaryFile file(rows);
  std::filesystem::last_write_time(
      file.path(), std::filesystem::last_write_time(file.path()) - std::chrono::hours(1));
  const auto rewrite = [&](const Progress& progress) {
    if (progress.doing == "progress.cutting" && progress.share > 0)
      std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary) << "\xFF\xFF";
    return true;
  };
  CHECK(has(error_of([&] {
              (void)TextSource::load({file.path(), ""}, by(TextCut::kCharacters), rewrite);
            }),
            "was written anew while it was read"));
}

TEST_CASE("text source: a file that is repaired is the same as a text that is") {
  std::string text;
  const std::string line = "caf\u00e9 我喜欢 \U0001F600 and plain words\r\n";
  while (text.size() < (2u << 20) + 100) text += line;
  text.insert(0, "\xEF\xBB\xBF");
  // Around where the pieces end: broken, cut short, and bytes that go on from nowhere.
  const std::string broken = "\xE4\xB8\xFF\xF0\x9F\x98z\x80\x80\x80\x80\x80\x80";
  for (const std::size_t shift : {0u, 1u, 2u, 3u, 4u, 5u, 9u, 11u}) {
    std::string bytes = text;
    bytes.replace((1u << 20) + 3 - shift, broken.size(), broken);
    const TemporaryFile file(bytes);
    const TextFile read = read_text_file(file.path());
    const TextFile there = checked_text(bytes, {"file", "x"});
    CHECK(read.text() == there.text());
    CHECK(read.text() == clean_utf8(std::string_view(bytes).substr(3)).text);
    CHECK(read.notes.size() == 1);
  }
}

namespace {

// Megabytes of files and of its own that this process has in memory now.
double resident_mb() {
  std::ifstream status("/proc/self/status");
  double mb = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:") || line.starts_with("RssAnon:"))
      mb += std::stod(line.substr(line.find(':') + 1)) / 1000;
  }
  return mb;
}

}  // namespace

TEST_CASE("text source: a huge file takes the memory of its ids, not of its text") {
  constexpr double kMegabytes = 32;
  std::string piece;
  while (piece.size() < (1u << 20)) piece += "all work and no play ";
  const TemporaryFile file("");
  {
    std::ofstream out(file.path(), std::ios::binary);
    for (double mb = 0; mb < kMegabytes; mb += double(piece.size()) / 1e6) out << piece;
  }
  const double before = resident_mb();
  double most = 0;
  const auto watch = [&](const Progress&) {
    most = std::max(most, resident_mb() - before);
    return true;
  };
  const TextSource source = TextSource::load({file.path(), ""}, by(TextCut::kBytes), watch);
  CHECK(source.size() >= 32'000'000);
  CHECK(before > 1);
  CHECK(most < 2 * kMegabytes + 16);  // an id takes two bytes
}

}  // namespace headlight::test_text_source
