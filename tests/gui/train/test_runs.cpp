// File > Runs and models: what is listed, and what can be done with it.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "app/shell/runs/saved_runs.h"
#include "core/base/number_text.h"
#include "core/model/checkpoint.h"
#include "core/model/convert/convert.h"
#include "core/train/run_settings.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

UserFolders folders_for_runs(const TemporaryFolder& folder) {
  return {folder.path("settings.json"), folder.path("autosave"), folder.path("runs")};
}

// A run of so many steps in a folder.
std::shared_ptr<const Model> make_run(const std::string& folder, int steps,
                                      RunPlan plan = small_plan()) {
  fs::create_directories(fs::path(folder).parent_path());
  TrainingRun run(plan, make_plan_task(plan).task, 1);
  for (int i = 0; i < steps; ++i) run.step();
  run.save(folder);
  return run.model();
}

void open_list(Gui& gui) {
  gui.push(DoCommand{Command::kRuns});
  settle(gui);
  REQUIRE(gui.has("panel/runs"));
}

const std::vector<SavedRun>& runs_of(const Gui& gui) { return gui.state().runs.runs; }

SavedRun run_named(const Gui& gui, const std::string& name) {
  const auto found = std::find_if(runs_of(gui).begin(), runs_of(gui).end(),
                                  [&](const SavedRun& run) { return run.name == name; });
  REQUIRE(found != runs_of(gui).end());
  return *found;
}

std::string button(const Gui& gui, const std::string& name, const std::string& what) {
  for (std::size_t i = 0; i < runs_of(gui).size(); ++i) {
    if (runs_of(gui)[i].name == name) return "runs/" + std::to_string(i) + "/" + what;
  }
  return "no " + name;
}

}  // namespace

TEST_CASE("runs: task, step, score and size are listed, a damaged run with what is wrong") {
  const TemporaryFolder folder;
  make_run(folder.path("runs/induction-2026-11-20-120000"), 20);
  make_run(folder.path("runs/half"), 10);
  fs::resize_file(folder.path("runs/half/model.safetensors"), 300);
  fs::create_directories(folder.path("runs/empty"));
  write_text(folder.path("runs/file"), "no run");
  Gui gui({}, {1440, 900}, 1, {}, folders_for_runs(folder));
  open_list(gui);
  REQUIRE(runs_of(gui).size() == 3);
  const SavedRun whole = run_named(gui, "induction-2026-11-20-120000");
  CHECK(whole.problem.empty());
  CHECK(whole.task == "induction");
  CHECK(whole.step == 20);
  REQUIRE(whole.loss);
  CHECK(*whole.loss > 0);
  CHECK(whole.bytes > 1000);
  CHECK(gui.shows("step 20"));
  CHECK(gui.shows("% right"));
  CHECK_FALSE(run_named(gui, "half").problem.empty());
  CHECK_FALSE(run_named(gui, "empty").problem.empty());
  CHECK(gui.shows("config.json"));
  // What is damaged cannot be opened, and can be removed.
  gui.click(button(gui, "half", "open"));
  gui.frame();
  CHECK(gui.document() == Document{});
  gui.click(button(gui, "half", "remove"));
  gui.frame(2);
  CHECK(gui.state().session.question.asking == Asking::kRemove);
}

TEST_CASE("runs: another program's folder is listed with its type, and opened from there") {
  const TemporaryFolder folder;
  const std::string path = folder.path("little-gpt2"), broken = folder.path("broken");
  (void)convert_model(*load_model("bundled:stories"), path, {"gpt2"});
  fs::copy(path, broken);
  fs::resize_file(broken + "/model.safetensors", 3000);
  Gui gui({}, {1440, 900}, 1, {}, folders_for_runs(folder));
  gui.push(RememberModel{broken});
  gui.push(RememberModel{path});
  open_list(gui);
  REQUIRE(runs_of(gui).size() == 2);
  // By name: which was written last depends on the second that each was written in.
  const SavedRun whole = run_named(gui, "little-gpt2");
  CHECK(whole.problem.empty());
  CHECK(whole.task == "gpt2");
  CHECK(gui.shows("gpt2 · "));
  CHECK(gui.shows(bytes_text(whole.bytes)));
  const std::string said = say(Language::kEnglish, run_named(gui, "broken").problem);
  CHECK(said.find("model.safetensors") != std::string::npos);
  gui.click(button(gui, "little-gpt2", "open"));
  settle(gui);
  CHECK(gui.document().model == path);
  CHECK(gui.state().derived.problem.empty());
}

TEST_CASE("runs: one is opened, and gone on with as if it had never stopped") {
  const TemporaryFolder folder;
  const auto model = make_run(folder.path("runs/mine"), 10);
  Gui gui({}, {1440, 900}, 1, {}, folders_for_runs(folder));
  open_list(gui);
  gui.click(button(gui, "mine", "open"));
  settle(gui);
  CHECK(gui.document().model == folder.path("runs/mine"));
  CHECK(weights_mark(gui.state().derived.model->weights) == weights_mark(model->weights));
  open_list(gui);
  gui.click(button(gui, "mine", "resume"));
  settle(gui);
  CHECK(gui.state().session.mode == Mode::kTrain);
  CHECK(run_of(gui).status.step == 10);
  CHECK(gui.document().model == kRunRef);
  gui.push(PlayRun{true, 15});
  settle(gui);
  TrainingRun never(small_plan(), make_plan_task(small_plan()).task, 1);
  for (int i = 0; i < 15; ++i) never.step();
  CHECK(weights_mark(run_of(gui).live->weights) == weights_mark(never.model()->weights));
  REQUIRE(run_of(gui).curve.size() == 5);
  CHECK(run_of(gui).curve[0].loss == never.history().curve()[10].loss);
  // Started again, it begins at its beginning.
  gui.click("train/same");
  settle(gui);
  CHECK(run_of(gui).status.step == 0);
}

