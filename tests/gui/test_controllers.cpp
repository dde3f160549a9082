// Each controller alone, without the shell and the others: what it makes of its part of the state,
// and what it asks others for.
#include "app/shell/controllers/files_controller.h"
#include "app/shell/controllers/heads_controller.h"
#include "app/shell/controllers/inspector_controller.h"
#include "app/shell/controllers/keyboard_controller.h"
#include "app/shell/controllers/look_controller.h"
#include "app/shell/controllers/training_controller.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

// What controllers share, with nobody behind it: what they ask others for is only noted.
struct Alone {
  AppState state;
  std::vector<Action> queue, performed;
  Notices notices{state.session, state.notices, queue};
  Shared shared{state, state.requests, notices, queue,
                [this](const Action& a) { performed.push_back(a); }};
  ShellOptions options = still_options(1);
  TraceWorker worker{options.limits, [this] { return make_backend(options.backend, 1); }};

  explicit Alone(Document document = small_document()) {
    state.history = History(std::move(document));
  }
  void run() {
    state.derived.asked = state.document();
    state.derived.trace = worker.run_now({state.document()})->result.trace;
  }
  // The only action of this kind that was asked of another controller.
  template <class A>
  A only() const {
    REQUIRE(performed.size() == 1);
    REQUIRE(std::holds_alternative<A>(performed[0]));
    return std::get<A>(performed[0]);
  }
};

template <Command kCommand>
constexpr Is<kCommand> kIs;

}  // namespace

TEST_CASE("controllers: the document's goes back and forth, and leaves the mask as it was") {
  Alone alone;
  DocumentController document(alone.shared, alone.state.history, alone.state.preview,
                              alone.state.session);
  const Document before = alone.state.document();
  document.on(DoEdit{SetSentence{"a b"}, "sentence"});
  CHECK(alone.state.session.text_revision == 0);  // typed: the field knows
  document.on(kIs<Command::kUndo>);
  CHECK(alone.state.document() == before);
  CHECK(alone.state.session.text_revision == 1);
  MaskSpec local;
  local.kind = MaskKind::kLocal;
  document.on(DoEdit{SetMask{local}, ""});
  document.on(kIs<Command::kToggleCausal>);
  CHECK(alone.state.document().config.mask.kind == MaskKind::kCausal);
  document.on(kIs<Command::kToggleCausal>);
  CHECK(alone.state.document().config.mask.kind == MaskKind::kLocal);
  document.on(DoEdit{SetSentence{"a \xff b"}, ""});
  CHECK(alone.state.notices.size() == 1);
  alone.notices.on(DismissNotice{1});  // there is none
  alone.notices.on(DismissNotice{0});
  CHECK(alone.state.notices.empty());
}

TEST_CASE("controllers: steps go through the trace, and the cell goes along") {
  Alone alone(small_document(2, 2, 8));
  StepsController steps(alone.shared, alone.state.session);
  steps.on(kIs<Command::kNextStep>);  // without a trace there is nothing to go through
  CHECK(alone.state.session.step.empty());
  alone.run();
  steps.take_trace();
  const Session& s = alone.state.session;
  CHECK(s.step == "blocks.0.attn.pattern");
  REQUIRE(s.picked);
  CHECK(s.picked->tensor == "blocks.0.attn.pattern");
  steps.on(ChooseLayer{9});
  CHECK(s.layer == 1);
  CHECK(s.step == "blocks.1.attn.pattern");
  // A trail begins where a term is followed, and is given up with the cell.
  steps.on(PickCell{{"blocks.1.attn.scores_raw", {0, 1, 2, 1}}, true});
  steps.update();
  CHECK(s.trail.size() == 1);
  CHECK(s.head == 1);
  steps.on(kIs<Command::kBack>);
  CHECK(s.trail.empty());
  CHECK(s.step == "blocks.1.attn.pattern");
  steps.on(kIs<Command::kCellDown>);
  CHECK(alone.state.requests.view.follow);
  // Its clock.
  steps.on(kIs<Command::kPlay>);
  steps.on(Tick{0.05});
  CHECK(s.playback.clock == doctest::Approx(0.05));
  steps.on(GoToStep{"logits"});
  CHECK(s.playback.clock == 0);
  CHECK(alone.performed.empty());
}

TEST_CASE("controllers: of heads, two different ones are compared, and only once") {
  Alone alone(small_document(1, 3, 12));
  StepsController steps(alone.shared, alone.state.session);
  HeadsController heads(alone.shared, steps, alone.state.session, alone.state.derived,
                        still_options(1));
  alone.run();
  steps.take_trace();
  heads.settle();
  heads.update();
  CHECK(alone.state.derived.difference.empty());
  heads.on(kIs<Command::kToggleCompare>);
  heads.update();
  CHECK(alone.state.session.other_head == 1);
  const auto key = alone.state.derived.difference_key;
  const std::int64_t tokens = alone.state.derived.trace->length();
  CHECK(alone.state.derived.difference.size() == static_cast<std::size_t>(tokens * tokens));
  const TensorView pattern = alone.state.derived.trace->find("blocks.0.attn.pattern");
  const auto at = [&](std::int64_t head) {
    return pattern.at(std::vector<std::int64_t>{0, head, 0, 3});
  };
  CHECK(alone.state.derived.difference[3] == at(0) - at(1));
  heads.update();
  CHECK(alone.state.derived.difference_key == key);  // its picture is not made anew
  heads.on(ChooseHead{1});                           // the other one gets out of the way
  CHECK(alone.state.session.other_head == 2);
  heads.update();
  CHECK(alone.state.derived.difference_key != key);
  heads.on(ChooseHead{-1});
  CHECK(alone.state.session.head == 2);
  heads.on(ChooseHeadsView{HeadsView::kLines});
  CHECK_FALSE(alone.state.session.compare);
}

