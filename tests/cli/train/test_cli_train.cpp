// headlight train: the losses of given weights on given ids, a run that goes on where it stopped,
// and what is refused.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/number_text.h"
#include "core/train/run_settings.h"
#include "tests/cli/child.h"
#include "tests/cli/shell.h"

namespace headlight::test::test_cli_train {
namespace {

using Json = nlohmann::json;

std::vector<std::vector<std::string>> read_csv(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

// Without the speed, which is another each time.
std::vector<std::vector<std::string>> losses(const std::filesystem::path& path) {
  auto rows = read_csv(path);
  for (auto& row : rows) row.resize(4);
  return rows;
}

// int32 rows, as numpy.save writes them.
void write_ids(const std::filesystem::path& path, std::int64_t rows, const std::vector<int>& ids) {
  const std::string header =
      "{'descr': '<i4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
      std::to_string(static_cast<std::int64_t>(ids.size()) / rows) + "), }\n";
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size()) << '\0' << header;
  for (const int id : ids) {
    for (int i = 0; i < 4; ++i) file << static_cast<char>(id >> (8 * i) & 0xFF);
  }
}

}  // namespace

TEST_CASE("train --text: only the bytes that are asked for") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the cat sat. ";
  text += "\u00e9t\u00e9 ";  // bytes 5200 and 5201 are one character
  for (int i = 0; i < 400; ++i) text += "the xyz set. ";
  const std::string file = folder.write("both.txt", text),
                    first = folder.write("first.txt", text.substr(0, 5200)),
                    second = folder.write("second.txt", text.substr(6000, 2000));
  const Args small = {
      "--cut",     "bytes", "--context", "8", "--layers",         "1", "--heads", "2",
      "--d-model", "8",     "--steps",   "4", "--validate-every", "4"};
  const auto trained = [&](const std::string& name, Args given) {
    const std::string log = folder / name + ".csv";
    given.insert(given.begin(), {"train", "--out", folder / name, "--log", log});
    given.insert(given.end(), small.begin(), small.end());
    run_well(given);
    const std::string last = read_bytes(log);
    return read_bytes(folder / name + "/model.safetensors") + last.substr(last.rfind(','));
  };
  CHECK(trained("part", {"--text", file, "--bytes", "0:5200", "--validation", second}) ==
        trained("alone", {"--text", first, "--validation", second}));
  CHECK(trained("measured", {"--text", file, "--validation-bytes", "6000:8000"}) ==
        trained("beside", {"--text", file, "--validation", second}));
  const auto refused = [&](int status, Args given, const std::vector<std::string>& phrases) {
    given.insert(given.begin(), {"train", "--text", file});
    check_refused(run(given), status, phrases);
  };
  refused(2, {"--bytes", "0:99999"}, {"both.txt' has 10406 bytes", "no bytes 0 to 99999"});
  refused(2, {"--bytes", "9:3"}, {"--bytes must be two numbers", "got '9:3'"});
  refused(2, {"--bytes", "-1:3"}, {"--bytes must be two numbers"});
  refused(2, {"--bytes", "0:5201"}, {"byte 5201", "begins at byte 5200"});
  refused(2, {"--validation-bytes", "5201:6000"}, {"byte 5201", "begins at byte 5200"});
  refused(2, {"--validation", "10%", "--validation-bytes", "0:10"}, {"not both"});
  check_refused(run({"train", "--task", "copy", "--bytes", "0:10"}), 2, {"go with --text"});
}