TEST_CASE("runs: a run on a text of one's own asks where the text is") {
  const TemporaryFolder folder;
  RunPlan plan = small_plan("");
  plan.config.layers = 1;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat on the mat and the dog lay on the log.\n";
  write_text(folder.path("text.txt"), text);
  plan.text.path = folder.path("text.txt");
  make_run(folder.path("runs/own"), 6, plan);
  Gui gui({}, {1440, 900}, 1, {}, folders_for_runs(folder));
  open_list(gui);
  gui.click(button(gui, "own", "resume"));
  settle(gui);
  REQUIRE(gui.has("panel/train_text"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(folder.path("text.txt"));
  gui.frame();
  gui.click("path/ok");
  settle(gui);
  CHECK(run_of(gui).status.step == 6);
  gui.push(PlayRun{true, 8});
  settle(gui);
  TrainingRun never(plan, make_plan_task(plan).task, 1);
  for (int i = 0; i < 8; ++i) never.step();
  CHECK(weights_mark(run_of(gui).live->weights) == weights_mark(never.model()->weights));
}

TEST_CASE("runs: renamed, removed after a question, and put back") {
  const TemporaryFolder folder;
  make_run(folder.path("runs/first"), 2);
  make_run(folder.path("runs/second"), 2);
  Gui gui({}, {1440, 900}, 1, {}, folders_for_runs(folder));
  open_list(gui);
  gui.click(button(gui, "first", "rename"));
  gui.frame(2);
  REQUIRE(gui.has("runs/name"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type("it's \"mine\" 中");
  gui.key({kKeyEnter});
  settle(gui);
  CHECK(fs::exists(folder.path("runs/it's \"mine\" 中/config.json")));
  CHECK_FALSE(fs::exists(folder.path("runs/first")));
  for (const std::string& bad : {std::string("a/b"), std::string(), std::string(".."),
                                 std::string(300, 'x'), std::string("removed")}) {
    gui.push(RenameRun{folder.path("runs/second"), bad});
    settle(gui);
    CHECK(gui.notices_say("the name of a folder is needed"));
    CHECK(fs::exists(folder.path("runs/second/config.json")));
    gui.push(DismissNotice{0});
  }
  gui.push(RenameRun{folder.path("runs/second"), "it's \"mine\" 中"});
  settle(gui);
  CHECK(gui.notices_say("there is already something named"));
  gui.push(RenameRun{folder.path("runs/second"), "two\nlines"});
  settle(gui);
  CHECK(fs::exists(folder.path("runs/two\nlines/config.json")));

  open_list(gui);
  gui.click(button(gui, "two\nlines", "remove"));
  gui.frame(2);
  CHECK(gui.shows("Remove two"));
  gui.key({kKeyEscape});
  settle(gui);
  CHECK(fs::exists(folder.path("runs/two\nlines")));
  gui.click(button(gui, "two\nlines", "remove"));
  gui.frame(2);
  gui.click("question/first");
  settle(gui);
  CHECK_FALSE(fs::exists(folder.path("runs/two\nlines")));
  CHECK(gui.shows("Removed, kept for 7 days"));
  gui.click(button(gui, "two\nlines", "restore"));
  settle(gui);
  CHECK(load_checkpoint(folder.path("runs/two\nlines"), true).training);
  // After its days it is gone; what was removed just now is not.
  const std::string old = remove_run(folder.path("runs/two\nlines"));
  const std::string young = remove_run(folder.path("runs/it's \"mine\" 中"));
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(24 * 8));
  forget_removed(folder.path("runs"));
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(young));
}

TEST_CASE("runs: what a window trains is neither renamed nor removed; a kept model is remembered") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_for_runs(folder);
  {
    Gui gui({}, {1440, 900}, 1, {}, folders);
    gui.shell().start_keeping(0);
    open_panel(gui);
    gui.push(PlayRun{true, 3});
    settle(gui);
    open_list(gui);
    REQUIRE(runs_of(gui).size() == 1);
    CHECK(runs_of(gui)[0].in_use);
    const std::string run = runs_of(gui)[0].path;
    gui.push(RemoveRun{run});
    settle(gui);
    CHECK(fs::exists(run));
    gui.push(RenameRun{run, "other"});
    settle(gui);
    CHECK(fs::exists(run));
    gui.push(KeepRun{folder.path("kept"), 0});
    settle(gui);
    gui.shell().keep(1);
    gui.shell().finish_keeping();
  }
  Gui gui({}, {1440, 900}, 1, {}, folders);
  open_list(gui);
  REQUIRE(runs_of(gui).size() == 1);
  CHECK(runs_of(gui)[0].kind == SavedKind::kModel);
  CHECK(runs_of(gui)[0].path == folder.path("kept"));
  gui.click(button(gui, "kept", "remove"));  // off the list alone
  settle(gui);
  CHECK(runs_of(gui).empty());
  CHECK(fs::exists(folder.path("kept/config.json")));
  CHECK(gui.shows("There are none yet"));
}

}  // namespace headlight::test
