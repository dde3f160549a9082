// A driver that computes wrongly, in the window: what is shown, what is said, what goes on. The
// cases "faulty driver" are for a real one (tests/gl/zink.sh faulty); they are skipped elsewhere.
#include <doctest/doctest.h>

#include <vector>

#include "app/gl/tuning/self_test.h"
#include "app/shell/shell.h"
#include "tests/gl/faulty/faulty_support.h"
#include "tests/workers/worker_support.h"

namespace headlight::test {
namespace {

ShellOptions window_options() {
  ShellOptions window;
  window.threads = window.train_threads = 1;
  return window;
}

Document short_document() {
  Document document = long_document(0);
  document.sentence = "the cat sat on a mat";
  return document;
}

void settle(Shell& shell) {
  for (int i = 0; i < 3; ++i) {
    shell.apply();
    shell.wait();
  }
}

// Which the window has not seen compute.
bool shows_processor(const Shell& shell) {
  const auto trace = shell.state().derived.trace;
  return trace && trace->backend() == "cpu";
}

// While the card is tested, and after it: nothing of it is shown, and the notice names `wrong`.
void check_refused(Shell& shell, const char* wrong) {
  for (int i = 0; i < 3; ++i) {
    shell.apply();
    CHECK(shows_processor(shell));
    shell.wait();
  }
  shell.apply();
  CHECK(shows_processor(shell));
  CHECK(shell.state().session.compute == ComputeMode::kCpu);
  CHECK(shell.state().derived.gpu.tested);
  CHECK_FALSE(shell.state().derived.gpu.passed());
  const std::string said = notices_of(shell);
  INFO(said);
  CHECK(said.find("The graphics card computes wrongly, so the processor computes") !=
        std::string::npos);
  CHECK(said.find(wrong) != std::string::npos);
}

// Is this the driver that the cases are about? Later ones may be right.
bool is_known_faulty() {
  if (!can_compute()) return false;
  const GlDevice device = GlDevice::ask(real_gl());
  const bool known = device.renderer.find("zink") != std::string::npos &&
                     device.version.find("Mesa 22.3") != std::string::npos;
  if (!known) MESSAGE("skipped: ", device.renderer, ", ", device.version);
  return known;
}

}  // namespace

TEST_CASE("window: of a card that computes wrongly nothing is shown, chosen by itself or by hand") {
  if (!can_compute()) return;
  for (const bool by_hand : {false, true}) {
    CAPTURE(by_hand);
    GlBackendOptions options = checked_options(0);
    g_right_uniforms = kNeverWrong;
    options.calls = &card_calls();
    options.texts =
        texts_with("shaders/gelu.comp", "normal_cdf(x[i], bell)", "1.5 * normal_cdf(x[i], bell)");
    Shell shell(short_document(), window_options());
    shell.offer_gpu(maker(options), {});
    if (by_hand) push(shell, ChooseCompute{ComputeMode::kGpu});
    check_refused(shell, "gelu");
    push(shell, ChooseCompute{ComputeMode::kGpu});
    settle(shell);
    CHECK(shows_processor(shell));
    shell.stop_gpu();
  }
}

TEST_CASE("window: a card that turns wrong while somebody types is not used any more") {
  if (!can_compute()) return;
  GlBackendOptions options = checked_options();
  options.calls = &turning_calls();
  g_right_uniforms = kNeverWrong;
  Shell shell(short_document(), window_options());
  shell.offer_gpu(maker(options), {});
  push(shell, ChooseCompute{ComputeMode::kGpu});
  CHECK(shell.state().session.compute == ComputeMode::kCpu);  // it is tested first
  settle(shell);
  CHECK(shell.state().session.compute == ComputeMode::kGpu);
  CHECK(shell.state().derived.gpu.passed());
  REQUIRE(shell.state().derived.trace->backend() == "gl");
  g_right_uniforms = 0;
  for (int i = 0; i < 30 && shell.state().session.compute == ComputeMode::kGpu; ++i) {
    push(shell, DoEdit{SetSentence{"the cat sat on a mat " + std::to_string(i)}, ""});
    settle(shell);
  }
  g_right_uniforms = kNeverWrong;
  CHECK(shell.state().session.compute == ComputeMode::kCpu);
  CHECK(shows_processor(shell));
  INFO(notices_of(shell));
  CHECK(notices_of(shell).find("a check found that the graphics card now computes") !=
        std::string::npos);
  CHECK(notices_of(shell).find("processor goes on") != std::string::npos);
  // It has not passed its test any more, so it is not started again; both beside each other are.
  push(shell, ChooseCompute{ComputeMode::kGpu});
  settle(shell);
  CHECK(shows_processor(shell));
  CHECK(shell.state().session.compute == ComputeMode::kCpu);
  push(shell, ChooseCompute{ComputeMode::kBoth});
  settle(shell);
  CHECK(shell.state().derived.both);
  shell.stop_gpu();
}

TEST_CASE("window: a run whose card turns wrong stops, keeps its weights, and can go on") {
  if (!can_compute()) return;
  GlBackendOptions options = checked_options();
  options.calls = &turning_calls();
  g_right_uniforms = kNeverWrong;
  TrainWorker worker(1);
  worker.use_gpu(maker(options)());
  RunPlan plan = default_plan("induction");
  plan.config.layers = 1;
  plan.config.heads = 2;
  plan.config.d_model = 16;
  plan.settings.batch = 4;
  plan.stop.steps = plan.settings.schedule.steps = 1000;
  worker.start(plan, true);
  worker.play(4);
  worker.wait();
  RunView view;
  worker.update(view);
  REQUIRE(view.status.step == 4);
  REQUIRE_FALSE(view.status.device.empty());
  g_right_uniforms = 0;
  worker.play();
  worker.wait();
  g_right_uniforms = kNeverWrong;
  worker.update(view);
  CHECK(view.status.phase == TrainPhase::kPaused);
  CHECK(view.status.device.empty());
  CHECK(view.status.gpu_problem.id == "gpu.wrong_since");
  const std::int64_t stopped = view.status.step;
  CHECK(stopped >= 4);
  CHECK(stopped < 40);
  worker.play(stopped + 3);
  worker.wait();
  worker.update(view);
  CHECK(view.status.step == stopped + 3);
  CHECK(view.status.phase == TrainPhase::kPaused);
}

TEST_CASE("faulty driver: nothing of it is shown, and the window names what is wrong" *
          doctest::skip()) {
  if (!is_known_faulty()) return;
  Shell shell(short_document(), window_options());
  shell.offer_gpu(maker(checked_options(kSpotCheckShare)), {});
  push(shell, ChooseCompute{ComputeMode::kGpu});
  check_refused(shell, "layer_norm");
  shell.stop_gpu();
}

// One model alone is right there: the values of uniforms that are put into programs are those of
// another.
TEST_CASE("faulty driver: checks of one per cent of the time find it while models train" *
          doctest::skip()) {
  if (!is_known_faulty()) return;
  GlBackend gl(checked_options(kSpotCheckShare));
  std::vector<SmallTraining> models(4);
  std::vector<std::unique_ptr<GlTrainer>> trainers;
  for (std::size_t k = 0; k < models.size(); ++k) {
    SmallTraining& model = models[k];
    model.config.d_model = 16 + 8 * static_cast<int>(k);
    model.config.norm = k % 2 == 1 ? NormKind::kRms : NormKind::kLayer;
    model.set_positions(7 + 2 * static_cast<int>(k));
    trainers.emplace_back(new GlTrainer(model.trainer(gl)));
  }
  std::optional<WrongResult> found;
  int steps = 0;
  for (; steps < 8000 && !found; ++steps) {
    const std::size_t k = static_cast<std::size_t>(steps) % models.size();
    int none = 0;
    found = train_until_wrong(*trainers[k], models[k].batch, 1, none);
  }
  REQUIRE(found);
  MESSAGE("found at step ", steps, " by ", gl.spot_checks().cells(), " cells in ",
          gl.spot_checks().seconds(), " s: ", std::string(found->what()));
}

}  // namespace headlight::test