TEST_CASE("train --text: a run goes on with its own bytes, and a recipe says them for another") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "the cat sat. ";
  for (int i = 0; i < 300; ++i) text += "xyz xyz qqq. ";
  const std::string file = folder.write("both.txt", text);
  const Args shape = {"--layers", "1", "--heads", "2", "--d-model", "8"};
  const auto train = [&](const std::string& name, Args given, bool with_shape) {
    given.insert(given.begin(), {"train", "--text", file, "--out", folder / name});
    if (with_shape) given.insert(given.end(), shape.begin(), shape.end());
    run_well(given);
    return read_bytes(folder / name + "/model.safetensors");
  };
  const Args data = {"--bytes",      "0:3900", "--validation-bytes", "0:1300", "--cut", "bpe",
                     "--vocabulary", "270",    "--context",          "8"};
  const auto with = [](Args a, const Args& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const std::string whole = train("whole", with(data, {"--steps", "6"}), true);
  train("half", with(data, {"--steps", "3"}), true);
  const Args go_on = {"--resume", folder / "half", "--steps", "6"};
  CHECK(train("on", go_on, false) == whole);
  const Json kept = Json::parse(read_bytes(folder / "on/train.json"));
  CHECK(kept["text"]["file"] == "both.txt");
  CHECK(kept["text"]["bytes"] == Json::array({0, 3900}));
  CHECK(kept["text"]["validation_bytes"] == Json::array({0, 1300}));
  CHECK(kept.contains("validation"));
  // What a recipe says is what train.json says.
  const Json recipe = {
      {"format", "headlight recipe"}, {"version", 1}, {"score", 0}, {"training", kept}};
  const std::string recipe_file = folder.write("recipe.json", recipe.dump());
  CHECK(train("again", {"--config", recipe_file, "--steps", "6"}, true) == whole);
  check_refused(run({"train", "--config", recipe_file}), 2, {"give both.txt with --text"});
  check_refused(run({"train", "--resume", folder / "half", "--steps", "6"}), 2,
                {"give both.txt with --text"});
  check_refused(run(with({"train", "--text", file, "--bytes", "0:1300"}, go_on)), 2, {"--bytes"});
  // The SHA-256 of "abc" (FIPS 180-2, appendix B.1).
  const std::string abc = folder.write("abc.txt", "abc");
  const std::string is =
      "its SHA-256 is ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, not ";
  check_refused(run(with({"train", "--text", abc}, go_on)), 1, {"abc.txt' is not the text", is});
  check_refused(run({"train", "--text", abc, "--config", recipe_file}), 1, {is});
  check_refused(run(with({"train", "--text", folder / "no.txt"}, go_on)), 1,
                {"Could not read", "no.txt"});
}

TEST_CASE("train: a run that goes on is the run that never stopped, on any number of threads") {
  const Folder folder;
  const Args task = {"--task", "reverse", "--layers", "1", "--heads", "2", "--d-model", "16"};
  const auto train = [&](const char* out, const char* log, Args more, bool resume) {
    Args args = {"train"};
    if (!resume) args.insert(args.end(), task.begin(), task.end());
    args.insert(args.end(), {"--out", folder / out, "--log", folder / log});
    args.insert(args.end(), more.begin(), more.end());
    return run_well(args);
  };
  train("whole", "whole.csv", {"--steps", "24", "--threads", "1"}, false);
  train("half", "half.csv", {"--steps", "10", "--threads", "3"}, false);
  train("half", "half.csv", {"--steps", "24", "--resume", folder / "half"}, true);
  CHECK(losses(folder / "whole.csv").size() == 25);
  CHECK(losses(folder / "whole.csv") == losses(folder / "half.csv"));
  CHECK(read_bytes(folder / "whole/model.safetensors") ==
        read_bytes(folder / "half/model.safetensors"));
  const auto first = losses(folder / "whole.csv");
  CHECK(first[0] == std::vector<std::string>{"step", "loss", "gradient_norm", "learning_rate"});
  CHECK(std::stod(first[1][1]) == doctest::Approx(std::log(13.0)).epsilon(0.02));
  CHECK(std::stod(first.back()[1]) < std::stod(first[1][1]));
}

