// Tables to learn from: how they are read, rows with labels, pairs, and what is wrong with a row.
#include <doctest/doctest.h>

#include <memory>
#include <set>

#include "core/io/table.h"
#include "tests/support/text_source_support.h"

namespace headlight::test_text_rows {

TEST_CASE("tables: CSV as in RFC 4180, TSV without quotes") {
  const auto cells = [](std::string_view text, TableFormat format) {
    std::vector<Words> rows;
    for (const TableRow& row : parse_table(text, format)) rows.push_back(row.cells);
    return rows;
  };
  using Rows = std::vector<Words>;
  CHECK(cells("a,b\r\n\"c,\"\"d\"\"\r\n\",e\n\n,f\n\"\"", TableFormat::kCsv) ==
        Rows{{"a", "b"}, {"c,\"d\"\r\n", "e"}, {"", "f"}, {""}});
  CHECK(cells("say \"x\",\n", TableFormat::kCsv) == Rows{{"say \"x\"", ""}});
  CHECK(cells("\"a\tb,c\"\td\r\n\r\ne\rf\t", TableFormat::kTsv) ==
        Rows{{"\"a", "b,c\"", "d"}, {"e\rf", ""}});
  CHECK(cells("", TableFormat::kCsv).empty());
  const std::vector<TableRow> rows = parse_table("\"1\n2\",a\n\nb,c", TableFormat::kCsv);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].line == 1);
  CHECK(rows[1].line == 4);
  CHECK(has(error_of([] { (void)parse_table("a,b\n\"c,d\ne", TableFormat::kCsv); }),
            "line 2: a quote (\") is opened and never closed"));
  CHECK(has(error_of([] { (void)parse_table("a\n\"b\" c", TableFormat::kCsv); }),
            "line 2: expected a comma"));
}

namespace {

LoadedTask labelled(const std::string& text, TextOptions options = by(TextCut::kWords, 0)) {
  return load_labelled_task(pasted(text), options);
}

std::string table_refused(const std::string& text, TextOptions options = by(TextCut::kWords, 0)) {
  return error_of([&] { (void)labelled(text, options); });
}

// Every example of a split as "text|label" or "source|target".
std::set<std::string> drawn(const Task& task, Split split) {
  std::set<std::string> all;
  Random random(1);
  for (int i = 0; i < 400; ++i) {
    const TaskExample e = task.draw(random, split);
    const Vocabulary& v = task.vocabulary();
    all.insert(e.label >= 0
                   ? v.decode(e.tokens) + "|" + task.classes()[std::size_t(e.label)]
                   : v.decode(e.source) + "|" + v.decode(e.tokens) + "|" + v.decode(e.targets));
  }
  return all;
}

}  // namespace

TEST_CASE("labelled rows: a classification task, split without regard to their order") {
  std::string text = "good day\tpos\nbad day\tneg\n";
  const LoadedTask small = labelled(text);
  CHECK(small.task->kind() == TaskKind::kClassify);
  CHECK(small.task->classes() == Words{"neg", "pos"});
  CHECK(small.task->context() == 2);
  CHECK(*small.task->vocabulary().tokens() == Words{"[PAD]", "[UNK]", "day", "bad", "good"});
  CHECK(drawn(*small.task, Split::kTraining) ==
        std::set<std::string>{"bad day|neg", "good day|pos"});
  CHECK(has(say(small.notes), "used for training"));
  CHECK(!small.task->has(Split::kValidation));
  Random random(1);
  CHECK(has(error_of([&] { (void)small.task->draw(random, Split::kValidation); }),
            "no examples for validation"));

  text.clear();
  for (int i = 0; i < 100; ++i) text += "row w" + std::to_string(i) + (i < 50 ? "\ta\n" : "\tb\n");
  const LoadedTask sorted = labelled(text);
  const auto training = drawn(*sorted.task, Split::kTraining),
             validation = drawn(*sorted.task, Split::kValidation);
  CHECK(validation.size() == 10);
  std::set<char> classes;
  for (const std::string& row : validation) {
    CHECK(!training.contains(row));
    classes.insert(row.back());
  }
  CHECK(classes.size() == 2);
}

