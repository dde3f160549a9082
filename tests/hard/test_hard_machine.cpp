// Machines that are not as they should be: clocks that jump, another language's commas, more
// threads than cores, hardly any memory, no home, variables that say nonsense. Files and numbers
// stay the same, or it is said what is wrong. HEADLIGHT_HARD=long: smaller steps of memory.
#include <sys/resource.h>

#include <cerrno>
#include <iostream>

#include "core/base/mailbox.h"
#include "hard_paths.h"
#include "tests/cli/shell.h"
#include "tests/hard/hard.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

const Args kTrain = {"train", "--task", "copy", "--layers", "1", "--heads", "1", "--d-model", "8"};
const std::vector<std::string> kRunFiles = {
    "config.json", "model.safetensors", "optimizer.safetensors", "tokenizer.json", "train.json"};

// Trains so that it takes a second, and says what is in the folder then.
std::map<std::string, std::string> trained(const Args& more, const Environment& changes,
                                           std::string* said = nullptr) {
  const Folder folder;
  const Result result = run_well(
      joined(joined(kTrain, {"--steps", "3000", "--save-every", "100", "--out", folder / "run"}),
             more),
      changes);
  if (said) *said = result.err;
  std::map<std::string, std::string> files;
  for (const std::string& name : kRunFiles) files[name] = read_bytes(folder / "run/" + name);
  return files;
}

// A locale with decimal commas, made in this folder; false where that cannot be done.
bool make_german(const Folder& folder) {
  fs::create_directories(folder / "locales");
  return run_shell("localedef -i de_DE -f UTF-8 " + (folder / "locales/de_DE.UTF-8") +
                   " && test \"$(LOCPATH=" + (folder / "locales") +
                   " LC_ALL=de_DE.UTF-8 /usr/bin/printf %.1f 1)\" = 1,0")
             .status == 0;
}

// What ran with little memory: it worked, or said why not. 127: the system could not even load it.
bool ended_well(const Result& result) {
  INFO("status ", result.status, ", stderr: ", result.err);
  const bool known = result.status == 0 || result.status == 1 || result.status == 127;
  CHECK(known);
  if (result.status == 1) CHECK(contains(result.err, "headlight: "));
  for (const char* crash : {"terminate called", "Aborted", "egmentation", "core dumped"})
    CHECK_FALSE(contains(result.err, crash));
  return result.status == 0;
}

}  // namespace

TEST_CASE("hard: a clock that is set back or forward while a run is trained changes nothing") {
  const auto plain = trained({}, {});
  for (const char* jumps : {"0.2:-3600", "0.2:31536000", "0.1:31536000,0.3:-63072000"}) {
    std::string said;
    CAPTURE(jumps);
    const Environment jumping = {{"LD_PRELOAD", HEADLIGHT_CLOCK}, {"HEADLIGHT_CLOCK_JUMPS", jumps}};
    CHECK(trained({}, jumping, &said) == plain);
    INFO(said);
    for (const char* wrong : {":-", " -", "inf", "nan"}) CHECK_FALSE(contains(said, wrong));
  }
  // One that is asleep for an hour.
  CHECK(trained({}, {{"LD_PRELOAD", HEADLIGHT_CLOCK}, {"HEADLIGHT_CLOCK_SLEEPS", "0.2:3600"}}) ==
        plain);
}

TEST_CASE("hard: decimal commas of the language change no file and no number that is printed") {
  const Folder folder;
  if (!make_german(folder)) {
    std::cout << "SKIPPED: the locale de_DE.UTF-8 cannot be made here" << std::endl;
    return;
  }
  const Environment german = {{"LC_ALL", "de_DE.UTF-8"}, {"LOCPATH", folder / "locales"}};
  const std::string out = folder / "out";
  const std::vector<Args> commands = {
      {"trace", "--layers", "1", "--out", out},
      {"trace", "--layers", "1", "--temperature", "0.5", "--out", out + ".json"},
      {"trace", "--layers", "1", "--weights-out", out + ".safetensors"},
      {"explain", "--tensor", "blocks.0.attn.pattern", "--at", "0,1,0"},
      {"lab", "scale", "--csv", out + ".csv", "--json", out + ".lab.json"},
      {"code", "--step", "blocks.0.attn.pattern"},
      {"cost", "--tokens", "8", "--vocab", "10", "--layers", "0"},
      {"eval", "--model", "sort", "--task", "--count", "5"},
      {"generate", "--model", "grammar", "--prompt", "mary", "--tokens", "5", "--temperature",
       "0.8"},
      {"info", "sort"}};
  for (const Args& args : commands) {
    CAPTURE(shown(args));
    std::vector<std::string> texts[2];
    for (const bool in_german : {false, true}) {
      const Result result = run_well(args, in_german ? german : Environment{});
      if (args[0] != "cost") texts[in_german].push_back(result.out);  // that has times
      CHECK_FALSE(contains(result.out, "0,5"));
      for (const auto& entry : fs::directory_iterator(folder / "")) {
        if (entry.is_regular_file()) texts[in_german].push_back(read_bytes(entry.path().string()));
      }
    }
    CHECK(texts[0] == texts[1]);
  }
  CHECK(trained({"--lr", "0.0025"}, german) == trained({"--lr", "0.0025"}, {}));
}