TEST_CASE("train: of a run that is killed at most --save-every steps are lost") {
  const Folder folder;
  const std::string out = folder / "run", log = folder / "log.csv";
  const Args more = {"--save-every", "5", "--out", out, "--log", log};
  const Args task = {"--task", "reverse",   "--layers", "1",         "--heads",
                     "2",      "--d-model", "16",       "--threads", "1"};
  run_and_kill(joined(joined({"train", "--steps", "1000000"}, task), more),
               [&] { return read_csv(log).size() > 12; });
  RunSettings settings;
  TrainState state;
  parse_train(read_bytes(out + "/train.json"), settings, state);
  const auto made = static_cast<std::int64_t>(read_csv(log).size()) - 1;
  CHECK(state.step >= 10);
  CHECK(state.step % 5 == 0);
  CHECK(made - state.step <= 6);  // a line may be there before its step was saved
  // It goes on from there as a run that never stopped.
  const std::string steps = std::to_string(state.step + 3);
  run_well({"train", "--resume", out, "--steps", steps, "--out", out, "--log", folder / "on.csv"});
  run_well(joined(joined({"train", "--steps", steps}, task), {"--log", folder / "whole.csv"}));
  const auto whole = losses(folder / "whole.csv"), on = losses(folder / "on.csv");
  REQUIRE(on.size() >= 3);
  CHECK(on.back() == whole.back());
}

TEST_CASE("train: what was measured at the end is kept with the run") {
  const Folder folder;
  const Result result = run_well({"train", "--task", "reverse", "--layers", "1", "--heads", "2",
                                  "--d-model", "16", "--steps", "30", "--out", folder / "run"});
  RunSettings settings;
  TrainState state;
  parse_train(read_bytes(folder / "run/train.json"), settings, state);
  REQUIRE(state.score);
  CHECK(contains(result.err, number_text(100 * state.score->accuracy, 4) + " % of"));
  CHECK(contains(result.err, "loss " + number_text(state.score->loss, 4)));
}

TEST_CASE("train: given weights and rows of ids, the first loss is the trace's") {
  const Folder folder;
  const Args model = {"--layers", "2", "--heads", "2", "--d-model", "16", "--seed", "3"};
  Args trace = {"trace",
                "--sentence",
                "a b c a b d",
                "--out",
                folder / "run.safetensors",
                "--weights-out",
                folder / "weights.safetensors"};
  trace.insert(trace.end(), model.begin(), model.end());
  run_well(trace);
  const SafetensorsFile file = read_safetensors(folder / "run.safetensors");
  const std::vector<float> probs = tensor_as_float(file, "probs");
  const std::vector<int> row = {0, 1, 2, 0, 1, 3, 2};  // the sentence, and c after it
  double loss = 0;
  for (std::size_t t = 0; t < 6; ++t)
    loss -= std::log(static_cast<double>(probs[t * 4 + static_cast<std::size_t>(row[t + 1])])) / 6;
  std::vector<int> ids = row;
  ids.insert(ids.end(), row.begin(), row.end());
  write_ids(folder / "ids.npy", 2, ids);
  Args train = {"train",
                "--init",
                folder / "weights.safetensors",
                "--data-ids",
                folder / "ids.npy",
                "--steps",
                "8",
                "--batch",
                "3",
                "--optimizer",
                "sgd",
                "--lr",
                "0.05",
                "--log",
                folder / "log.csv"};
  train.insert(train.end(), model.begin(), model.end());
  run_well(train);
  const auto rows = losses(folder / "log.csv");
  REQUIRE(rows.size() == 9);
  CHECK(std::stod(rows[1][1]) == doctest::Approx(loss).epsilon(1e-5));
  CHECK(std::stod(rows.back()[1]) < loss);
  CHECK(rows[1][3] == "0.05");

  train.insert(train.end(), {"--context", "5"});
  check_refused(run(train), 2, {"--context is 5", "6"});
  Args other = train;
  other.resize(other.size() - 2);
  other[other.size() - 3] = "24";  // --d-model
  check_refused(run(other), 1, {"embed.W_E", "d_model 24", "--d-model"});
}

