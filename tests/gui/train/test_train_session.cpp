// Sessions of trained runs: they can be opened again, whatever has happened to the run; a start
// that fails and a look into the Train panel change nothing.
#include <filesystem>

#include "app/shell/autosave.h"
#include "core/document/session_file.h"
#include "core/model/checkpoint.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

UserFolders folders_of(const TemporaryFolder& folder) {
  return {folder.path("settings.json"), folder.path("autosave"), folder.path("runs")};
}

Asking asking(const Gui& gui) { return gui.state().session.question.asking; }

// The numbers on the stage are those of these weights.
void check_shown(const Gui& gui, const Model& model) {
  Runner runner;
  const auto backend = make_cpu_backend(1);
  Document document = gui.document();
  document.model = kRunRef;
  const RunResult expected = runner.run(document, *backend, std::make_shared<const Model>(model));
  REQUIRE(expected.trace);
  const TensorView own = gui.tensor("logits"), other = expected.trace->tensor("logits");
  REQUIRE(own.size() == other.size());
  for (std::int64_t i = 0; i < own.size(); ++i) CHECK(own.data[i] == other.data[i]);
}

void save_as(Gui& gui, const std::string& path) {
  gui.push(SaveFile{path});
  settle(gui);
}

}  // namespace

TEST_CASE("train session: a run that is kept nowhere is saved beside its session") {
  const TemporaryFolder folder;
  const std::string path = folder.path("first.headlight.json");
  std::shared_ptr<const Model> shown;
  Document saved;
  {
    Gui gui;
    open_panel(gui);
    gui.push(PlayRun{true, 12});
    settle(gui);
    gui.push(MarkStep{5});
    settle(gui);
    shown = nearest_snapshot(run_of(gui).snapshots, 5)->model;
    saved = gui.document();
    save_as(gui, path);
    CHECK(gui.state().history.is_saved());
    CHECK(gui.notices_say(folder.path("first")));
  }
  const SessionFile file = read_session(path);
  CHECK(file.document.model == folder.path("first"));
  CHECK(file.weights.own);
  CHECK(file.weights.mark == weights_mark(shown->weights));
  Gui gui;
  gui.push(OpenFile{path});
  settle(gui);
  CHECK(asking(gui) == Asking::kNothing);
  CHECK(gui.document().sentence == saved.sentence);
  check_shown(gui, *shown);
  // The two can be moved together.
  fs::create_directories(folder.path("moved"));
  fs::rename(path, folder.path("moved/first.headlight.json"));
  fs::rename(folder.path("first"), folder.path("moved/first"));
  gui.push(OpenFile{folder.path("moved/first.headlight.json")});
  settle(gui);
  CHECK(asking(gui) == Asking::kNothing);
  CHECK(gui.document().model == folder.path("moved/first"));
  check_shown(gui, *shown);
}

TEST_CASE("train session: it names the folder where the run was kept as of the shown step") {
  const TemporaryFolder folder;
  const std::string path = folder.path("run.headlight.json");
  Gui gui;
  open_panel(gui);
  gui.push(PlayRun{true, 4});
  settle(gui);
  gui.push(KeepRun{folder.path("kept"), 0});
  settle(gui);
  save_as(gui, path);
  CHECK(read_session(path).document.model == folder.path("kept"));
  CHECK_FALSE(read_session(path).weights.own);
  CHECK_FALSE(fs::exists(folder.path("run")));
  // Trained on, the folder has others: these are saved with it, and again in the same place.
  for (const std::int64_t steps : {6, 8}) {
    gui.push(PlayRun{true, steps});
    settle(gui);
    gui.push(DoEdit{SetSentence{gui.document().sentence + " a"}, ""});
    save_as(gui, path);
    const SessionFile file = read_session(path);
    CHECK(file.document.model == folder.path("run"));  // not "this run"
    CHECK(file.weights.mark == weights_mark(run_of(gui).live->weights));
    CHECK(weights_mark(load_checkpoint(folder.path("run")).weights) == file.weights.mark);
  }
  // Another model's folder is never written over.
  fs::create_directories(folder.path("mine"));
  write_text(folder.path("mine/config.json"), "{}");
  save_as(gui, folder.path("mine.headlight.json"));
  CHECK(read_session(folder.path("mine.headlight.json")).document.model == folder.path("mine-2"));
  CHECK(read_text(folder.path("mine/config.json")) == "{}");
  // Nor that of a session which this one is a copy of.
  fs::copy_file(path, folder.path("copy.headlight.json"));
  gui.push(OpenFile{folder.path("copy.headlight.json")});
  settle(gui);
  CHECK(gui.document().model == folder.path("run"));
}

