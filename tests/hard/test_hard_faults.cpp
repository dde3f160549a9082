// A disk that fills up, breaks or is read-only, at every call that writes: the n-th one fails, for
// n = 1, 2, … to the last (faults.h). The old files stay or the new ones are whole, nothing else is
// left there, and the program says which file and why, unless all is as it should be. A share of it
// runs with the other tests; HEADLIGHT_HARD=long tries every call with every error.
#include <cerrno>
#include <fstream>
#include <iostream>
#include <set>

#include "core/io/safetensors.h"
#include "hard_paths.h"
#include "tests/cli/shell.h"
#include "tests/hard/hard.h"

namespace headlight::test::test_hard_faults {
namespace {

namespace fs = std::filesystem;

struct Fault {
  int error;
  std::string words;
};
const std::vector<Fault> kFaults = {{ENOSPC, "No space left on device"},
                                    {EIO, "Input/output error"},
                                    {EROFS, "Read-only file system"},
                                    {EACCES, "Permission denied"}};

// Everything in a folder, by its path in there.
std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    found[name] = entry.is_directory() ? "folder" : read_bytes(entry.path().string());
  }
  return found;
}

// What writes: `now` in the place of what `before` wrote. OUT stands for the folder of the files.
struct Writing {
  std::string name;
  std::vector<Args> before;
  Args now;
  /// Files that grow line by line and may end anywhere.
  std::set<std::string> grows = {};
  /// Of folders that are written several times: loads what is there, and must succeed.
  Args loads = {};
};

Args in_folder(Args args, const std::string& folder) {
  for (std::string& arg : args) {
    const std::size_t at = arg.find("OUT");
    if (at != arg.npos) arg.replace(at, 3, folder);
  }
  return args;
}

class Trial {
 public:
  Trial(const Writing& writing, const Folder& folder)
      : writing_(writing), old_(folder / "old"), out_(folder / "out"), log_(folder / "calls") {
    fs::create_directories(old_);
    for (const Args& args : writing.before) run_well(in_folder(args, old_));
    old_files_ = contents(old_);
    begin();
    run_well(in_folder(writing.now, out_), with(0, kFaults[0], false));
    new_files_ = contents(out_);
    std::ifstream calls(log_);
    for (std::string line; std::getline(calls, line);) ++calls_;
  }

  int calls() const { return calls_; }

  void try_call(int n, const Fault& fault, bool stays) {
    begin();
    INFO(writing_.name, ": call ", n, " of ", calls_, " fails with ", fault.words,
         std::string(stays ? ", and all behind it" : ""));
    const Result last = run(in_folder(writing_.now, out_), with(n, fault, stays));
    INFO("stderr: ", last.err, "\ncalls: ", read_bytes(log_));
    REQUIRE(contains(read_bytes(log_), "FAILED"));
    const auto found = contents(out_);
    const bool all_new = last.status == 0;
    if (!all_new) check_said(last, fault);
    for (const auto& [name, bytes] : found) check_file(name, bytes, all_new);
    for (const auto& [name, bytes] : old_files_) check_there(found, name);
    if (all_new) {
      for (const auto& [name, bytes] : new_files_) check_there(found, name);
    }
    if (!writing_.loads.empty() && fs::exists(out_ + "/run"))
      CHECK(run(in_folder(writing_.loads, out_)).status == 0);
  }

 private:
  void begin() const {
    fs::remove_all(out_);
    fs::copy(old_, out_, fs::copy_options::recursive);
    fs::remove(log_);
  }

  Environment with(int n, const Fault& fault, bool stays) const {
    return {{"LD_PRELOAD", HEADLIGHT_FAULTS},
            {"HEADLIGHT_FAULT_FOLDER", out_},
            {"HEADLIGHT_FAULT_AT", std::to_string(n)},
            {"HEADLIGHT_FAULT_ERROR", std::to_string(fault.error)},
            {"HEADLIGHT_FAULT_STAYS", stays ? "1" : "0"},
            {"HEADLIGHT_FAULT_LOG", log_}};
  }

  // Which file, and why.
  void check_said(const Result& result, const Fault& fault) const {
    CHECK(result.status == 1);
    CHECK(contains(result.err, "headlight: "));
    CHECK(contains(result.err, out_));
    CHECK(contains(result.err, fault.words));
  }

  void check_file(const std::string& name, const std::string& bytes, bool all_new) const {
    INFO("the file ", name);
    const auto before = old_files_.find(name), after = new_files_.find(name);
    REQUIRE((before != old_files_.end() || after != new_files_.end()));
    if (writing_.grows.contains(name) || (!writing_.loads.empty() && !all_new)) return;
    const bool is_new = after != new_files_.end() && bytes == after->second;
    const bool is_old = before != old_files_.end() && bytes == before->second;
    CHECK((is_new || (is_old && !all_new)));
  }

  static void check_there(const std::map<std::string, std::string>& found,
                          const std::string& name) {
    INFO("the file ", name);
    CHECK(found.contains(name));
  }

  const Writing& writing_;
  std::string old_, out_, log_;
  std::map<std::string, std::string> old_files_, new_files_;
  int calls_ = 0;
};

const Args kTrain = {"train", "--task", "copy", "--layers", "1", "--heads", "1", "--d-model", "8"};
const Args kTrace = {"trace", "--layers", "1", "--heads", "1", "--d-model", "8"};
const Args kSmall = {"--layers", "1", "--heads", "1", "--d-model", "8"};

