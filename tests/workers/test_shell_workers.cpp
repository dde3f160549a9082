// The shell and what runs behind it: slow runs, marks that move meanwhile, workers that fail.
#include "tests/workers/worker_support.h"

namespace headlight::test::test_shell_workers {
namespace {

const std::string kDates = std::string(kBundledRef) + "dates";

const RunView& run_of(const Shell& shell) { return shell.state().train.run; }

// A small run of some steps, shown with a sentence so long that runs go to the background.
void train_some(Shell& shell) {
  push(shell, DoCommand{Command::kTrain});
  RunPlan plan = default_plan("induction");
  plan.config.layers = 1;
  plan.config.heads = 2;
  plan.config.d_model = 8;
  plan.config.positions = PositionKind::kLearned;
  plan.settings.batch = 4;
  plan.stop.steps = plan.settings.schedule.steps = 1000;
  push(shell, PlanRun{plan});
  push(shell, StartRun{});
  REQUIRE(frames_until(shell, [&] { return run_of(shell).status.phase == TrainPhase::kPaused; }));
  push(shell, PlayRun{true, 12});
  REQUIRE(frames_until(shell, [&] {
    return run_of(shell).status.step == 12 && run_of(shell).status.phase == TrainPhase::kPaused;
  }));
  Document document = shell.state().document();
  const std::string once = std::exchange(document.sentence, "") + " ";
  while (document.sentence.size() < 3000) document.sentence += once;
  document.max_tokens = 1000;
  push(shell, DoEdit{SetDocument{document}, ""});
  REQUIRE(shell.state().derived.computing);  // in the background
  REQUIRE(frames_until(shell, [&] { return !shell.is_working(); }));
}

// One more update, with the mark where it was or is to be.
void train_on(Shell& shell, std::int64_t mark) {
  shell.push(StepRun{});
  push(shell, MarkStep{mark});
  const std::int64_t before = run_of(shell).status.step;
  REQUIRE(frames_until(shell, [&] { return run_of(shell).status.step > before; }));
}

}  // namespace

TEST_CASE("shell: a mark that is dragged to A, then to B, shows B and never A, however slow") {
  Gate gate;
  std::atomic<Fault> fault = Fault::kNone;
  Shell shell(long_document(4), slow_options(gate, fault));
  train_some(shell);
  const auto& snapshots = run_of(shell).snapshots;
  REQUIRE(snapshots.size() > 3);
  const Snapshot a = *snapshots[1], b = *snapshots[2];
  REQUIRE(a.model != b.model);
  const AppState& state = shell.state();
  const auto shown = [&] { return state.derived.model; };
  const auto before = shown();
  int arrived = gate.arrived();
  gate.close();
  push(shell, MarkStep{a.step});
  gate.wait_for(++arrived);  // A is under way
  SUBCASE("B is asked for while A is under way") {
    train_on(shell, b.step);  // a newer model came meanwhile: a side run is wanted as well
    CHECK(gate.arrived() == arrived);
    CHECK(shown() == before);
    gate.let_through(1);
    gate.wait_for(++arrived);  // A is done
    int frames = 0;
    frames_until(shell, [&] { return ++frames == 20 || shown() != before; });
    CHECK(shown() == before);
    CHECK(state.derived.computing);
  }
  SUBCASE("B is asked for once A was answered, before anyone looked") {
    gate.let_through(1);
    while (gate.passed() < arrived) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    push(shell, MarkStep{b.step});
    shell.poll();
    CHECK(shown() == before);
    CHECK(state.derived.computing);
  }
  SUBCASE("a side run is under way when B is asked for") {
    gate.let_through(1);
    REQUIRE(frames_until(shell, [&] { return shown() == a.model; }));
    CHECK_FALSE(state.derived.computing);
    train_on(shell, a.step);  // the newest weights are to be shown beside A
    arrived = gate.arrived();
    push(shell, MarkStep{b.step});
    train_on(shell, b.step);
    CHECK(state.derived.computing);
    CHECK_FALSE(state.train.newest);
  }
  gate.open();
  CHECK(frames_until(shell, [&] { return shown() == b.model && !shell.is_working(); }));
  CHECK_FALSE(state.derived.computing);
  CHECK(state.document().model == kRunRef);
  // What is beside it is of the newest weights, and of the same sentence.
  REQUIRE(state.train.newest);
  CHECK(state.train.newest->length() == state.derived.trace->length());
  CHECK(state.train.newest->serial() != state.derived.trace->serial());
  push(shell, MarkStep{});
  CHECK(frames_until(shell, [&] { return shown() == run_of(shell).live && !shell.is_working(); }));
  CHECK_FALSE(state.train.newest);
  CHECK_FALSE(gate.stuck());  // nor has the window ever waited for what was slow
}

TEST_CASE("shell: what is compared in the background comes, and changes nothing that is shown") {
  Gate gate;
  std::atomic<Fault> fault = Fault::kNone;
  Shell shell(long_document(4), slow_options(gate, fault));
  train_some(shell);
  const AppState& state = shell.state();
  const auto& snapshots = run_of(shell).snapshots;
  const RunPoint first{run_of(shell).status.run, snapshots[0]->step};
  const auto serial = state.derived.trace->serial();
  gate.close();
  push(shell, PinStep{first});
  CHECK_FALSE(state.train.pinned);
  CHECK(shell.is_working());
  CHECK_FALSE(state.derived.computing);
  gate.open();
  REQUIRE(frames_until(shell, [&] { return state.train.differences != nullptr; }));
  CHECK(state.derived.trace->serial() == serial);
  REQUIRE(state.train.pinned);
  CHECK(state.train.pinned->length() == state.derived.trace->length());
  gate.close();
  push(shell, PinStep{RunPoint{first.run, snapshots[1]->step}});
  push(shell, PinStep{});  // not wanted any more
  gate.open();
  CHECK(frames_until(shell, [&] { return !shell.is_working(); }));
  CHECK_FALSE(state.train.pinned);
  CHECK_FALSE(state.train.differences);
}

TEST_CASE("shell: a run that is small again does not wait for a large one, nor is it replaced") {
  Gate gate;
  std::atomic<Fault> fault = Fault::kNone;
  Shell shell(long_document(), slow_options(gate, fault));
  REQUIRE(frames_until(shell, [&] { return !shell.is_working(); }));
  const AppState& state = shell.state();
  gate.close();
  Document other = state.document();
  other.config.seed += 1;
  const int arrived = gate.arrived();
  push(shell, DoEdit{SetDocument{other}, ""});
  gate.wait_for(arrived + 1);
  push(shell, DoEdit{SetSentence{"just three words"}, ""});
  shell.poll();
  CHECK(state.derived.trace->length() > 3);  // the large one has the processor
  CHECK(state.derived.computing);
  push(shell, ChooseModel{kDates});  // nor does loading wait for it
  gate.open();
  REQUIRE(frames_until(shell, [&] { return !shell.is_working(); }));
  CHECK(state.document().model == kDates);
  push(shell, ChooseModel{""});
  push(shell, DoEdit{SetSentence{"just three words"}, ""});
  REQUIRE(frames_until(shell, [&] { return !shell.is_working(); }));
  CHECK(state.document().model.empty());
  CHECK(state.derived.trace->config() == state.document().config);
  CHECK(state.derived.trace->length() < 20);
  CHECK_FALSE(gate.stuck());
}

TEST_CASE("shell: whatever a worker throws, the window goes on and says so in its language") {
  Gate gate;
  std::atomic<Fault> fault = Fault::kNone;
  for (const int words : {3, 600}) {  // at once, in the background
    Shell shell(long_document(words), slow_options(gate, fault));
    REQUIRE(frames_until(shell, [&] { return !shell.is_working(); }));
    const AppState& state = shell.state();
    CHECK(notices_of(shell) == "");
    const struct {
      Fault fault;
      std::string english, chinese;
    } rows[] = {{Fault::kMemory, "needs more memory than could be had", "需要的内存超过了可用内存"},
                {Fault::kBug, "inside the program: a planted bug", "程序内部出错：a planted bug"},
                {Fault::kNumber, "omething went wrong inside the program", "程序内部出错"}};
    for (const auto& row : rows) {
      CAPTURE(words);
      CAPTURE(row.english);
      fault = row.fault;
      Config config = state.document().config;
      ++config.seed;
      const auto shown = state.derived.trace;
      push(shell, DoEdit{SetConfig{config}, ""});
      REQUIRE(frames_until(shell, [&] { return !shell.is_working(); }));
      CHECK(notices_of(shell).find(row.english) != std::string::npos);
      CHECK(notices_of(shell).find("still shown") != std::string::npos);
      CHECK(state.derived.trace == shown);
      shell.set_language(Language::kChinese);
      CHECK(notices_of(shell).find(row.chinese) != std::string::npos);
      shell.set_language(Language::kEnglish);
      fault = Fault::kNone;
      ++config.seed;
      push(shell, DoEdit{SetConfig{config}, ""});
      REQUIRE(frames_until(shell, [&] { return !shell.is_working(); }));
      CHECK(notices_of(shell) == "");
      CHECK(state.derived.trace != shown);
    }
  }
}

TEST_CASE("shell: random edits, marks and weights while everything runs end where they should") {
  Gate gate;
  std::atomic<Fault> fault = Fault::kNone;
  Shell shell(long_document(4), slow_options(gate, fault));
  train_some(shell);
  push(shell, PlayRun{true, 0});
  const AppState& state = shell.state();
  const Document longer = state.document();
  std::uint64_t random = 12345;
  for (int i = 0; i < 300; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto pick = static_cast<std::int64_t>((random >> 33) % 13);
    if (pick < 6) push(shell, MarkStep{pick});
    if (pick == 6) push(shell, MarkStep{});
    if (pick == 7) push(shell, PinStep{RunPoint{run_of(shell).status.run, pick}});
    if (pick == 8) push(shell, DoEdit{SetSentence{"a b c a b"}, ""});
    if (pick == 9) push(shell, DoEdit{SetDocument{longer}, ""});
    if (pick == 10) push(shell, PinStep{});
    shell.poll();
    shell.apply();
  }
  push(shell, PlayRun{false});
  push(shell, MarkStep{2});
  REQUIRE(frames_until(shell, [&] {
    return !shell.is_working() && run_of(shell).status.phase == TrainPhase::kPaused;
  }));
  CHECK_FALSE(state.derived.computing);
  const auto marked = nearest_snapshot(run_of(shell).snapshots, 2);
  REQUIRE(marked);
  CHECK(state.derived.model == marked->model);
}

}  // namespace headlight::test::test_shell_workers