TEST_CASE("labelled rows: headers, quotes, long rows and known classes") {
  TextOptions csv = by(TextCut::kWords, 0);
  csv.format = TableFormat::kCsv;
  const LoadedTask named = labelled("id,Sentiment,Text\n1,pos,\"fine, really\"\n2,neg,bad\n", csv);
  CHECK(drawn(*named.task, Split::kTraining) ==
        std::set<std::string>{"fine, really|pos", "bad|neg"});
  const std::string plain = "text\tlabel\na\tb\n";
  CHECK(has(table_refused(plain), "every row has the same label, “b”"));
  TextOptions none = by(TextCut::kWords, 0);
  none.header = TableHeader::kNone;
  CHECK(labelled(plain, none).task->classes() == Words{"b", "label"});
  TextOptions first = by(TextCut::kWords, 0);
  first.header = TableHeader::kFirstRow;
  CHECK(labelled("x\ty\na\tb\nc\td\n", first).task->classes() == Words{"b", "d"});

  // Columns that were taken for each other; of a handful of rows nobody can tell.
  std::string swapped;
  for (char c = 'a'; c <= 'p'; ++c) swapped += std::string("pos\t") + c + "\n";
  CHECK(labelled(swapped, by(TextCut::kWords, 0)).task->classes().size() == 16);
  CHECK(has(table_refused(swapped + "pos\tq\n"), "each of 17 rows has a label of its own"));

  TextOptions two = by(TextCut::kWords, 2);
  const LoadedTask cut = labelled("a b c\tx\n \u3000 \tx\nd\ty\n", two);
  CHECK(drawn(*cut.task, Split::kTraining) == std::set<std::string>{"a b|x", "d|y"});
  CHECK(has(say(cut.notes), "Rows without a text, which are left out: 1"));
  CHECK(has(say(cut.notes),
            "1 of 2 texts are longer than 2 tokens (the longest has 3) and are cut there: 1 of 4 "
            "tokens are not read."));

  TextOptions known = by(TextCut::kWords, 0);
  known.known_classes = {"y", "x"};
  CHECK(labelled("a\tx\n", known).task->draw(*std::make_unique<Random>(1)).label == 1);
  CHECK(has(table_refused("a\tx\nb\tz\n", known), "line 2: the label “z” is none of the model's"));
  for (const TextCut each : {TextCut::kCharacters, TextCut::kBytes, TextCut::kBpe}) {
    const LoadedTask task = labelled("abc abc abc\tx\nד\ty\n", by(each, 0));
    CHECK(drawn(*task.task, Split::kTraining) == std::set<std::string>{"abc abc abc|x", "ד|y"});
    CHECK(task.task->vocabulary().id_of(Special::kPad));
  }
}

TEST_CASE("labelled rows: what is missing or too much is named with its line") {
  CHECK(has(table_refused("a\tx\n\nb\nc\t \nd\ty\n"),
            "2 of 4 rows have no label, the first on line 3"));
  CHECK(has(table_refused("a\tx\nb\ty\tz\n"),
            "line 2: expected two columns, text and label, with a tab between them; got 3"));
  CHECK(has(table_refused("\n\n"), "has no row with a text"));
  CHECK(has(table_refused(" \tx\n"), "has no row with a text"));
  CHECK(has(table_refused("text\tlabel\n"), "has no row with a text"));
  CHECK(has(table_refused(""), "is empty"));
  std::string texts;
  for (int i = 0; i < 1001; ++i) texts += "x\tlong text " + std::to_string(i) + "\n";
  CHECK(has(table_refused(texts), "has 1,001 different labels, such as “long text 0”"));
  CHECK(has(table_refused("a\tx\nb\ty\n", by(TextCut::kWords, -1)), "between 0 and 65536"));
}