TEST_CASE("controllers: the inspector explains the picked cell, copies it, opens its panel") {
  Alone alone;
  InspectorController inspector(alone.shared, alone.options, alone.worker, alone.state.session,
                                alone.state.derived);
  inspector.on(kIs<Command::kCopyText>);
  CHECK(inspector.take_copied() == "");
  alone.run();
  alone.state.session.step = "blocks.0.attn.pattern";
  alone.state.session.picked = {"blocks.0.attn.pattern", {0, 0, 2, 1}};
  inspector.update();
  const auto inspected = alone.state.derived.inspected;
  REQUIRE(inspected);
  CHECK(inspected->cell == *alone.state.session.picked);
  inspector.update();
  CHECK(alone.state.derived.inspected == inspected);  // nothing new to say
  inspector.on(kIs<Command::kCopyText>);
  CHECK(inspector.take_copied() != "");
  CHECK(inspector.take_copied() == "");
  inspector.on(kIs<Command::kTabCode>);
  alone.only<OpenInspector>();
  inspector.update();
  CHECK_FALSE(alone.state.derived.inspected->code.text.empty());
  alone.state.session.picked = {"blocks.0.attn.pattern", {0, 0, 2, 99}};
  inspector.update();
  CHECK_FALSE(alone.state.derived.inspected);
}

TEST_CASE("controllers: the look asks the stage to zoom, and everybody to speak otherwise") {
  Alone alone;
  LookController look(alone.shared, alone.state.session);
  look.on(kIs<Command::kZoomIn>);
  look.on(kIs<Command::kZoomIn>);
  look.on(kIs<Command::kViewUp>);
  CHECK(alone.state.requests.view == ViewRequest{2, 0, -1, false});
  look.on(kIs<Command::kToggleHeads>);
  CHECK(alone.state.session.heads_open == false);
  look.on(kIs<Command::kToggleHeads>);
  CHECK(alone.state.session.heads_open == true);
  CHECK(alone.state.session.last_opened == PanelId::kHeads);
  look.on(kIs<Command::kMaximize>);
  CHECK(alone.state.session.maximized == PanelId::kStage);
  look.set_look(true, 99);
  CHECK(alone.state.session.scale == 4);
  look.on(kIs<Command::kToggleLanguage>);
  CHECK(alone.only<ChooseLanguage>().language == Language::kChinese);
}

TEST_CASE("controllers: a key is a command, or what the palette or the control in focus takes") {
  Alone alone;
  KeyboardController keyboard(alone.shared, alone.state.session);
  const auto asked = [&] {
    REQUIRE(alone.queue.size() == 1);
    const Action action = alone.queue[0];
    alone.queue.clear();
    return action;
  };
  CHECK(keyboard.press({'R'}, false));
  CHECK(std::get<DoCommand>(asked()).command == Command::kToggleRange);
  CHECK_FALSE(keyboard.press({'R'}, true));  // a letter of the field
  keyboard.on(FocusOn{"switch/scale", FocusKind::kSlider, true, true, ""});
  CHECK(alone.state.requests.focus.reveal);
  keyboard.press({kKeyRight}, false);
  keyboard.on(std::get<UseFocus>(asked()));
  CHECK(alone.state.requests.focus.nudge == 1);
  alone.state.session.mode = Mode::kTrain;
  keyboard.on(FocusOn{"", FocusKind::kButton, false, false, ""});
  keyboard.press({kKeyLeft}, false);
  CHECK(std::get<MoveMark>(asked()).direction == -1);
  keyboard.on(kIs<Command::kPalette>);
  keyboard.press({kKeyDown}, true);
  CHECK(std::get<ChooseInPalette>(asked()).line == 1);
  keyboard.on(TypeQuery{"zoom in"});
  keyboard.on(RunInPalette{});
  CHECK(alone.only<DoCommand>().command == Command::kZoomIn);
  CHECK_FALSE(alone.state.session.palette_open);
  alone.performed.clear();
  keyboard.on(kIs<Command::kFocusSentence>);
  CHECK(alone.state.requests.focus_sentence);
  CHECK(alone.only<Maximize>().panel == PanelId::kNone);
}

