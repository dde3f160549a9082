// Measuring from the command line: a validation loss beside training, and eval on tables of labels
// and of pairs; the numbers are made again from what `headlight trace` says of each row.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test_paths.h"
#include "tests/cli/child.h"

namespace headlight::test::test_cli_measure {
namespace {

nlohmann::json json_of(const Args& args) { return nlohmann::json::parse(run_well(args).out); }

struct Row {
  std::string text, answer;
};

std::string table_of(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += row.text + "\t" + row.answer + "\n";
  return text;
}

// The last axis of `probs` for every place of the run of a sentence.
std::vector<float> probs_of(const Folder& folder, const std::string& model,
                            const std::string& sentence) {
  run_well({"trace", "--model", model, "--sentence", sentence, "--out", folder / "t.safetensors"});
  return tensor_as_float(read_safetensors(folder / "t.safetensors"), "probs");
}

std::vector<std::vector<std::string>> csv(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream file(read_bytes(path));
  for (std::string line; std::getline(file, line);) {
    rows.emplace_back();
    std::istringstream cells(line + ",");
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

const std::vector<Row> kJudged = {
    {"the book is good .", "positive"},           {"the book is not good .", "negative"},
    {"mary hates the cake .", "negative"},        {"tom does not hate the ball .", "positive"},
    {"the cake is good , not bad .", "negative"},  // said to be wrong, so that one row is
};

}  // namespace

TEST_CASE("eval --labels: accuracy, loss and confusion are those of each row's own run") {
  const Folder folder;
  const std::string table = folder.write("l.tsv", "text\tlabel\n" + table_of(kJudged));
  const auto f = json_of({"eval", "--model", "sentiment", "--labels", table, "--json"});
  const std::vector<std::string> classes = {"negative", "positive"};
  CHECK(f["classes"] == classes);
  double nats = 0;
  std::vector<std::vector<int>> confusion = {{0, 0}, {0, 0}};
  for (const Row& row : kJudged) {
    const std::vector<float> p = probs_of(folder, "sentiment", row.text);
    REQUIRE(p.size() == 2);
    const std::size_t label = row.answer == classes[1], chosen = p[1] > p[0];
    ++confusion[label][chosen];
    nats -= std::log(static_cast<double>(p[label]));
  }
  CHECK(f["rows"] == 5);
  CHECK(f["right"] == confusion[0][0] + confusion[1][1]);
  CHECK(f["right"] == 4);
  CHECK(f["accuracy"].get<double>() == doctest::Approx(0.8));
  CHECK(f["confusion"] == nlohmann::json(confusion));
  CHECK(f["loss"].get<double>() == doctest::Approx(nats / 5).epsilon(1e-4));
  const std::string words = run_well({"eval", "--model", "sentiment", "--labels", table}).out;
  CHECK(contains(words, "80.00 % of 5 rows right"));
  CHECK(contains(words, "negative               2         1"));
  CHECK(contains(words, "positive               0         2"));
}

TEST_CASE("eval --pairs: exact rows and tokens, given the right row and on its own") {
  const Folder folder;
  // The last two ask for what the model does not write: one digit, and a row that ends too early.
  const std::vector<Row> rows = {{"march 5 2021", "2021-03-05"},
                                 {"7 july 2004", "2004-07-07"},
                                 {"may 1 1999", "1999-05-02"},
                                 {"oct 19 1951", "1951-10"}};
  const std::string table = folder.write("p.tsv", table_of(rows));
  const auto f = json_of({"eval", "--model", "dates", "--pairs", table, "--json"});
  CHECK(f["rows"] == 4);
  CHECK(f["exact"] == 2);
  CHECK(f["tokens"] == 11 + 11 + 11 + 8);
  // Wrong are the 2 at the end of the third, and of the fourth the [EOS], where it goes on with
  // "-".
  CHECK(f["free_running_accuracy"].get<double>() == doctest::Approx(39.0 / 41));
  CHECK(f["token_accuracy"].get<double>() == doctest::Approx(39.0 / 41));
  double nats = 0;
  const auto config = nlohmann::json::parse(
      read_bytes(std::string(HEADLIGHT_TEST_DIR) + "../assets/models/dates/tokenizer.json"));
  const std::vector<std::string> tokens = config["tokens"];
  const auto id_of = [&](const std::string& token) {
    return static_cast<std::size_t>(std::find(tokens.begin(), tokens.end(), token) -
                                    tokens.begin());
  };
  for (const Row& row : rows) {
    const std::vector<float> p = probs_of(folder, "dates", row.text + " -> " + row.answer);
    const std::size_t vocab = tokens.size();
    REQUIRE(p.size() == (row.answer.size() + 1) * vocab);
    for (std::size_t t = 0; t <= row.answer.size(); ++t) {
      const bool end = t == row.answer.size();
      nats -= std::log(
          static_cast<double>(p[t * vocab + id_of(end ? "[EOS]" : row.answer.substr(t, 1))]));
    }
  }
  CHECK(f["loss"].get<double>() == doctest::Approx(nats / 41).epsilon(1e-4));
  const std::string words = run_well({"eval", "--model", "dates", "--pairs", table}).out;
  CHECK(contains(words, "exactly right 50.00 % of 4"));
}

// What goes wrong early makes later tokens wrong only where the model goes on with its own row.
TEST_CASE(
    "eval --pairs: a model that has learned little is worse on its own than when it is helped") {
  const Folder folder;
  std::string pairs;
  for (const char* word : {"abc", "bca", "cab", "acb", "bac", "cba", "aab", "bbc"})
    pairs += std::string(word) + "\t" + word + word + "\n";
  const std::string table = folder.write("p.tsv", pairs);
  run_well({"train", "--pairs", table, "--layers", "1", "--heads", "1", "--d-model", "8", "--steps",
            "60", "--lr", "0.01", "--seed", "2", "--out", folder / "m"});
  const auto f = json_of({"eval", "--model", folder / "m", "--pairs", table, "--json"});
  CHECK(f["exact"] == 0);
  CHECK(f["tokens"] == 8 * 7);
  CHECK(f["token_accuracy"].get<double>() > 0.2);
  CHECK(f["free_running_accuracy"] != f["token_accuracy"]);
}

TEST_CASE("eval: tables that cannot be measured are refused with what is wrong") {
  const Folder folder;
  const auto labels = [&](const std::string& text) {
    return run({"eval", "--model", "sentiment", "--labels", folder.write("t.tsv", text)});
  };
  check_refused(labels(""), 1, {"t.tsv"});
  check_refused(labels("the book is good .\tpositive\nthe cake is bad .\tterrible\n"), 1,
                {"t.tsv", "line 2", "terrible"});
  check_refused(labels("the book is good . positive\nthe cake is bad . negative\n"), 1,
                {"t.tsv", "line 1"});
  check_refused(labels("the book is good .\tpositive\nthe cake is bad .\n"), 1, {"line 2"});
  check_refused(labels("the zebra is good .\tpositive\nthe cake is bad .\tnegative\n"), 1,
                {"t.tsv': ", "'zebra'"});
  std::string long_row = "the book is good";
  for (int i = 0; i < 20000; ++i) long_row += " good";
  const Result cut =
      run_well({"eval", "--model", "sentiment", "--labels",
                folder.write("long.tsv", long_row + "\tpositive\nbad .\tnegative\n")});
  CHECK(contains(cut.err, "1 of 2 texts are longer than"));
  CHECK(contains(cut.out, "of 2 rows"));
  const std::string table = folder.write("l.tsv", table_of(kJudged));
  check_refused(run({"eval", "--model", "grammar", "--labels", table}), 2, {"no classifier"});
  check_refused(run({"eval", "--model", "sentiment", "--pairs", table}), 2, {"no model of pairs"});
  check_refused(run({"eval", "--model", "sentiment", "--labels", folder / "no"}), 1, {"no"});
  check_refused(run({"eval", "--model", "sentiment", "--labels", table, "--task"}), 2,
                {"--labels", "--task"});
}

TEST_CASE("train --validation: the loss of another file or of a share, in the log and at the end") {
  const Folder folder;
  const std::vector<Row> learned = {{"anna likes cake", "good"},
                                    {"tom likes cake", "good"},
                                    {"anna hates cake", "bad"},
                                    {"tom hates cake", "bad"}};
  const std::vector<Row> other = {{"tom likes cake", "good"}, {"anna hates tom", "bad"}};
  const std::string table = folder.write("l.tsv", table_of(learned));
  const std::string held = folder.write("v.tsv", table_of(other));
  const Args train = {"train",
                      "--labels",
                      table,
                      "--layers",
                      "1",
                      "--heads",
                      "1",
                      "--d-model",
                      "8",
                      "--batch",
                      "4",
                      "--lr",
                      "0.02",
                      "--out",
                      folder / "m",
                      "--log",
                      folder / "log.csv"};
  Args with_file = train;
  with_file.insert(with_file.end(),
                   {"--validation", held, "--validate-every", "5", "--steps", "12"});
  const Result said = run_well(with_file);
  const auto log = csv(folder / "log.csv");
  REQUIRE(log.size() == 13);
  CHECK(log[0].back() == "validation_loss");
  for (std::size_t step = 1; step <= 12; ++step) {
    CAPTURE(step);
    REQUIRE(log[step].size() == 6);
    CHECK(log[step][5].empty() == !(step == 5 || step == 10 || step == 12));
  }
  const double last = std::stod(log[12][5]);
  CHECK(contains(said.err, "validation "));
  CHECK_FALSE(contains(said.err, "\r"));
  // The last one is that of the model that was saved.
  const auto f = json_of({"eval", "--model", folder / "m", "--labels", held, "--json"});
  CHECK(f["loss"].get<double>() == doctest::Approx(last).epsilon(1e-4));
  CHECK(last < std::stod(log[5][5]));

  Args share = train;
  share.insert(share.end(), {"--validation", "25%", "--steps", "3", "--validate-every", "3"});
  run_well(share);
  CHECK_FALSE(csv(folder / "log.csv")[3][5].empty());

  const auto refused = [&](const std::string& value, int status,
                           const std::vector<std::string>& words) {
    Args args = train;
    args.insert(args.end(), {"--validation", value, "--steps", "2"});
    check_refused(run(args), status, words);
  };
  refused("60%", 2, {"--validation", "60%"});
  refused("0%", 2, {"--validation", "0%"});
  refused("1%", 1, {"share for validation"});
  refused(folder / "none.tsv", 1, {"none.tsv"});
  refused(folder.write("e.tsv", ""), 1, {"e.tsv"});
  refused(folder.write("u.tsv", "tom likes cake\tsour\nanna\tgood\n"), 1, {"u.tsv", "sour"});
  check_refused(run({"train", "--task", "sort", "--validation", "10%", "--steps", "1"}), 2,
                {"--validation"});
}

TEST_CASE("train --patience: ends early, keeps the best weights, goes on with more patience") {
  const Folder folder;
  std::string text, other;
  for (int i = 0; i < 24; ++i) {
    const std::string n = std::to_string(i % 7), m = std::to_string(i * i % 5);
    const std::string longer = i % 2 ? " word0 and0" : "";
    text += "word" + n + " and" + m + longer + (i % 3 ? "\tyes\n" : "\tno\n");
    other += "word" + m + " and" + n + (i % 3 ? "\tno\n" : "\tyes\n");  // the opposite
  }
  const Args data = {"--labels", folder.write("l.tsv", text), "--validation",
                     folder.write("v.tsv", other)};
  const auto train = [&](const Args& more) {
    Args args = {"train", "--out", folder / "m", "--validate-every", "5"};
    args.insert(args.end(), data.begin(), data.end());
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  };
  const Args model = {"--layers", "1",    "--heads", "1",   "--d-model",  "8", "--batch", "8",
                      "--lr",     "0.02", "--steps", "400", "--patience", "3"};
  const Result said = train(model);
  REQUIRE(said.status == 0);
  CHECK(contains(said.err, "was not better in 3 measurements"));
  CHECK(contains(said.err, "padding: "));
  const auto kept = nlohmann::json::parse(read_bytes(folder / "m/train.json"));
  CHECK(kept["best"]["waited"] == 3);
  CHECK(kept["step"].get<int>() == kept["best"]["step"].get<int>() + 15);
  CHECK(kept["by_length"] == true);
  // What is measured with the folder's model is the best, not the newest.
  const auto f = json_of({"eval", "--model", folder / "m", "--labels", data[3], "--json"});
  CHECK(f["loss"].get<double>() ==
        doctest::Approx(kept["best"]["loss"].get<double>()).epsilon(1e-4));
  check_refused(train({"--resume", folder / "m"}), 2, {"stopped early", "--patience 6"});
  const Result on = train({"--resume", folder / "m", "--patience", "5"});
  CHECK(on.status == 0);
  // It may find a better one on the way, and waits for that one's turn then.
  const auto later = nlohmann::json::parse(read_bytes(folder / "m/train.json"));
  CHECK(later["step"].get<int>() == later["best"]["step"].get<int>() + 25);
  CHECK(later["step"].get<int>() >= kept["step"].get<int>() + 10);
  CHECK(later["best"]["loss"].get<double>() <= kept["best"]["loss"].get<double>());
  const Result shared = run({"train", "--labels", data[1], "--validation", "25%", "--steps", "2",
                             "--layers", "1", "--heads", "1", "--d-model", "8"});
  CHECK(contains(shared.err, "is \\ taken for"));
  check_refused(run({"train", "--labels", data[1], "--patience", "3", "--steps", "1"}), 2,
                {"--patience", "--validation 10%"});
  check_refused(run({"train", "--task", "sort", "--by-length", "on", "--steps", "1"}), 2,
                {"--by-length", "--labels or --pairs"});
}

TEST_CASE("train --pairs --form tokens: a decoder alone learns pairs, and is measured alike") {
  const Folder folder;
  const std::vector<Row> rows = {{"one two", "ein zwei"},
                                 {"two three", "zwei drei"},
                                 {"three", "drei"},
                                 {"one three", "ein drei"}};
  const std::string table = folder.write("p.tsv", table_of(rows));
  const Args train = {"train", "--pairs",     table,     "--form",   "tokens",    "--cut",
                      "words", "--positions", "learned", "--layers", "2",         "--heads",
                      "2",     "--d-model",   "32",      "--lr",     "0.01",      "--batch",
                      "8",     "--steps",     "150",     "--out",    folder / "m"};
  run_well(train);
  const auto f = json_of({"eval", "--model", folder / "m", "--pairs", table, "--json"});
  CHECK(f["rows"] == 4);
  CHECK(f["tokens"] == 2 * 4 + 3);  // 7 words, 4 [EOS]
  CHECK(f["exact"] == 4);
  CHECK(contains(run_well({"generate", "--model", folder / "m", "--prompt", "one three [SEP]",
                           "--temperature", "0"})
                     .out,
                 "ein drei"));
  const std::string shown = run_well({"eval", "--model", folder / "m", "--pairs",
                                      folder.write("w.tsv", "one two\tzwei ein\n"), "--rows", "1"})
                                .out;
  CHECK(contains(shown, "right        zwei ein [EOS]"));
  CHECK(contains(shown, "by itself    ein |"));
  run_well({"train", "--pairs", table, "--resume", folder / "m", "--steps", "151", "--out",
            folder / "m"});
  check_refused(run({"train", "--pairs", folder.write("e.tsv", "one\tein\ntwo\t\n"), "--form",
                     "tokens", "--steps", "1"}),
                1, {"1 of 2 rows have no target", "line 2"});
}

TEST_CASE("train --validation: of a text it is measured on windows that lie side by side") {
  const Folder folder;
  std::string learned, other;
  for (int i = 0; i < 60; ++i) learned += "abcd";
  for (int i = 0; i < 9; ++i) other += "acbd";  // 36 letters: 4 windows of 8, and the letter after
  const std::string text = folder.write("t.txt", learned), held = folder.write("v.txt", other);
  run_well({"train",
            "--text",
            text,
            "--context",
            "8",
            "--layers",
            "1",
            "--heads",
            "1",
            "--d-model",
            "8",
            "--steps",
            "4",
            "--out",
            folder / "m",
            "--log",
            folder / "log.csv",
            "--validation",
            held,
            "--validate-every",
            "4"});
  // 4 windows: of each letter behind the first one the probability, 8 in each.
  double nats = 0;
  for (int window = 0; window < 4; ++window) {
    const std::string read = other.substr(static_cast<std::size_t>(8 * window), 8);
    const std::vector<float> p = probs_of(folder, folder / "m", read);
    REQUIRE(p.size() == 8 * 4);
    for (std::size_t t = 0; t < 8; ++t) {
      const char next = other[static_cast<std::size_t>(8 * window) + t + 1];
      nats -= std::log(static_cast<double>(p[t * 4 + static_cast<std::size_t>(next - 'a')]));
    }
  }
  CHECK(std::stod(csv(folder / "log.csv")[4][5]) == doctest::Approx(nats / 32).epsilon(1e-4));
  check_refused(run({"train", "--text", text, "--context", "8", "--steps", "1", "--validation",
                     folder.write("short.txt", "abc")}),
                1, {"short.txt"});
}

}  // namespace headlight::test::test_cli_measure