TEST_CASE("hard: 32 threads on any machine; numbers of threads that cannot be are refused") {
  const auto plain = trained({"--threads", "1"}, {});
  CHECK(trained({"--threads", "32"}, {}) == plain);
  for (const char* threads : {"0", "-1", "10000", "banana", "99999999999999999999", ""}) {
    CAPTURE(threads);
    check_refused(run({"trace", "--list", "--threads", threads}), 2, {"--threads"});
    check_refused(run(joined(kTrain, {"--steps", "1", "--threads", threads})), 2, {"--threads"});
  }
  // Variables of other programs, and nonsense in our own.
  const std::vector<Environment> odd = {{{"OMP_NUM_THREADS", "banana"}},
                                        {{"OMP_NUM_THREADS", "0"}},
                                        {{"OMP_NUM_THREADS", "10000"}},
                                        {{"HEADLIGHT_INSTRUCTIONS", "banana"}},
                                        {{"LC_ALL", "xx_XX.nonsense"}},
                                        {{"TZ", "Nowhere/Else"}},
                                        {{"COLUMNS", "-1"}}};
  for (const Environment& changes : odd) {
    CAPTURE(changes.begin()->first);
    CHECK(trained({}, changes) == plain);
  }
}

TEST_CASE("hard: with hardly any memory it works or says so, and is never ended by a signal") {
  const Folder folder;
  const std::string model = folder / "model";
  run_well({"convert", "stories", "--to", "headlight", "--out", model});
  const std::vector<std::string> lines = {
      "trace --list --model " + model + " --sentence \"once upon a time\"",
      "generate --model " + model + " --prompt once --tokens 3",
      "train --task copy --layers 2 --d-model 64 --steps 3 --threads 4 --out " + (folder / "run"),
      "convert " + model + " --to headlight --out " + (folder / "copy"),
      "lab scale",
      "tokenize --model " + model + " --text \"once upon a time\""};
  for (const std::string& line : lines) {
    CAPTURE(line);
    int worked = 0, refused = 0;
    // From what the program cannot be loaded with to what is enough, in kilobytes.
    const int step = is_long() ? 500 : 20000;
    for (int limit = 40000; limit < 2000000; limit += std::max(step, limit * step / 100000)) {
      CAPTURE(limit);
      const Result result = run_shell("ulimit -c 0; ulimit -v " + std::to_string(limit) +
                                      "; exec \"$HEADLIGHT\" " + line);
      if (ended_well(result)) {
        ++worked;
      } else if (result.status == 1) {
        ++refused;
      }
      if (worked >= 3) break;
    }
    std::cout << line.substr(0, line.find(' ')) << ": refused with a word " << refused
              << " times, then worked" << std::endl;
    CHECK(worked > 0);
  }
}

TEST_CASE("hard: a worker that gets no thread says so, is not waited for, and works later") {
  Mailbox<int, int, int> mailbox([](const auto& job) { return job.request + 1; });
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit nothing{1, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &nothing) == 0);
  bool refused = false;
  try {
    mailbox.post(1, 41);
  } catch (const std::exception&) {
    refused = true;
  }
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(refused);
  REQUIRE_FALSE(mailbox.busy());
  mailbox.wait();
  mailbox.post(1, 41);
  mailbox.wait();
  CHECK(mailbox.take(1)->answer == 42);
}

TEST_CASE("hard: without a home, or one that cannot be written to, everything but it works") {
  const Folder folder;
  const std::string file = folder.write("file", "no folder");
  const std::vector<Environment> homes = {
      {{"HOME", std::nullopt}, {"XDG_CACHE_HOME", std::nullopt}},
      {{"HOME", "/nowhere/at/all"}, {"XDG_CACHE_HOME", std::nullopt}},
      {{"HOME", ""}, {"XDG_CACHE_HOME", ""}},
      {{"HOME", file}, {"XDG_CACHE_HOME", file}},
      {{"HOME", folder / "home"},
       {"XDG_CACHE_HOME", folder / "home"},
       {"LD_PRELOAD", HEADLIGHT_FAULTS},
       {"HEADLIGHT_FAULT_FOLDER", folder / "home"},
       {"HEADLIGHT_FAULT_AT", "1"},
       {"HEADLIGHT_FAULT_ERROR", std::to_string(EROFS)},
       {"HEADLIGHT_FAULT_STAYS", "1"}}};
  fs::create_directories(folder / "home");
  for (const Environment& home : homes) {
    run_well(joined(kTrain, {"--steps", "2", "--out", folder / "run"}), home);
    if (can_draw()) run_well({"screenshot", "--size", "300x200", "--out", folder / "a.png"}, home);
  }
}

}  // namespace headlight::test