TEST_CASE("train: rows may be shorter than the positions that were learned, and no longer") {
  const Folder folder;
  const auto rows_of = [&](int ids) {
    std::vector<int> row;
    for (int i = 0; i < 2 * ids; ++i) row.push_back(i % 5);
    const std::string path = folder / ("rows" + std::to_string(ids) + ".npy");
    write_ids(path, 2, row);
    return path;
  };
  const std::string run_folder = folder / "run";
  run_well({"train", "--data-ids", rows_of(9), "--positions", "learned", "--layers", "1", "--heads",
            "2", "--d-model", "8", "--steps", "1", "--out", run_folder});
  const auto goes_on = [&](int ids, const char* steps) {
    return run({"train", "--resume", run_folder, "--data-ids", rows_of(ids), "--steps", steps,
                "--out", run_folder});
  };
  CHECK(goes_on(5, "2").status == 0);
  CHECK(contains(read_bytes(run_folder + "/config.json"), "\"context\": 8"));
  CHECK(goes_on(9, "3").status == 0);
  check_refused(goes_on(12, "4"), 1, {"W_pos", "8"});
}

TEST_CASE("train: classes and translations, with dropout, go on where they stopped") {
  const Folder folder;
  std::string labels = "text\tlabel\n", pairs = "source\ttarget\n";
  for (const char* name : {"anna", "tom", "lucy", "paul"}) {
    for (const char* thing : {"cake", "book", "song"}) {
      const std::string who(name), what(thing);
      labels += who + " likes the " + what + " .\tgood\n" + who + " hates it .\tbad\n";
      pairs += who + " " + what + "\t" + what + "\n";
    }
  }
  folder.write("labels.tsv", labels);
  folder.write("pairs.tsv", pairs);
  for (const Args& data : {Args{"--labels", folder / "labels.tsv"},
                           Args{"--pairs", folder / "pairs.tsv"}, Args{"--task", "dates"}}) {
    CAPTURE(data[1]);
    Args common = {"--threads", "2", "--batch", "8", "--dropout", "0.2", "--lr", "0.003"};
    const auto train = [&](const char* out, Args more) {
      Args args = {"train", "--out", folder / out, "--log", (folder / out) + ".csv"};
      args.insert(args.end(), more.begin(), more.end());
      return run_well(args);
    };
    Args fresh = {"--layers", "1", "--heads", "2", "--d-model", "16"};
    fresh.insert(fresh.end(), common.begin(), common.end());
    fresh.insert(fresh.end(), data.begin(), data.end());
    Args whole = fresh, half = fresh;
    whole.insert(whole.end(), {"--steps", "12"});
    half.insert(half.end(), {"--steps", "5"});
    const Result result = train("whole", whole);
    CHECK(contains(result.err, "new examples: "));
    train("half", half);
    Args resume = {"--steps", "12", "--threads", "1", "--resume", folder / "half"};
    if (data[0] != "--task") resume.insert(resume.end(), data.begin(), data.end());
    train("half", resume);
    CHECK(losses((folder / "whole") + ".csv") == losses((folder / "half") + ".csv"));
    CHECK(read_bytes(folder / "whole/model.safetensors") ==
          read_bytes(folder / "half/model.safetensors"));
    const std::string config = read_bytes(folder / "whole/config.json");
    CHECK(contains(config, data[0] == "--labels" ? "\"bad\",\n    \"good\"" : "\"source\""));
  }
}

