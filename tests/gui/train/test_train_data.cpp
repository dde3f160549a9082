// Data of one's own in the Train panel: running text, rows with labels and pairs, from a file, the
// clipboard or dropped on the window; what is wrong with them; a file that takes long to read.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/model/checkpoint.h"
#include "core/train/run_settings.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {
namespace {

std::string labelled_rows(char separator = '\t') {
  std::string rows;
  for (int i = 0; i < 12; ++i) {
    rows += "a good day" + std::string(i % 3, '!') + separator + "fine\n";
    rows += "a bad night" + std::string(i % 3, '!') + separator + "awful\n";
  }
  return rows;
}

std::string pair_rows() {
  std::string rows;
  for (const std::string word :
       {"one", "two", "six", "ten", "red", "new", "old", "big", "low", "mad"})
    rows += word + "\t" + std::string(word.rbegin(), word.rend()) + "\n";
  return rows;
}

void type_file(Gui& gui, const std::string& path) {
  gui.click("train/set/text_file");
  gui.frame(3);
  REQUIRE(gui.has("panel/train_text"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(path);
  gui.frame(2);
  gui.click("path/ok");
}

// A pipe with a name: what is read from it comes when the test gives it.
class Pipe {
 public:
  explicit Pipe(const std::string& path) {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    file_ = ::open(path.c_str(), O_RDWR);  // so that neither end waits for the other
    REQUIRE(file_ >= 0);
  }
  ~Pipe() { end(); }
  void write(const std::string& text) {
    REQUIRE(::write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

 private:
  int file_ = -1;
};

// Frames until the worker says what it does.
void await_reading(Gui& gui) {
  for (int i = 0; i < 4000 && !gui.has("train/reading"); ++i) {
    ::usleep(1000);
    gui.shell().poll();
    gui.frame();
  }
  REQUIRE(gui.has("train/reading"));
}

}  // namespace

TEST_CASE(
    "train data: labelled rows are pasted, learned, shown and kept as the command line does") {
  const TemporaryFolder folder;
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  choose_own(gui, OwnData::kLabels);
  CHECK(gui.shows("learns to predict the label"));
  SUBCASE("with tabs") { paste(gui, labelled_rows()); }
  SUBCASE("with commas") { paste(gui, labelled_rows(',')); }
  SUBCASE("in a .csv file") {
    write_text(folder.path("rows.csv"), "label,text\n" + std::string("x,\"so, fine\"\n") +
                                            "fine,a good day\nawful,a bad night\n");
    type_file(gui, folder.path("rows.csv"));
    settle(gui);
  }
  REQUIRE(run_of(gui).status.phase == TrainPhase::kPaused);
  CHECK_FALSE(gui.has("label/train/problem"));
  CHECK(run_of(gui).task->kind() == TaskKind::kClassify);
  CHECK(run_of(gui).task->vocabulary().cut() == TextCut::kWords);
  CHECK(gui.config().form == ModelForm::kClasses);
  CHECK(gui.document().sentence.find("day") + gui.document().sentence.find("night") !=
        2 * std::string::npos);  // one that it knows
  gui.push(PlayRun{true, 5});
  settle(gui);
  CHECK(run_of(gui).curve.size() == 5);
  CHECK(gui.shows("Class"));
  // An answer stands with its whole sentence; there is no next token to be drawn at random.
  const TaskExample& example = run_of(gui).examples.at(0);
  CHECK(gui.shows(run_of(gui).task->vocabulary().decode(example.tokens)));
  CHECK_FALSE(gui.has("train/side/temperature"));
  CHECK_FALSE(gui.has("train/side/generate"));
  gui.push(KeepRun{folder.path("kept")});
  settle(gui);
  const Checkpoint kept = load_checkpoint(folder.path("kept"), true);
  CHECK(kept.model.task == "labels");
  CHECK(kept.model.kind == "classify");
  CHECK(kept.model.classes == run_of(gui).task->classes());
  REQUIRE(kept.training);
  RunSettings settings;
  TrainState state;
  parse_train(kept.training->json, settings, state);
  CHECK(settings.task == "");
  CHECK(state.step == 5);
}

TEST_CASE("train data: pairs are learned by an encoder-decoder") {
  const TemporaryFolder folder;
  write_text(folder.path("pairs.tsv"), pair_rows());
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  choose_own(gui, OwnData::kPairs);
  CHECK(gui.shows("An encoder-decoder learns"));
  type_file(gui, folder.path("pairs.tsv"));
  settle(gui);
  REQUIRE(run_of(gui).status.phase == TrainPhase::kPaused);
  CHECK(run_of(gui).task->kind() == TaskKind::kTranslate);
  CHECK(run_of(gui).task->vocabulary().cut() == TextCut::kCharacters);
  CHECK(gui.config().form == ModelForm::kTranslate);
  CHECK(gui.trace().find("decoder.blocks.0.cross_attn.pattern").data != nullptr);
  gui.click("train/step");
  settle(gui);
  CHECK(run_of(gui).curve.size() == 1);
  CHECK(gui.has("label/train/forced"));  // why these answers are not what the model writes
  CHECK_FALSE(gui.has("train/side/temperature"));
  gui.push(KeepRun{folder.path("kept")});
  settle(gui);
  const ModelFile kept = load_checkpoint(folder.path("kept")).model;
  CHECK(kept.task == "pairs");
  CHECK(kept.kind == "translate");
  // Back to running text: another form of model, and the table is refused as nothing now.
  gui.click("train/set/data");
  gui.frame(2);
  gui.click("train/set/data/text");
  gui.frame(2);
  CHECK(gui.state().session.train.plan.config.form == ModelForm::kTokens);
  CHECK(gui.state().session.train.changed);
}

TEST_CASE(
    "train data: what is wrong stands in the panel: what was expected, what came, what to do") {
  const TemporaryFolder folder;
  const struct {
    OwnData data;
    std::string text;
    std::vector<const char*> says;
  } cases[] = {
      {OwnData::kLabels, "a\tx\nb\n", {"1 of 2 rows have no label", "line 2", "Add the labels"}},
      {OwnData::kLabels, "only text\nand more\n", {"line 1: expected two columns", "got one"}},
      {OwnData::kLabels, "a\tx\nb\ty\tz\n", {"line 2", "got 3", "Take the others away"}},
      {OwnData::kLabels, "a\tx\nb\tx\n", {"the same label, “x”", "Add rows of another class"}},
      {OwnData::kLabels, "text\tlabel\n", {"no row with a text"}},
      {OwnData::kPairs, "a\tx\nb\t\n", {"1 of 2 rows have no target", "line 2"}},
      {OwnData::kText, "", {"is empty", "Choose another one"}},
      {OwnData::kText, "too short", {"too short", "it has 9", "Choose a shorter context"}},
      {OwnData::kText, std::string("a\0b", 3), {"not a text", "byte 1 is zero"}},
      {OwnData::kText, std::string(400, '\xE4'), {"not in UTF-8", "400 of its 400", "Save it as"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    Gui gui({}, {1440, 1400});
    open_panel(gui);
    choose_own(gui, c.data);
    write_text(folder.path("data.tsv"), c.text);
    type_file(gui, folder.path("data.tsv"));
    settle(gui);
    CHECK(run_of(gui).status.phase == TrainPhase::kPaused);  // the run before
    REQUIRE(gui.has("label/train/problem"));
    const std::string problem = say(Language::kEnglish, run_of(gui).status.start_problem);
    for (const char* part : c.says) {
      INFO(problem, " should say ", part);
      CHECK(problem.find(part) != std::string::npos);
    }
    // The file is put right, the same start again.
    write_text(folder.path("data.tsv"), c.data == OwnData::kLabels  ? labelled_rows()
                                        : c.data == OwnData::kPairs ? pair_rows()
                                                                    : labelled_rows(' '));
    gui.click("train/same");
    settle(gui);
    CHECK(run_of(gui).status.phase == TrainPhase::kPaused);
    CHECK_FALSE(gui.has("label/train/problem"));
    std::filesystem::remove(folder.path("data.tsv"));
    gui.click("train/same");  // vanished
    settle(gui);
    CHECK(run_of(gui).status.phase == TrainPhase::kPaused);  // the run before
    CHECK(say(Language::kEnglish, run_of(gui).status.start_problem).find("data.tsv") !=
          std::string::npos);
    CHECK(run_of(gui).curve.empty());
  }
}

TEST_CASE("train data: a vocabulary that is too large is refused with what to choose instead") {
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  choose_own(gui, OwnData::kText);
  RunPlan plan = gui.state().session.train.plan;
  plan.text_options.cut = TextCut::kWords;
  gui.push(PlanRun{plan});
  gui.frame();
  std::string text;
  for (int i = 0; i < 66000; ++i) text += "w" + std::to_string(i) + " ";
  paste(gui, text);
  REQUIRE(gui.has("label/train/problem"));
  CHECK(gui.notices_say("66,000 different words"));
  CHECK(gui.notices_say("byte pairs"));
}

TEST_CASE("train data: while a text is read the window says how far it is, and Cancel stops it") {
  const TemporaryFolder folder;
  Pipe pipe(folder.path("slow.txt"));
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  choose_own(gui, OwnData::kText);
  type_file(gui, folder.path("slow.txt"));
  await_reading(gui);
  CHECK(gui.shows("Reading slow.txt"));
  // Neither a key nor another setting begins it anew, or makes it forgotten.
  const std::uint64_t run = run_of(gui).status.run;
  gui.push(PlayRun{true, 2});
  RunPlan plan = gui.state().session.train.plan;
  plan.config.heads = 1;
  gui.push(PlanRun{plan});
  gui.frame(3);
  CHECK(run_of(gui).status.run == run);
  CHECK(run_of(gui).status.phase == TrainPhase::kPreparing);
  SUBCASE("cancelled") {
    pipe.write("some of it");
    gui.click("train/cancel");
    settle(gui);  // would wait for ever if it were still read
    CHECK(run_of(gui).status.phase == TrainPhase::kPaused);  // the run before
    CHECK(gui.shows("stopped, as asked"));
    CHECK_FALSE(gui.has("train/reading"));
    CHECK(run_of(gui).curve.empty());  // what was asked for was not meant for it
  }
  SUBCASE("read to its end") {
    pipe.write(labelled_rows(' '));
    pipe.end();
    settle(gui);
    CHECK(run_of(gui).task->id() == "text");
    CHECK(run_of(gui).status.step == 2);  // it was to play
    CHECK(run_of(gui).plan->config.heads == 2);
    CHECK(gui.state().session.train.plan.config.heads == 1);  // waits for the next start
    CHECK(gui.state().session.train.changed);
  }
  SUBCASE("given up for another run") {
    gui.push(PlanRun{small_plan("copy")});
    gui.push(StartRun{});
    settle(gui);
    CHECK(run_of(gui).task->id() == "copy");
  }
  SUBCASE("the window closes") {}
}

TEST_CASE("train data: the same data are not read twice") {
  const TemporaryFolder folder;
  write_text(folder.path("mine.txt"), labelled_rows(' '));
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  choose_own(gui, OwnData::kText);
  type_file(gui, folder.path("mine.txt"));
  settle(gui);
  const std::shared_ptr<const Task> first = run_of(gui).task;
  REQUIRE(first);
  gui.click("train/new");
  settle(gui);
  CHECK(run_of(gui).task == first);
  write_text(folder.path("mine.txt"), labelled_rows(' ') + "more of it");
  gui.click("train/same");
  settle(gui);
  CHECK(run_of(gui).task != first);
}

TEST_CASE("train data: what is dropped on the open panel is learned from, a model still opens") {
  const TemporaryFolder folder;
  write_text(folder.path("a.txt"), labelled_rows(' '));
  write_text(folder.path("b.tsv"), labelled_rows());
  Gui gui({}, {1440, 1400});
  open_panel(gui);
  const std::string sentence = gui.document().sentence;
  gui.push(DropFiles{{folder.path("a.txt")}});
  settle(gui);
  CHECK(run_of(gui).task->id() == "text");
  CHECK(gui.notices_say("learns from a.txt"));
  gui.push(DropFiles{{folder.path("b.tsv")}});
  settle(gui);
  CHECK(run_of(gui).task->id() == "labels");
  CHECK(gui.notices_say("text and label"));
  gui.push(PlayRun{true, 2});
  settle(gui);
  gui.push(DropFiles{{folder.path("a.txt")}});
  settle(gui);
  CHECK(run_of(gui).task->id() == "labels");  // nothing that was learned is lost
  CHECK(gui.state().session.train.changed);
  CHECK(gui.state().session.train.plan.text.path == folder.path("a.txt"));
  for (const char* bad : {"missing.txt", ""}) {
    while (!gui.state().notices.empty()) gui.push(DismissNotice{0});
    gui.push(DropFiles{{folder.path(bad)}});
    settle(gui);
    CHECK(gui.state().notices.size() == 1);
    CHECK(gui.state().session.train.plan.text.path == folder.path("a.txt"));
  }
  gui.push(KeepRun{folder.path("model")});
  settle(gui);
  gui.push(DropFiles{{folder.path("model")}});
  settle(gui);
  CHECK(gui.document().model == folder.path("model"));
  gui.push(DoCommand{Command::kTrain});  // closed: a text is a sentence again
  gui.push(DropFiles{{folder.path("a.txt")}});
  settle(gui);
  CHECK(gui.notices_say("is now the sentence"));
}

TEST_CASE("train data: a run on other tokens shares no axis of losses, but that of bits per byte") {
  Gui gui({}, {1920, 1080});
  open_panel(gui);
  choose_own(gui, OwnData::kText);
  RunPlan plan = gui.state().session.train.plan;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the old dog saw a red bird . the bird sang to a new dog . ";
  plan.text.text = SharedText(text);
  plan.text_options.context = 16;
  plan.config.form = ModelForm::kTokens;
  const auto learn = [&](TextCut cut) {
    plan.text_options.cut = cut;
    gui.push(PlanRun{plan});
    gui.push(StartRun{});
    settle(gui);
    gui.push(PlayRun{true, 12});
    settle(gui);
    REQUIRE(run_of(gui).curve.size() == 12);
  };
  learn(TextCut::kCharacters);
  gui.push(ChooseCurve{Curve::kLoss, false});
  learn(TextCut::kCharacters);
  CHECK_FALSE(gui.shows("other tokens"));
  learn(TextCut::kWords);
  gui.frame(2);
  CHECK(gui.shows("other tokens"));
  REQUIRE(gui.state().train.earlier.size() >= 2);
  const std::string before = std::to_string(gui.state().train.earlier.back()->status.run);
  CHECK(gui.has("train/forget/" + before));  // named still
  gui.hover("train/pin/" + before);
  gui.frame(2);
  CHECK(gui.shows("Bits per byte can be compared"));
  gui.push(ChooseCurve{Curve::kAccuracy, false});
  gui.frame(2);
  CHECK(gui.shows("other tokens"));
  for (const Curve curve : {Curve::kBits, Curve::kNorm, Curve::kRate}) {
    gui.push(ChooseCurve{curve, false});
    gui.frame(2);
    CHECK_FALSE(gui.shows("other tokens"));
  }
}

TEST_CASE("train data: what is counted is said: tokens, of a classifier examples") {
  Gui gui(small_document(), {1920, 1080});
  open_panel(gui);
  CHECK(gui.shows("nats per token"));
  gui.push(PlanRun{small_plan("sentiment")});
  gui.push(StartRun{});
  settle(gui);
  CHECK(gui.shows("nats per example"));
  gui.push(ChooseCurve{Curve::kAccuracy, false});
  gui.frame(2);
  CHECK(gui.shows("share of correct examples"));
}

TEST_CASE(
    "train data: a start from stories has its weights and tokens, and shows what it forgets") {
  Gui gui(small_document(), {1920, 1080});
  open_panel(gui);
  choose_own(gui, OwnData::kText);
  std::string text;
  for (int i = 0; i < 200; ++i) text += "zebra " + std::to_string(i % 7) + " quux; ";
  paste(gui, text);
  const auto choose_base = [&](const std::string& name) {
    gui.click("train/set/base");
    gui.frame(2);
    gui.click("train/set/base/" + name);
    settle(gui);
  };
  REQUIRE(gui.has("train/set/cut"));
  REQUIRE(gui.has("train/set/layers"));
  const RunPlan before = gui.state().session.train.plan;
  choose_base("stories");
  CHECK(gui.state().session.train.plan.settings.base == "bundled:stories");
  CHECK_FALSE(gui.has("train/set/cut"));
  CHECK_FALSE(gui.has("train/set/layers"));
  gui.click("train/same");
  settle(gui);
  const RunView& run = run_of(gui);
  REQUIRE(run.status.problem.empty());
  REQUIRE(run.plan->settings.base == "bundled:stories");
  const std::shared_ptr<const Model> stories = load_model("bundled:stories");
  CHECK(run.live->vocabulary->size() == stories->vocabulary->size());
  CHECK(run.live->weights.back().data == stories->weights.back().data);
  REQUIRE(run.old_text.size() == 1);
  const double known = run.old_text[0].loss;
  CHECK(known < run.validation.at(0).loss - 1);
  for (int i = 0; i < 10; ++i) {
    gui.push(StepRun{});
    settle(gui);
  }
  REQUIRE(run_of(gui).old_text.size() == 2);
  CHECK(run_of(gui).old_text[1].loss != known);
  CHECK(gui.shows("Text of stories"));
  gui.push(ChooseCurve{Curve::kNorm, true});
  gui.frame();
  CHECK_FALSE(gui.shows("Text of stories"));
  CHECK(load_model("bundled:stories")->weights.back().data == stories->weights.back().data);
  // Other windows of the text, the same weights.
  const std::uint64_t seed = gui.state().session.train.plan.settings.seed;
  gui.click("train/new");
  settle(gui);
  CHECK(run_of(gui).plan->settings.seed == seed + 1);
  CHECK(run_of(gui).live->weights.back().data == stories->weights.back().data);
  choose_base("new");
  CHECK(gui.has("train/set/layers"));
  CHECK(gui.state().session.train.plan.settings.base == "");
  CHECK(gui.state().session.train.plan.text.text == before.text.text);
}

}  // namespace headlight::test