// `given`: a file with a tensor for `op`.
std::vector<Writing> all_writings(const std::string& given) {
  const auto train = [](const Args& more) { return joined(kTrain, more); };
  const Args npz = {"--out", "OUT/run.npz", "--weights-out", "OUT/weights.safetensors"};
  const auto trace = [](const Args& more) { return joined(kTrace, more); };
  const auto draw = [](const Args& more) {
    return joined(joined(more, {"--size", "700x400"}), kSmall);
  };
  const auto lab = [&](const std::string& sentence) {
    return Args{"lab",    "scale",        "--sentence", sentence,
                "--json", "OUT/lab.json", "--csv",      "OUT/lab.csv",
                "--code", "OUT/lab.py",   "--tensors",  "OUT/lab.safetensors"};
  };
  std::vector<Writing> all = {
      {"train, a new run", {}, train({"--steps", "2", "--out", "OUT/run"})},
      {"train in the place of a run",
       {train({"--steps", "2", "--out", "OUT/run", "--seed", "2"})},
       train({"--steps", "2", "--out", "OUT/run"})},
      {"train with saves on the way and a log",
       {train({"--steps", "1", "--out", "OUT/run", "--log", "OUT/log.csv"})},
       {"train", "--resume", "OUT/run", "--steps", "3", "--out", "OUT/run", "--save-every", "1",
        "--log", "OUT/log.csv"},
       {"log.csv"},
       {"eval", "--model", "OUT/run", "--task", "--count", "1"}},
      {"trace, npz and weights",
       {trace(joined({"--sentence", "a b"}, npz))},
       trace(joined({"--sentence", "a c"}, npz))},
      {"trace, JSON", {}, trace({"--out", "OUT/run.json"})},
      {"trace, safetensors", {}, trace({"--out", "OUT/run.safetensors"})},
      {"convert in the place of a folder",
       {{"convert", "stories", "--to", "headlight", "--out", "OUT/new"}},
       {"convert", "stories", "--to", "headlight", "--dtype", "f16", "--out", "OUT/new"}},
      {"convert to a folder for PyTorch",
       {},
       {"convert", "sort", "--to", "pytorch", "--steps", "2", "--out", "OUT/new"}},
      {"models --half", {}, {"models", "--model", "sort", "--half", "OUT/half"}},
      {"lab, its files", {lab("a b")}, lab("a b c")},
      {"op", {}, {"op", "softmax", "--in", given, "--out", "OUT/made.safetensors"}},
  };
  if (!can_draw()) return all;
  all.push_back({"compare-backends --json",
                 {},
                 joined({"compare-backends", "--json", "OUT/apart.json"}, kSmall),
                 {"apart.json"}});
  all.push_back({"screenshot",
                 {draw({"screenshot", "--out", "OUT/a.png"})},
                 draw({"screenshot", "--theme", "dark", "--out", "OUT/a.png"})});
  all.push_back(
      {"render", {}, draw({"render", "--step", "blocks.0.attn.pattern", "--out", "OUT/a.png"})});
  all.push_back(
      {"walk",
       {},
       draw({"walk", "--attention", "basic", "--block", "attention", "--out", "OUT/walk"})});
  all.push_back({"lab, its page", {}, {"lab", "scale", "--width", "800", "--out", "OUT/lab.png"}});
  return all;
}

}  // namespace

TEST_CASE("hard: what is written is whole or as it was, whichever call fails") {
  int tried = 0;
  const Folder inputs;
  const std::vector<float> numbers = {1, 2, 3, 4};
  const std::vector<NamedArray> arrays = {{"x", {2, 2}, numbers}};
  const std::string given = inputs.write("in.safetensors", to_safetensors(arrays, {}));
  for (const Writing& writing : all_writings(given)) {
    const Folder folder;
    Trial trial(writing, folder);
    REQUIRE(trial.calls() > 0);
    const int n = trial.calls(), step = is_long() ? 1 : std::max(1, n / 3);
    for (int at = 1; at <= n; at += step) {
      for (std::size_t e = 0; e < kFaults.size(); ++e) {
        const bool turn = e == static_cast<std::size_t>(at / step) % kFaults.size();
        if (!is_long() && !turn) continue;
        trial.try_call(at, kFaults[e], (at + static_cast<int>(e)) % 2 == 0);
        ++tried;
      }
    }
    std::cout << writing.name << ": " << n << " calls" << std::endl;
  }
  std::cout << tried << " runs with a call that failed" << std::endl;
}

TEST_CASE("hard: what cannot be printed fails, with every subcommand that prints") {
  const std::vector<Args> printing = {
      joined(kTrace, {"--list"}),
      {"explain", "--tensor", "blocks.0.attn.pattern", "--at", "0,0,0"},
      {"lab", "--list"},
      {"code", "--step", "blocks.0.attn.pattern"},
      {"info", "sort"},
      {"models"},
      {"models", "--json"},
      {"cost", "--tokens", "8"},
      {"presets", "--json"},
      {"eval", "--model", "sort", "--task", "--count", "2"},
      {"generate", "--model", "sort", "--prompt", "1", "--tokens", "2"},
      {"op", "--list"},
      {"tokenize", "--model", "bundled:stories", "--text", "a"},
      {"man"},
      {"--version"}};
  for (const Args& args : printing) {
    CAPTURE(shown(args));
    const Result well = run_well(args);
    CHECK(well.out != "");
    std::string line = "\"$HEADLIGHT\"";
    for (const std::string& arg : args) line += " " + arg;
    const Result result = run_shell(line + " >/dev/full");
    CHECK(result.status == 1);
    CHECK(contains(result.err, "could not be written"));
  }
}

}  // namespace headlight::test::test_hard_faults