TEST_CASE("train: each kind of pooling learns, and is read back") {
  const Folder folder;
  for (const char* pool : {"mean", "last", "cls", "concat", "vector", "foci"}) {
    CAPTURE(pool);
    const std::string model = folder / pool, log = model + ".csv";
    // Without layers [CLS] is the same before every sentence; with one it takes longer to learn,
    // and so do foci that are kept apart.
    const bool cls = std::string_view(pool) == "cls";
    const bool foci = std::string_view(pool) == "foci";
    Args train = {"train",
                  "--task",
                  "sentiment",
                  "--layers",
                  cls ? "1" : "0",
                  "--d-model",
                  "16",
                  "--steps",
                  cls    ? "400"
                  : foci ? "200"
                         : "40",
                  "--lr",
                  cls ? "0.01" : "0.02",
                  "--pool",
                  pool,
                  "--log",
                  log,
                  "--out",
                  model};
    if (foci) train.insert(train.end(), {"--foci", "2", "--foci-penalty", "0.5"});
    run_well(train);
    const auto steps = losses(log);
    CHECK(std::stod(steps.back()[1]) < std::stod(steps[1][1]));
    // Shorter than what it learned from, and not longer than a model with a weight for each place.
    for (const char* sentence : {"the cake is good .", "anna thinks that the cake is not good ."})
      CHECK(contains(run_well({"trace", "--list", "--model", model, "--sentence", sentence}).out,
                     "pooled "));
    CHECK(contains(run_well({"eval", "--model", model, "--task", "--count", "50"}).out,
                   "50 examples"));
    std::string longer;
    for (int i = 0; i < 5; ++i) longer += "the cake is good . ";
    const Args long_trace = {"trace", "--list", "--model", model, "--sentence", longer};
    if (std::string_view(pool) == "concat") {
      check_refused(run(long_trace), 2, {"25 tokens", "has learned 14 positions"});
    } else {
      run_well(long_trace);
    }
  }
  check_refused(run({"train", "--task", "sentiment", "--pool", "foci", "--foci", "0"}), 2,
                {"the number of foci", "got 0"});
  check_refused(run({"train", "--task", "copy", "--layers", "0"}), 2, {"the number of layers"});
  // Said before anything is run.
  check_refused(run({"train", "--task", "dates", "--form", "translate"}), 2,
                {"--form", "translate", "--pairs"});
}

TEST_CASE("train: the loss that is told is that of the classes, without the penalty of the foci") {
  const Folder folder;
  std::vector<double> first;
  for (const char* penalty : {"0", "10"}) {
    const std::string log = folder / (std::string("log") + penalty);
    run_well({"train", "--task", "sentiment", "--layers", "0", "--d-model", "16", "--steps", "3",
              "--pool", "foci", "--foci", "2", "--foci-penalty", penalty, "--log", log});
    first.push_back(std::stod(losses(log)[1][1]));
  }
  // Before the first update the weights are the same, and the penalty alone would be above 10.
  CHECK(first[0] == doctest::Approx(first[1]).epsilon(1e-6));
  CHECK(first[0] < 1);
}

TEST_CASE("train: [CLS] stands before the rows of a table, and of one that is measured") {
  const Folder folder;
  std::string rows;
  for (int i = 0; i < 40; ++i) rows += i % 2 ? "a good day\tyes\n" : "a day that is bad\tno\n";
  const std::string table = folder.write("t.tsv", rows), model = folder / "model";
  for (const char* cut : {"words", "characters", "bytes", "bpe"}) {
    CAPTURE(cut);
    Args train = {"train",    "--labels", table,     "--cut",        cut,    "--pool", "cls",
                  "--layers", "1",        "--steps", "120",          "--lr", "0.01",   "--d-model",
                  "16",       "--out",    model,     "--validation", table};
    if (std::string_view(cut) == "bpe") train.insert(train.end(), {"--vocabulary", "260"});
    run_well(train);
    CHECK(contains(run_well({"eval", "--model", model, "--labels", table}).out,
                   "100.0 % of 40 rows right"));
    run_well({"trace", "--model", model, "--sentence", "a good day", "--out", folder / "x.json"});
    CHECK(contains(read_bytes(folder / "x.json"), "[CLS]"));
    run_well({"train", "--resume", model, "--labels", table, "--steps", "140", "--out",
              folder / "more"});
    CHECK(contains(run_well({"eval", "--model", folder / "more", "--labels", table}).out,
                   "100.0 % of 40 rows right"));
  }
}

