// The Train panel: activations in 16 bits, what that comes to, and the loss scale.
#include "core/base/number_text.h"
#include "core/train/trainer.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {

TEST_CASE("train: storage in 16 bits is explained, says its bytes, and is for the next run") {
  Gui gui({}, {1440, 1500});
  open_panel(gui);
  gui.push(PlayRun{true, 5});
  settle(gui);
  const double kept = run_of(gui).status.kept, half = run_of(gui).status.kept_in_half;
  CHECK(half < kept);
  CHECK(gui.shows(bytes_text(kept)));
  CHECK(gui.shows(bytes_text(half)));
  gui.hover("train/set/storage");
  gui.frame(2);
  CHECK(gui.shows("mixed precision"));
  CHECK_FALSE(gui.shows("Loss scale"));
  gui.click("train/set/storage");
  gui.frame(2);
  gui.click("train/set/storage/float16");
  gui.frame(2);
  CHECK(gui.state().session.train.plan.settings.storage == NumberFormat::kFloat16);
  CHECK(gui.state().session.train.changed);
  gui.click("train/same");
  settle(gui);
  CHECK(run_of(gui).plan->settings.storage == NumberFormat::kFloat16);
  CHECK_FALSE(gui.state().session.train.changed);
  CHECK(run_of(gui).status.kept == kept);
  gui.push(PlayRun{true, 5});
  settle(gui);
  CHECK(run_of(gui).status.step == 5);
  CHECK(gui.shows("Loss scale 65,536; steps skipped: 0"));
}

TEST_CASE("train: numbers too large for float16 end the run with what to do") {
  Gui gui({}, {1440, 1500});
  RunPlan plan = small_plan();
  plan.settings.storage = NumberFormat::kFloat16;
  plan.settings.schedule.peak = 9;
  open_panel(gui, plan);
  gui.push(PlayRun{true});
  settle(gui);
  CHECK(run_of(gui).status.phase == TrainPhase::kBroken);
  CHECK(gui.shows("too large for float16"));
  CHECK(gui.shows("bfloat16"));
}

}  // namespace headlight::test