TEST_CASE("controllers: files ask before work is lost, and tell what is dropped by what it is") {
  TemporaryFolder folder;
  Alone alone;
  BackgroundWriter writer(false);
  DocumentController document(alone.shared, alone.state.history, alone.state.preview,
                              alone.state.session);
  FilesController files(alone.shared, document, alone.state.session, alone.state.session_path, {},
                        writer);
  document.edit(SetSentence{"not saved"});
  files.on(kIs<Command::kQuit>);
  CHECK(alone.state.session.question.asking == Asking::kLeave);
  files.on(AnswerQuestion{Answer::kFirst});
  CHECK(alone.only<AskPath>().sheet == Sheet::kSave);
  alone.performed.clear();
  CHECK_FALSE(alone.state.session.quit);
  files.on(SaveFile{folder.path("one.json")});
  CHECK_FALSE(alone.state.session.quit);  // what is trained is saved first
  alone.only<LeaveWindow>();
  alone.performed.clear();
  files.on(EndWindow{});
  CHECK(alone.state.session.quit);
  CHECK(alone.state.session_path == folder.path("one.json"));
  CHECK(alone.state.history.is_saved());
  write_text(folder.path("text.txt"), "some words");
  files.on(DropFiles{{folder.path("text.txt")}});
  CHECK(alone.state.document().sentence == "some words");
  alone.state.session.mode = Mode::kTrain;
  files.on(DropFiles{{folder.path("text.txt")}});
  CHECK(alone.only<DropText>().path == folder.path("text.txt"));
}

TEST_CASE("controllers: computing runs what has changed, once, and tells of it once") {
  Alone alone;
  DocumentController document(alone.shared, alone.state.history, alone.state.preview,
                              alone.state.session);
  ComputingController computing(alone.shared, alone.options, alone.worker, document,
                                alone.state.session, alone.state.derived);
  computing.restore({});
  computing.update();
  CHECK(computing.take_news());
  CHECK_FALSE(computing.take_news());
  const auto trace = alone.state.derived.trace;
  REQUIRE(trace);
  computing.update();
  CHECK(alone.state.derived.trace == trace);
  document.edit(SetSentence{"the cat"});
  CHECK_FALSE(computing.is_current());
  computing.update();
  CHECK(computing.is_current());
  CHECK(alone.state.derived.trace->length() == 2);
  document.edit(SetSentence{""});
  computing.update();
  CHECK(alone.state.derived.empty);
  CHECK(alone.state.derived.trace->length() == 2);  // the last one that there was
  const std::string problem = alone.state.derived.problem;
  computing.on(ChooseLanguage{Language::kChinese});
  CHECK(alone.state.derived.problem != problem);
  computing.on(ChooseModel{"bundled:none of these"});
  CHECK(alone.state.document().model == "");
  CHECK(alone.state.notices.size() == 1);
  alone.state.derived.gpu.phase = GpuPhase::kAbsent;
  computing.on(kIs<Command::kNextCompute>);
  CHECK(alone.state.session.compute == ComputeMode::kCpu);
}

TEST_CASE("controllers: training marks the steps that are there, and asks for a folder") {
  Alone alone;
  DocumentController document(alone.shared, alone.state.history, alone.state.preview,
                              alone.state.session);
  ComputingController computing(alone.shared, alone.options, alone.worker, document,
                                alone.state.session, alone.state.derived);
  TrainingController training(alone.shared, alone.options, alone.worker, document, computing,
                              alone.state.session.train, alone.state.train);
  const TrainSession& train = alone.state.session.train;
  training.on(MoveMark{1});
  CHECK_FALSE(train.at);
  for (const int step : {0, 3, 9}) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->step = step;
    alone.state.train.run.snapshots.push_back(std::move(snapshot));
  }
  training.on(MoveMark{-1});
  CHECK(train.at == 3);
  training.on(MoveMark{-1});
  training.on(MoveMark{-1});
  CHECK(train.at == 0);
  training.on(MarkStep{8});
  CHECK_FALSE(train.at);  // the nearest is the newest: what comes is followed
  training.on(kIs<Command::kTrainFilm>);
  training.on(Tick{0.1});
  CHECK(train.film);
  CHECK(train.at == 0);
  training.on(AskKeep{});
  CHECK(alone.only<AskPath>().sheet == Sheet::kTrainFolder);
}

TEST_CASE("controllers: what a frame is to do once is forgotten after it, done or not") {
  Gui gui(small_document(1, 2, 8));
  gui.push(ChooseHeadsView{HeadsView::kLines});  // lines cannot be zoomed into
  gui.shell().push(DoCommand{Command::kZoomIn});
  gui.shell().apply();
  CHECK(gui.state().requests.view.zoom == 1);
  gui.shell().apply();  // no frame has been drawn yet
  CHECK(gui.state().requests.view.zoom == 1);
  gui.frame();
  CHECK(gui.state().requests.view.zoom == 0);
  const StageView view = gui.state().session.view;
  gui.push(ChooseHeadsView{HeadsView::kPictures});
  gui.frame(2);
  CHECK(gui.state().session.view == view);
  gui.key({kKeyF1});
  CHECK(gui.has("panel/keys"));
  CHECK(gui.state().requests.open == Sheet::kNone);
}

}  // namespace headlight::test