TEST_CASE("train: a loss that is no number stops the run with the last good weights") {
  const Folder folder;
  const Result result =
      run({"train", "--task", "copy", "--layers", "1", "--d-model", "16", "--optimizer", "sgd",
           "--momentum", "0.99", "--lr", "100", "--steps", "400", "--out", folder / "out"});
  CHECK(result.status == 1);
  CHECK(contains(result.err, "the loss became"));
  CHECK(contains(result.err, "--clip 1"));
  const SafetensorsFile file = read_safetensors(folder / "out/model.safetensors");
  for (const auto& entry : file.entries) {
    CAPTURE(entry.first);
    for (const float weight : tensor_as_float(file, entry.first)) {
      const bool finite = std::isfinite(weight);
      if (!finite) CHECK(finite);
    }
  }
}

TEST_CASE("train --from: a model learns on, says what it forgets, and can go on") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "zebra " + std::to_string(i % 7) + " quux; ";
  const std::string file = folder.write("own.txt", text), kept = folder / "kept";
  const Args begun = {"train", "--text",    file, "--from",  "stories",    "--context",
                      "16",    "--batch",   "4",  "--steps", "6",          "--out",
                      kept,    "--threads", "2",  "--log",   kept + ".csv"};
  const Result first = run_well(begun);
  double before = 0, now = 0;
  const std::size_t at = first.err.find("text that stories writes by itself: loss ");
  REQUIRE(at != std::string::npos);
  REQUIRE(std::sscanf(first.err.c_str() + at,
                      "text that stories writes by itself: loss %lf before, %lf now", &before,
                      &now) == 2);
  CHECK(before > 1);
  CHECK(before < 4);
  CHECK(now != before);
  CHECK(read_csv(kept + ".csv").size() == 7);
  const Json settings = Json::parse(read_bytes(kept + "/train.json"));
  CHECK(settings["base"] == "bundled:stories");
  CHECK(settings["schedule"]["peak"] == 2e-4);
  CHECK(Json::parse(read_bytes(kept + "/config.json"))["context"] == 16);
  run_well({"train", "--resume", kept, "--text", file, "--steps", "8", "--log", kept + ".csv"});
  CHECK(read_csv(kept + ".csv").size() == 9);
  run_well({"train", "--text", file, "--from", kept, "--context", "16", "--steps", "1"});
  const auto refused = [&](Args more, int status, const std::vector<std::string>& phrases) {
    more.insert(more.begin(), {"train", "--from", "stories"});
    check_refused(run(more), status, phrases);
  };
  refused({"--task", "copy"}, 2, {"--from goes with --text"});
  refused({"--text", file, "--layers", "2"}, 2, {"--layers", "--from"});
  refused({"--text", file, "--cut", "bytes"}, 2, {"--cut", "--from"});
  refused({"--text", file, "--resume", kept}, 2, {"--resume", "--from"});
  refused({"--text", file, "--context", "500"}, 2, {"500", "128"});
  check_refused(run({"train", "--from", "storeis", "--text", file}), 2, {"storeis", "stories"});
  check_refused(run({"train", "--from", "sentiment", "--text", file}), 2,
                {"sentiment", "next token"});
}

TEST_CASE("train: gradient checkpointing changes no bit, stays with the run, and may change") {
  const Folder folder;
  const auto train = [&](const char* out, const Args& more) {
    Args args = {"train", "--out", folder / out};
    args.insert(args.end(), more.begin(), more.end());
    return run_well(args);
  };
  const auto fresh = [](const char* steps, const char* checkpointing) {
    return Args{"--task",          "reverse",    "--layers", "3",   "--heads",   "2",
                "--d-model",       "16",         "--batch",  "8",   "--mask",    "local",
                "--dropout",       "0.1",        "--steps",  steps, "--threads", "2",
                "--checkpointing", checkpointing};
  };
  train("keeps", fresh("9", "off"));
  train("again", fresh("4", "on"));
  CHECK(contains(read_bytes(folder / "again/train.json"), "\"checkpointing\": true"));
  CHECK_FALSE(contains(read_bytes(folder / "keeps/train.json"), "checkpointing"));
  train("again", {"--resume", folder / "again", "--steps", "6"});
  CHECK(contains(read_bytes(folder / "again/train.json"), "\"checkpointing\": true"));
  train("again", {"--resume", folder / "again", "--steps", "9", "--checkpointing", "off"});
  CHECK(read_bytes(folder / "keeps/model.safetensors") ==
        read_bytes(folder / "again/model.safetensors"));
  CHECK_FALSE(contains(read_bytes(folder / "again/train.json"), "checkpointing"));
}