TEST_CASE("train session: names that no folder can have are said, and nothing is left behind") {
  const TemporaryFolder folder;
  Gui gui;
  open_panel(gui);
  gui.push(PlayRun{true, 2});
  settle(gui);
  const std::string odd = folder.path("it's \"odd\"\nname 中🙂.headlight.json");
  save_as(gui, odd);
  CHECK(gui.state().history.is_saved());
  CHECK(fs::exists(read_session(odd).document.model + "/config.json"));
  gui.push(DoEdit{SetSentence{gui.document().sentence + " a"}, ""});
  save_as(gui, folder.path(std::string(300, 'x') + ".headlight.json"));
  CHECK_FALSE(gui.state().history.is_saved());
  CHECK(gui.notices_say("Your work is still here"));
  save_as(gui, folder.path("no/such/folder.headlight.json"));
  CHECK_FALSE(gui.state().history.is_saved());
  int entries = 0;
  for (const auto& entry : fs::directory_iterator(folder.path("")))
    entries += entry.path().string().size() > 0;
  CHECK(entries == 2);  // the odd session and its weights
}

TEST_CASE("train session: weights that were moved or changed are said, and found again") {
  const TemporaryFolder folder;
  const std::string path = folder.path("s.headlight.json");
  {
    Gui gui;
    open_panel(gui);
    gui.push(PlayRun{true, 6});
    settle(gui);
    save_as(gui, path);
  }
  fs::rename(folder.path("s"), folder.path("elsewhere"));
  Gui gui(small_document());
  gui.push(OpenFile{path});
  settle(gui);
  CHECK(asking(gui) == Asking::kFind);
  CHECK(gui.document() == small_document());
  CHECK(gui.shows("The weights of this session are missing"));
  gui.key({kKeyEscape});
  CHECK(gui.document() == small_document());
  gui.push(OpenFile{path});
  gui.frame(2);
  gui.click("question/first");
  gui.frame(2);
  REQUIRE(gui.has("panel/find_model"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(folder.path("nothing here"));
  gui.frame();
  gui.click("path/ok");
  gui.frame(2);
  CHECK(gui.state().session.path_problem.id == "files.not_there");  // and the sheet stays
  REQUIRE(gui.has("panel/find_model"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(folder.path("elsewhere"));
  gui.frame();
  gui.click("path/ok");
  settle(gui);
  CHECK(asking(gui) == Asking::kNothing);
  CHECK(gui.document().model == folder.path("elsewhere"));
  CHECK(gui.state().session_path == path);
  CHECK_FALSE(gui.state().history.is_saved());
  check_shown(gui, *load_model(folder.path("elsewhere")));
  save_as(gui, path);
  // Other weights under the same name.
  Gui other;
  open_panel(other);
  other.push(PlayRun{true, 3});
  settle(other);
  other.push(KeepRun{folder.path("elsewhere"), 0});
  settle(other);
  Gui next(small_document());
  next.push(OpenFile{path});
  settle(next);
  CHECK(asking(next) == Asking::kChanged);
  CHECK(next.shows("The weights have changed"));
  next.key({kKeyEscape});
  CHECK(next.document().model == folder.path("elsewhere"));
  // Nowhere any more: random weights.
  fs::remove_all(folder.path("elsewhere"));
  Gui last(small_document());
  last.push(OpenFile{path});
  last.frame(2);
  last.ctrl('R');
  settle(last);
  CHECK(last.document().model.empty());
  CHECK(last.document().sentence == read_session(path).document.sentence);
  CHECK(last.state().derived.trace);
}

TEST_CASE("train session: one of an old version that names no folder asks for it") {
  const TemporaryFolder folder;
  Document old = small_document();
  old.model = kRunRef;
  write_text(folder.path("old.headlight.json"), session_text(old));
  Gui gui;
  open_panel(gui);  // there is a run, but it is another one
  gui.push(PlayRun{true, 2});
  settle(gui);
  const Document before = gui.document();
  gui.push(OpenFile{folder.path("old.headlight.json")});
  settle(gui);
  gui.ctrl('D');  // don't save
  CHECK(asking(gui) == Asking::kFind);
  gui.key({kKeyEscape});
  CHECK(gui.document() == before);
}

TEST_CASE("train session: after a crash the sentence comes back with the run's own weights") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_of(folder);
  std::shared_ptr<const Model> last;
  Document lost;
  {
    Gui gui({}, {1440, 900}, 1, {}, folders);
    gui.shell().start_keeping(0);
    open_panel(gui);
    gui.push(PlayRun{true, 9});
    settle(gui);
    last = run_of(gui).live;
    lost = gui.document();
    for (int second = 1; second < 8; ++second) {
      gui.shell().keep(second);
      settle(gui);
    }
  }  // without an end: as if it had been killed
  Gui gui({}, {1440, 900}, 1, {}, folders);
  gui.shell().start_keeping(10);
  gui.frame(2);
  REQUIRE(asking(gui) == Asking::kRecover);
  gui.key({kKeyEnter});
  settle(gui);
  CHECK(asking(gui) == Asking::kNothing);
  CHECK(gui.document().sentence == lost.sentence);
  CHECK(gui.document().model.starts_with(folders.runs + "/"));
  check_shown(gui, *last);
  // Saved, it has its weights beside it: those in the runs' folder do not stay for ever.
  save_as(gui, folder.path("r.headlight.json"));
  CHECK(read_session(folder.path("r.headlight.json")).document.model == folder.path("r"));
  CHECK(weights_mark(load_checkpoint(folder.path("r")).weights) == weights_mark(last->weights));
}

TEST_CASE("train session: a crash at the first step leaves the first weights") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_of(folder);
  {
    Gui gui({}, {1440, 900}, 1, {}, folders);
    gui.shell().start_keeping(0);
    open_panel(gui);
    CHECK(gui.document().model == kRunRef);
    for (int second = 1; second < 8; ++second) {
      gui.shell().keep(second);
      settle(gui);
    }
  }
  const auto found = find_recoverable(folders.autosave).recoverable;
  REQUIRE(found.size() == 1);
  CHECK(fs::exists(found[0].document.model + "/config.json"));
}

TEST_CASE("train session: T and T again leaves sentence and model as they were") {
  Gui gui;
  gui.push(ChooseModel{"bundled:grammar"});
  settle(gui);
  const Document before = gui.document();
  const bool saved = gui.state().history.is_saved();
  gui.key({'T'});
  settle(gui);
  CHECK(gui.shows("Your sentence, as of step 0"));
  CHECK(gui.document().model == kRunRef);      // of the panel,
  CHECK(gui.state().history.now() == before);  // not the person's
  CHECK(gui.state().history.is_saved() == saved);
  CHECK(gui.trace().config().layers == run_of(gui).plan->config.layers);
  gui.key({'T'});
  settle(gui);
  CHECK(gui.document() == before);
  CHECK(gui.tensor("logits").size() > 0);
  CHECK(gui.state().derived.model->ref == "bundled:grammar");
  // Learning is another thing: one step of undo.
  gui.key({'T'});
  settle(gui);
  gui.key({'N'});
  settle(gui);
  CHECK(gui.state().history.now().model == kRunRef);
  gui.key({'T'});
  settle(gui);
  CHECK(gui.document().model == kRunRef);
  gui.ctrl('Z');
  settle(gui);
  CHECK(gui.document() == before);
}

TEST_CASE(
    "train session: what is typed in the panel is the person's, another model sends it away") {
  Gui gui;
  gui.key({'T'});
  settle(gui);
  const Document shown = gui.document();
  gui.push(DoEdit{SetSentence{shown.sentence + " " + shown.sentence}, ""});
  settle(gui);
  CHECK(gui.state().history.now().model == kRunRef);
  CHECK(gui.state().history.now().sentence == shown.sentence + " " + shown.sentence);
  Gui other;
  other.key({'T'});
  settle(other);
  other.push(ChooseModel{"bundled:grammar"});
  settle(other);
  CHECK(other.document().model == "bundled:grammar");
  other.frame(3);
  CHECK(other.document().model == "bundled:grammar");
}

TEST_CASE("train session: a start that fails leaves the run as it is, and does not count") {
  Gui gui;
  open_panel(gui);
  gui.push(PlayRun{true, 10});
  settle(gui);
  const std::uint64_t run = run_of(gui).status.run;
  const std::shared_ptr<const Model> live = run_of(gui).live;
  const Document document = gui.document();
  RunPlan plan = small_plan("");
  plan.text.path = "/nowhere/text.txt";
  gui.push(PlanRun{plan});
  for (int i = 0; i < 3; ++i) {
    gui.click("train/same");
    settle(gui);
    CHECK(gui.notices_say("/nowhere/text.txt"));
    CHECK(run_of(gui).status.run == run);
    CHECK(run_of(gui).status.phase == TrainPhase::kPaused);
    CHECK(run_of(gui).curve.size() == 10);
    REQUIRE(run_of(gui).live);
    CHECK(!run_of(gui).live->weights.empty());
    CHECK(gui.state().train.earlier.empty());
    CHECK(gui.document() == document);
    CHECK(gui.state().session.train.changed);
  }
  check_shown(gui, *live);
  gui.push(StepRun{});  // and it goes on
  settle(gui);
  CHECK(run_of(gui).status.step == 11);
  // Without a text there is nothing to fail: it is asked for.
  plan.text = {};
  gui.push(PlanRun{plan});
  gui.click("train/same");
  settle(gui);
  CHECK(gui.has("panel/train_text"));
  CHECK(run_of(gui).status.run == run);
  gui.key({kKeyEscape});
  gui.push(PlanRun{small_plan()});
  gui.push(StartRun{});
  settle(gui);
  CHECK(run_of(gui).status.run == run + 1);
  CHECK(gui.state().train.earlier.size() == 1);
}

TEST_CASE("train session: the next token is that of the shown step") {
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  gui.push(PlayRun{true});
  settle(gui);
  gui.push(MarkStep{0});
  settle(gui);
  const TensorView shown =
      gui.tensor(gui.trace()
                     .program()
                     .tensors[static_cast<std::size_t>(gui.trace().program().probabilities)]
                     .name);
  const auto width = static_cast<std::size_t>(shown.axes.back().size);
  const float* row = shown.data + shown.size() - width;
  const float best = *std::max_element(row, row + width);
  REQUIRE(best < 0.9f);
  const std::string digits = std::to_string(std::lround(best * 1000));
  CHECK(gui.shows("0." + std::string(3 - digits.size(), '0') + digits));
  CHECK(gui.shows("The mark is the newest step, 40."));
  gui.push(MarkStep{});
  settle(gui);
  CHECK_FALSE(gui.shows("The mark is the newest step"));
}

TEST_CASE("train session: a window whose run cannot be saved stays, says why, offers a folder") {
  const TemporaryFolder folder;
  UserFolders folders = folders_of(folder);
  write_text(folders.runs, "in the way");  // no folder can be made there
  Gui gui({}, {1440, 900}, 1, {}, folders);
  gui.shell().start_keeping(0);
  open_panel(gui);
  gui.push(PlayRun{true, 5});
  settle(gui);
  save_as(gui, folder.path("s.headlight.json"));
  gui.push(DoCommand{Command::kQuit});
  settle(gui);
  CHECK_FALSE(gui.state().session.quit);
  REQUIRE(asking(gui) == Asking::kNotKept);
  CHECK(gui.shows("The training run could not be saved"));
  gui.key({kKeyEscape});
  settle(gui);
  CHECK_FALSE(gui.state().session.quit);
  CHECK(run_of(gui).status.step == 5);
  gui.push(DoCommand{Command::kQuit});
  settle(gui);
  gui.click("question/first");
  gui.frame(2);
  REQUIRE(gui.has("panel/train_folder"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(folder.path("safe"));
  gui.frame();
  gui.click("path/ok");
  settle(gui);
  settle(gui);
  CHECK(load_checkpoint(folder.path("safe"), true).training);
  CHECK(gui.state().session.quit);
  // Without any folder of one's own it is the same.
  Gui homeless;
  open_panel(homeless);
  homeless.push(PlayRun{true, 2});
  settle(homeless);
  save_as(homeless, folder.path("h.headlight.json"));
  homeless.push(DoCommand{Command::kQuit});
  settle(homeless);
  CHECK(asking(homeless) == Asking::kNotKept);
  homeless.ctrl('Q');
  CHECK(homeless.state().session.quit);
}

TEST_CASE("train session: closing says that runs are kept, and keeps them") {
  const TemporaryFolder folder;
  Gui gui({}, {1440, 900}, 1, {}, folders_of(folder));
  gui.shell().start_keeping(0);
  open_panel(gui);
  gui.push(PlayRun{true, 5});
  settle(gui);
  gui.push(DoCommand{Command::kQuit});
  gui.frame(2);
  REQUIRE(asking(gui) == Asking::kLeave);
  CHECK(gui.shows("Training runs are saved in any case"));
  gui.ctrl('D');
  settle(gui);
  settle(gui);
  CHECK(gui.state().session.quit);
  gui.shell().finish_keeping();
  int runs = 0;
  for (const auto& entry : fs::directory_iterator(folder.path("runs")))
    runs += entry.is_directory();
  CHECK(runs == 1);
}

TEST_CASE("train session: where runs cannot be saved, closing does not say that they are") {
  const TemporaryFolder folder;
  write_text(folder.path("runs"), "in the way");
  Gui gui({}, {1440, 900}, 1, {}, folders_of(folder));
  gui.shell().start_keeping(0);
  open_panel(gui);
  gui.push(PlayRun{true, 5});
  settle(gui);
  CHECK(gui.notices_say("What is trained cannot be kept safe"));
  gui.push(DoCommand{Command::kQuit});
  gui.frame(2);
  REQUIRE(asking(gui) == Asking::kLeave);
  CHECK_FALSE(gui.shows("Training runs are saved in any case"));
}

}  // namespace headlight::test