TEST_CASE("pairs: a translation task with teacher forcing") {
  const TemporaryFile file("source,target\r\n\"one, two\",eins zwei\r\nthree,drei\r\n",
                           "pairs.csv");
  const LoadedTask loaded = load_pairs_task({file.path(), ""}, by(TextCut::kWords, 0));
  const Task& task = *loaded.task;
  CHECK(task.kind() == TaskKind::kTranslate);
  CHECK(task.source_length() == 3);
  CHECK(task.context() == 3);
  CHECK(drawn(task, Split::kTraining) ==
        std::set<std::string>{"one, two|[BOS] eins zwei|eins zwei [EOS]",
                              "three|[BOS] drei|drei [EOS]"});
  const auto refused_pairs = [](const std::string& text, TextOptions options) {
    return error_of([&] { (void)load_pairs_task(pasted(text), options); });
  };
  CHECK(has(refused_pairs("a\tb\nc\n", by(TextCut::kWords, 0)),
            "1 of 2 rows have no target, the first on line 2"));
  TextOptions known = by(TextCut::kWords, 0);
  known.known = std::make_shared<const Vocabulary>(TextCut::kWords, Words{"[PAD]", "a", "b"});
  CHECK(has(refused_pairs("a\tb\n", known), "has no [BOS]"));
  // Where a target is cut, its end is not to be learned.
  const LoadedTask cut = load_pairs_task(pasted("a\tb c d\n"), by(TextCut::kWords, 2));
  Random random(1);
  const TaskExample e = cut.task->draw(random);
  CHECK(e.tokens.size() == 3);
  CHECK(e.targets.back() == -1);
  CHECK(e.targets.front() == e.tokens[1]);
}

TEST_CASE("pairs: joined in one row for a decoder alone, of which the target counts") {
  TextOptions options = by(TextCut::kWords, 0);
  options.joined = true;
  options.validation = 0;
  const auto row = [&](const std::string& text) {
    const LoadedTask loaded = load_pairs_task(pasted(text), options);
    CHECK(loaded.task->kind() == TaskKind::kNextToken);
    const TaskExample e = loaded.task->row(0, Split::kTraining);
    const Vocabulary& v = loaded.task->vocabulary();
    std::string targets;
    for (const int id : e.targets) targets += (id < 0 ? "." : v.token(id)) + " ";
    return v.decode(e.tokens) + "|" + targets;
  };
  CHECK(row("a b c\td e\n") == "a b c [SEP] d e|. . . d e [EOS] ");
  CHECK(row("a\td\n") == "a [SEP] d|. d [EOS] ");
  // Too long for 5 tokens: the target is kept first, of the source at least half of the room.
  options.context = 5;
  CHECK(row("a b c d\te f\n") == "a b [SEP] e f|. . e f [EOS] ");
  CHECK(row("a b c d\te f g h\n") == "a b [SEP] e f|. . e f . ");
  const LoadedTask cut = load_pairs_task(pasted("a b c d\te f\nx\ty\n"), options);
  CHECK(has(say(cut.notes), "1 of 2 texts are longer than 5 tokens (the longest has 7)"));
  CHECK(has(error_of([&] { (void)load_pairs_task(pasted("a\tb\nc\t\n"), options); }),
            "1 of 2 rows have no target"));
}

TEST_CASE("rows: around pairs stands what a model from elsewhere reads there") {
  const auto words = [](std::vector<std::string> names) {
    return std::make_shared<const Vocabulary>(TextCut::kWords, std::move(names));
  };
  TextOptions options = by(TextCut::kWords, 0);
  options.validation = 0;
  options.known = words({"[UNK]", "a", "b", "c", "x", "y"});
  // What is forced to come first is read, and nobody has to say it.
  options.marks = {{{7}, {8}}, {5, 6}, 9};
  const auto pair = [&] {
    return load_pairs_task(pasted("a b\tx y"), options).task->row(0, Split::kTraining);
  };
  CHECK(pair().source == std::vector{7, 1, 2, 8});
  CHECK(pair().tokens == std::vector{5, 6, 4, 5});
  CHECK(pair().targets == std::vector{-1, 4, 5, 9});
  options.known_target = words({"[UNK]", "x", "y"});
  CHECK(pair().source == std::vector{7, 1, 2, 8});
  CHECK(pair().tokens == std::vector{5, 6, 1, 2});
  options.context = 1;  // a target that was cut has no end
  CHECK(pair().tokens == std::vector{5, 6, 1});
  CHECK(pair().targets == std::vector{-1, 1, -1});
}

}  // namespace headlight::test_text_rows
