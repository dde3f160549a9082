// The program is killed at random moments, as nothing can be done against (kill -9): what it was
// writing is whole or as it was, what it has learned for more than a few seconds is on the disk,
// and the next start clears up. HEADLIGHT_HARD=long: many more times; HEADLIGHT_HARD_SEED other
// moments.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include "core/base/random.h"
#include "core/train/run_checkpoint.h"
#include "tests/cli/child.h"
#include "tests/hard/hard.h"

namespace headlight::test::test_hard_killed {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// Runs it for so many seconds, or to its end if that comes first.
void kill_after(double seconds, const Args& args) {
  const auto began = Clock::now();
  run_and_kill(
      args, [&] { return seconds_since(began) >= seconds; }, true);
}

const Args kTrain = {"train", "--task", "copy", "--layers", "1", "--heads", "1", "--d-model", "8"};

// How many lines there are.
std::int64_t lines_of(const std::string& path) {
  if (!fs::exists(path)) return 0;
  const std::string text = read_bytes(path);
  return std::count(text.begin(), text.end(), '\n');
}

std::int64_t saved_step(const std::string& folder) {
  const std::string json = read_bytes(folder + "/train.json");
  const std::size_t at = json.find("\"step\": ");
  REQUIRE(at != json.npos);
  return std::atoll(json.c_str() + at + 8);
}

// Five seconds, but where saving takes long (a slow disk, a busy machine) it is saved less often.
double most_lost() {
  const Folder folder;
  const Args steps = joined(kTrain, {"--steps", "40", "--out", folder / "run"});
  const double without = run_well(steps).seconds;
  const double with = run_well(joined(steps, {"--save-every", "1"})).seconds;
  const double took = (with - without) / 40;
  return seconds_to_next_save(2 * took) > kSaveEvery ? 2 + seconds_to_next_save(4 * took) : 5;
}

// An export over an older one, killed: each of its files is one of the two.
struct Export {
  std::string name, ending;  // of the file; none: a folder
  Args before, now;          // OUT: where to
};

Args to_place(Args args, const std::string& place) {
  for (std::string& arg : args) {
    if (arg == "OUT") arg = place;
  }
  return args;
}

std::map<std::string, std::string> files_in(const std::string& place) {
  std::map<std::string, std::string> files;
  if (fs::is_regular_file(place)) files[""] = read_bytes(place);
  if (!fs::is_directory(place)) return files;
  for (const auto& entry : fs::directory_iterator(place))
    files[entry.path().filename().string()] = read_bytes(entry.path().string());
  return files;
}

std::size_t entries_in(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::vector<Export> all_exports() {
  const Args trace = {"trace", "--sentence", "the cat sat on the mat", "--out", "OUT"};
  std::vector<Export> all = {
      {"trace", ".safetensors", joined(trace, {"--seed", "2"}), trace},
      {"convert",
       "",
       {"convert", "stories", "--to", "headlight", "--out", "OUT"},
       {"convert", "stories", "--to", "headlight", "--dtype", "f16", "--out", "OUT"}},
      {"train", "", joined(kTrain, {"--steps", "3", "--seed", "2", "--out", "OUT"}),
       joined(kTrain, {"--steps", "3", "--out", "OUT"})}};
  if (can_draw()) {
    const Args picture = {"screenshot", "--size", "700x400", "--out", "OUT"};
    all.push_back({"screenshot", ".png", picture, joined(picture, {"--theme", "dark"})});
  }
  return all;
}

}  // namespace

TEST_CASE("hard: an export that is killed leaves the old one or the new one, and no more") {
  Random random(random_seed());
  const int kills = is_long() ? 25 : 3;
  for (const Export& one : all_exports()) {
    const Folder folder;
    const std::string old = folder / "old" + one.ending, whole = folder / "new" + one.ending;
    run_well(to_place(one.before, old));
    const double takes = run_well(to_place(one.now, whole)).seconds;
    const auto old_files = files_in(old), new_files = files_in(whole);
    const std::string parent = folder / "place", place = parent + "/made" + one.ending;
    int kept = 0;
    for (int i = 0; i < kills; ++i) {
      fs::remove_all(parent);
      fs::create_directories(parent);
      fs::copy(old, place, fs::copy_options::recursive);
      const double moment = takes * (0.3 + 0.8 * random.uniform());
      kill_after(moment, to_place(one.now, place));
      INFO(one.name, ", killed after ", moment, " s");
      const auto found = files_in(place);
      CHECK((found == old_files || found == new_files));
      kept += found == old_files;
      run_well(to_place(one.now, place));
      CHECK(files_in(place) == new_files);
      CHECK(entries_in(parent) == 1);  // what the killed one has left is gone
    }
    std::cout << one.name << ": killed " << kills << " times within " << takes << " s, " << kept
              << " times the old one was there" << std::endl;
  }
}

TEST_CASE("hard: of a run that is killed no more than five seconds are lost") {
  Random random(random_seed());
  const double lost = most_lost();
  const int kills = is_long() ? 20 : 1;
  for (int i = 0; i < kills; ++i) {
    const Folder folder;
    const std::string run_folder = folder / "run", log = folder / "log.csv";
    const double moment = lost + 2 + 6 * random.uniform();
    std::vector<std::pair<double, std::int64_t>> steps;  // when, and how many there were
    const auto began = Clock::now();
    const auto enough = [&] {
      const double now = seconds_since(began);
      if (steps.empty() || now - steps.back().first > 0.2) steps.push_back({now, lines_of(log)});
      return now >= moment;
    };
    run_and_kill(joined(kTrain, {"--steps", "100000000", "--out", run_folder, "--log", log}),
                 enough);
    const double killed = seconds_since(began);
    std::int64_t by_then = 0;
    for (const auto& [when, lines] : steps) {
      if (when <= killed - lost) by_then = lines - 1;  // the first line has the names
    }
    INFO("killed after ", killed, " s, of which ", lost, " may be lost");
    REQUIRE(by_then > 0);
    const std::int64_t saved = saved_step(run_folder);
    CHECK(saved >= by_then);
    CHECK(saved <= lines_of(log));
    run_well({"eval", "--model", run_folder, "--task", "--count", "1"});
  }
}

TEST_CASE("hard: a program that is killed while it opens a file leaves it as it is") {
  Random random(random_seed());
  const Folder folder;
  const std::string model = folder / "model";
  run_well({"convert", "stories", "--to", "headlight", "--out", model});
  const auto before = files_in(model);
  const Args open = {"trace", "--list", "--model", model, "--sentence", "once"};
  const double takes = run_well(open).seconds;
  for (int i = 0; i < (is_long() ? 20 : 3); ++i) {
    kill_after(takes * random.uniform(), open);
    CHECK(files_in(model) == before);
    CHECK(entries_in(folder / "") == 1);
  }
  run_well(open);
}

}  // namespace headlight::test::test_hard_killed