TEST_CASE("train: how many blocks of scores a step computed, where the mask forbids some") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the little dog was sad ";
  folder.write("text.txt", text);
  const auto said = [&](const Args& more) {
    Args args = {
        "train",    "--text", folder / "text.txt", "--context", "64",      "--batch", "3",
        "--layers", "2",      "--heads",           "2",         "--steps", "1",       "--d-model",
        "16"};
    args.insert(args.end(), more.begin(), more.end());
    return run_well(args).err;
  };
  // 4 x 4 blocks of 12 heads, of which each row has its own and the one before.
  CHECK(contains(said({"--mask", "local", "--window", "16"}), "84 of 192 blocks"));
  CHECK(contains(said({}), "120 of 192 blocks of 16 x 16 scores (62.5 %)"));
  CHECK_FALSE(contains(said({"--mask", "none"}), "blocks"));
}

TEST_CASE("train: what it cannot do it says") {
  const Folder folder;
  check_refused(run({"train"}), 2, {"--task", "--text", "--data-ids"});
  check_refused(run({"train", "--task", "copy", "--text", "x"}), 2, {"just one"});
  check_refused(run({"train", "--task", "cpoy"}), 2, {"cpoy", "copy"});
  check_refused(run({"train", "--task", "copy", "--dropout", "1"}), 2, {"dropout", "0.95"});
  check_refused(run({"train", "--task", "copy", "--checkpointing", "yes"}), 2,
                {"--checkpointing", "on or off", "yes"});
  folder.write("one.tsv", "text\tlabel\na b\tx\nc d\tx\n");
  check_refused(run({"train", "--labels", folder / "one.tsv"}), 1, {"one.tsv", "x"});
  check_refused(run({"train", "--task", "copy", "--lr", "0"}), 2, {"learning rate", "0"});
  check_refused(run({"train", "--task", "copy", "--lr", "1e9"}), 2, {"learning rate"});
  check_refused(run({"train", "--task", "copy", "--optimizer", "rmsprop"}), 2,
                {"rmsprop", "adamw"});
  check_refused(run({"train", "--text", folder / "none.txt"}), 1, {"none.txt"});
  folder.write("empty.txt", "");
  check_refused(run({"train", "--text", folder / "empty.txt"}), 1, {"empty.txt"});
  folder.write("rows.npy", "no numbers");
  check_refused(run({"train", "--data-ids", folder / "rows.npy"}), 1, {".npy"});
  check_refused(run({"train", "--resume", folder / "nowhere"}), 1, {"nowhere"});
}

TEST_CASE("train --resume: what is wrong with a file says which one it is") {
  const Folder folder;
  folder.write("text.txt", "one two three four five six seven eight nine ten eleven twelve\n");
  const std::string kept = folder / "kept";
  run_well({"train", "--steps", "2", "--layers", "1", "--heads", "1", "--d-model", "8", "--text",
            folder / "text.txt", "--context", "4", "--out", kept});
  const auto refused = [&](const std::string& file, const std::string& bytes) {
    const std::string path = kept + "/" + file, before = read_bytes(path);
    folder.write("kept/" + file, bytes);
    check_refused(run({"train", "--resume", kept, "--text", folder / "text.txt", "--steps", "4"}),
                  1, {path});
    folder.write("kept/" + file, before);
  };
  refused("tokenizer.json", "{");
  refused("config.json", "[]");
  refused("train.json", "{ \"version\": ");
  std::string newer = read_bytes(kept + "/train.json");
  const std::size_t at = newer.find("\"version\": ");
  REQUIRE(at != std::string::npos);
  refused("train.json", newer.replace(at, newer.find(',', at) - at, "\"version\": 99"));
}

// Hours of training are not to be lost at their end.
}  // namespace headlight::test::test_cli_train
