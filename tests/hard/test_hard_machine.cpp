// Machines that are not as they should be: clocks that jump, another language's commas, more
// threads than cores, hardly any memory, no home, variables that say nonsense. Files and numbers
// stay the same, or it is said what is wrong. HEADLIGHT_HARD=long: smaller steps of memory.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <regex>

#include "app/cli/out_of_memory.h"
#include "core/base/mailbox.h"
#include "hard_paths.h"
#include "tests/cli/shell.h"
#include "tests/hard/hard.h"
#include "tests/hard/small_process.h"

namespace headlight::test::test_hard_machine {
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

// A comma inside a number that does not stand before three digits.
bool has_decimal_comma(const std::string& text) {
  static const std::regex kComma("[0-9],([0-9]{1,2}|[0-9]{4,})([^0-9]|$)");
  return std::regex_search(text, kComma);
}

// The program with so many kilobytes of addresses. Where not even its libraries can be loaded
// nothing of it has run, and the system says why: kNotLoaded.
constexpr int kNotLoaded = 3;
Result run_within(int limit, const std::string& line) {
  return run_shell("ulimit -c 0; ulimit -v " + std::to_string(limit) + "; \"$HEADLIGHT\" " + line +
                   "; status=$?; test $status = 127 && exit " + std::to_string(kNotLoaded) +
                   "; exit $status");
}

// The fewest kilobytes that the program can be loaded with, to 100.
int least_to_load() {
  int below = 1000, enough = 4000000;
  while (enough - below > 100) {
    const int middle = (below + enough) / 2;
    (run_within(middle, "--version").status == kNotLoaded ? below : enough) = middle;
  }
  return enough;
}

// What ran with little memory worked, or said why not.
void check_ended_well(const Result& result) {
  INFO("status ", result.status, ", stderr: ", result.err);
  const bool known = result.status == 0 || result.status == 1 || result.status == kNotLoaded;
  CHECK(known);
  if (result.status == 1) CHECK(contains(result.err, "headlight: "));
  if (result.status == kNotLoaded) CHECK(contains(result.err, "shared librar"));
  for (const char* crash : {"terminate called", "Aborted", "egmentation", "core dumped"})
    CHECK_FALSE(contains(result.err, crash));
}

constexpr std::uint64_t kFew = std::uint64_t{64} << 20;

// Takes what there is, in pieces of a size that fills the last gap, and keeps it. A compiler leaves
// out memory that nobody looks at.
void take_all_memory() {
  static char* volatile taken = nullptr;
  do {
    taken = new char[1000];
  } while (taken);
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
      {"trace", "--layers", "1", "--out", out + ".npz"},
      {"trace", "--layers", "1", "--temperature", "0.5", "--out", out + ".json"},
      {"trace", "--layers", "1", "--weights-out", out + ".safetensors"},
      {"explain", "--tensor", "blocks.0.attn.pattern", "--at", "0,1,0"},
      {"lab", "scale", "--csv", out + ".csv", "--json", out + ".lab.json"},
      {"code", "--step", "blocks.0.attn.pattern"},
      {"cost", "--tokens", "8", "--vocab", "10"},
      {"eval", "--model", "sort", "--task", "--count", "5"},
      {"generate", "--model", "grammar", "--prompt", "mary", "--tokens", "5", "--temperature",
       "0.8"},
      {"info", "sort"}};
  for (const Args& args : commands) {
    CAPTURE(shown(args));
    std::map<std::string, std::string> texts[2];
    for (const bool in_german : {false, true}) {
      const Result result = run_well(args, in_german ? german : Environment{});
      const bool measures = args[0] == "cost" || args[0] == "info";  // times, memory that is left
      if (measures) CHECK_FALSE(has_decimal_comma(result.out));
      if (!measures) texts[in_german][""] = result.out;
      for (const auto& entry : fs::directory_iterator(folder / "")) {
        const std::string path = entry.path().string();
        if (entry.is_regular_file()) texts[in_german][path] = read_bytes(path);
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
  const int least = least_to_load(), step = is_long() ? 50 : 1500;
  for (const std::string& line : lines) {
    CAPTURE(line);
    int worked = 0, refused = 0;
    for (int limit = least - 2 * step; limit < 10 * least && worked < 5; limit += step) {
      CAPTURE(limit);
      const Result result = run_within(limit, line);
      check_ended_well(result);
      worked += result.status == 0;
      refused += result.status == 1;
    }
    std::cout << line.substr(0, line.find(' ')) << ": from " << least
              << " kB on refused with a word " << refused << " times, then worked" << std::endl;
    CHECK(worked > 0);
  }
}

TEST_CASE("hard: once memory has run out there is room to say so") {
  const EndedProcess process = run_in_copy([] {
    leave_addresses(kFew);
    try {
      take_all_memory();
    } catch (const std::bad_alloc&) {
      const std::vector<char> room(1 << 20);
      ::_exit(room.back());
    }
  });
  INFO(process.err);
  CHECK(process.status == 0);
}

TEST_CASE("hard: memory that runs out where nothing can be caught ends the program with a word") {
  const EndedProcess none = run_in_copy([]() noexcept {
    leave_addresses(kFew);
    take_all_memory();
  });
  CHECK(none.status == 1);
  CHECK(none.err == "headlight: " + std::string(kNoMemory) + "\n");
  // Any other mistake is not hidden.
  const EndedProcess other = run_in_copy([]() noexcept { (void)std::string().at(1); });
  CHECK(other.status == 128 + SIGABRT);
  CHECK_FALSE(contains(other.err, kNoMemory));
}

TEST_CASE("hard: a worker that gets no thread says so, is not waited for, and works later") {
  Mailbox<int, int, int> mailbox([](const auto& job) { return job.request + 1; });
  leave_addresses(0);
  const auto id = mailbox.post(1, 41);
  const bool busy = mailbox.busy();
  mailbox.wait();
  leave_all_addresses();
  CHECK(id == 0);
  CHECK_FALSE(busy);
  CHECK(mailbox.take(1)->problem.id == "error.no_thread");
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

}  // namespace headlight::test::test_hard_machine
