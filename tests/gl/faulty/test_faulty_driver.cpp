// A driver that computes wrongly, in the window: what is shown, what is said, what goes on. The
// cases "faulty driver" are for a real one (tests/gl/zink.sh faulty); they are skipped elsewhere.
#include <doctest/doctest.h>

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
    CHECK(notices_of(shell).find("The graphics card computes wrongly, so the processor computes") !=
          std::string::npos);
    CHECK(notices_of(shell).find("gelu") != std::string::npos);
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

// It makes a program anew for each new value of a uniform, which takes long: of all operations only
// those are tried here that it is known to get wrong.
TEST_CASE("faulty driver: the self-test refuses it, and names operations" * doctest::skip()) {
  if (!is_known_faulty()) return;
  GlBackend gl(checked_options(0));
  constexpr Op kKnown[] = {Op::kLayerNorm, Op::kScores, Op::kWeightedSum};
  const GlSelfTest test = self_test(gl, kKnown);
  CHECK_FALSE(test.passed);
  for (const GlSelfTestFailure& failure : test.failures)
    MESSAGE(op_info(failure.op).id, failure.backward ? " backward " : " ", failure.shape, " ",
            failure.error);
}

TEST_CASE("faulty driver: checks of one per cent of the time find it while it trains" *
          doctest::skip()) {
  if (!is_known_faulty()) return;
  GlBackend gl(checked_options(kSpotCheckShare));
  const SmallTraining small;
  GlTrainer trainer = small.trainer(gl);
  int steps = 0;
  const auto wrong = train_until_wrong(trainer, small.batch, 3000, steps);
  REQUIRE(wrong);
  MESSAGE("found at step ", steps, " after ", gl.queue().dispatches(),
          " dispatches: ", wrong->what());
}

}  // namespace headlight::test
