// headlight train --out: when it saves, what it refuses, and what becomes of what lies there.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/child.h"
#include "tests/cli/shell.h"

namespace headlight::test::test_cli_train_out {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Args little_run(const std::string& out, int steps) {
  return {"train",    "--task", "reverse", "--steps", std::to_string(steps),
          "--layers", "1",      "--heads", "1",       "--d-model",
          "8",        "--out",  out};
}

int step_of(const std::string& run) {
  return Json::parse(std::ifstream(run + "/train.json")).at("step").get<int>();
}

}  // namespace

TEST_CASE("train --out: a longer run that lies there is kept, but for the one that goes on") {
  const Folder folder;
  const std::string out = folder / "run";
  CHECK_FALSE(contains(run_well(little_run(out, 3)).err, "is kept in"));
  const Result second = run_well(little_run(out + "/", 2));
  CHECK(contains(second.err,
                 "the run of 3 steps that was in '" + out + "' is kept in '" + out + ".before'"));
  CHECK(step_of(out) == 2);
  CHECK(step_of(out + ".before") == 3);
  fs::create_directory_symlink(out, folder / "link");
  CHECK(contains(run_well(little_run(folder / "link", 1)).err, out + ".before-2'"));
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(step_of(out) == 1);
  CHECK(step_of(out + ".before-2") == 2);
  // One that is as long takes its place, and so does what goes on.
  CHECK_FALSE(contains(run_well(little_run(out, 1)).err, "is kept in"));
  const Args more = {"train", "--resume", out, "--steps", "4", "--out", out + "/."};
  CHECK_FALSE(contains(run_well(more).err, "is kept in"));
  CHECK(step_of(out) == 4);
  CHECK_FALSE(fs::exists(out + ".before-3"));
}

TEST_CASE("train: nothing but another run takes a run's place") {
  const Folder folder;
  const std::string out = folder / "run";
  run_well(little_run(out, 3));
  const std::string before = read_bytes(out + "/model.safetensors");
  check_refused(run({"models", "--model", "sort", "--half", out}), 1,
                {out, "holds a training run"});
  for (const char* target : {"gpt2", "headlight", "pytorch"}) {
    CAPTURE(target);
    check_refused(run({"convert", "stories", "--to", target, "--out", out}), 1,
                  {out, "Choose a new folder"});
  }
  CHECK(read_bytes(out + "/model.safetensors") == before);
  CHECK(step_of(out) == 3);
}

TEST_CASE("train --out: what cannot be kept beside it stays") {
  const Folder folder;
  const std::string name(249, 'x'), out = folder / name;  // ".before" has no room behind it
  run_well(little_run(out, 3));
  check_refused(run(little_run(out, 1)), 1, {name, "cannot be kept", "another --out"});
  CHECK(step_of(out) == 3);
}

TEST_CASE("train --out: only one run saves in a folder at a time") {
  const Folder folder;
  const std::string out = folder / "run", said = folder / "said";
  const std::string train =
      "$HEADLIGHT train --task reverse --layers 1 --heads 1 --d-model 8 --out ";
  const Result second = run_shell(
      train + out + " --steps 100000000 2> " + said + " & i=0; until grep -q 'training on' " +
      said + " || [ $i = 300 ]; do sleep 0.1; i=$((i + 1)); done; " + train + out +
      "/ --steps 1; status=$?; kill -KILL $!; wait $! 2> /dev/null; exit $status");
  check_refused(second, 1, {"another run saves in", out, "another --out"});
  // Who was killed keeps nobody away.
  run_well(little_run(out, 1));
  CHECK(step_of(out) == 1);
}

TEST_CASE("train: a save on the way that fails is said, and the run goes on") {
  const Folder folder;
  const std::string home = folder / "home", log = folder / "log.csv", said = folder / "said";
  std::filesystem::create_directory(home);
  const auto wait_for = [&](const std::string& words) {
    return "i=0; until grep -q '" + words + "' " + said +
           " || [ $i = 600 ]; do sleep 0.05; i=$((i + 1)); done; ";
  };
  const Result result = run_shell(
      "$HEADLIGHT train --task reverse --layers 1 --heads 2 --d-model 16 --steps 100000000 "
      "--save-every 50 --out " +
      home + "/model --log " + log + " 2> " + said + " & " + wait_for("training on") + "mv " +
      home + " " + home + ".away; echo in the way > " + home + "; " + wait_for("the run goes on") +
      "sleep 0.5; kill -TERM $!; wait $!; echo $?");
  CHECK(result.out == "1\n");
  CHECK(contains(read_bytes(said), "the run goes on, but is not saved meanwhile"));
  const std::string lines = read_bytes(log);
  CHECK(std::ranges::count(lines, '\n') > 52);
  check_refused(run({"train", "--task", "reverse", "--save-every", "-1"}), 2, {"--save-every"});
}

TEST_CASE("train --out: where nothing can be saved is said before the first step") {
  const Folder folder;
  const auto refused = [&](const std::string& out, const std::vector<std::string>& phrases) {
    CAPTURE(out);
    const Result result = run({"train", "--task", "reverse", "--steps", "2", "--layers", "1",
                               "--heads", "1", "--d-model", "8", "--out", out});
    check_refused(result, 1, phrases);
    CHECK_FALSE(contains(result.err, "step"));
  };
  refused(folder.write("file", "x"), {"this is a file"});
  refused(folder / "none/model", {"Could not save"});
  std::filesystem::create_directory(folder / "bert");
  const std::string config = folder.write("bert/config.json", "{\"model_type\": \"bert\"}");
  refused(folder / "bert", {"bert", "this program did not write"});
  check_refused(run({"models", "--model", "induction", "--half", folder / "bert"}), 1,
                {"bert", "this program did not write"});
  CHECK(std::filesystem::file_size(config) == 22);
}

TEST_CASE("train --out: where files may not grow so far it is refused, not ended by the system") {
  const Folder folder;
  const Result result = run_shell(
      "ulimit -f 8; $HEADLIGHT train --task reverse --steps 2 --layers 1 --heads 2 --d-model 32 "
      "--out " +
      (folder / "model"));
  check_refused(result, 1, {"model", "Could not save"});
  CHECK_FALSE(std::filesystem::exists(folder / "model"));
}

TEST_CASE("train: a run that the system ends is saved first") {
  const Folder folder;
  for (const auto& [signal, number] : {std::pair{"TERM", 15}, std::pair{"HUP", 1}}) {
    const std::string name = signal, out = folder / name;
    INFO(name);
    const Result result = run_shell(
        "$HEADLIGHT train --task reverse --steps 100000000 --save-every 1000000000 "
        "--layers 1 --heads 1 --d-model 8 --out " +
        out + " 2> " + out + ".err & i=0; until grep -q 'training on' " + out +
        ".err || [ $i = 300 ]; do sleep 0.1; i=$((i + 1)); done; kill -" + name +
        " $!; wait $!; echo $?");
    CHECK(result.out == std::to_string(128 + number) + "\n");
    CHECK(std::filesystem::exists(out + "/train.json"));
  }
}

}  // namespace headlight::test::test_cli_train_out
