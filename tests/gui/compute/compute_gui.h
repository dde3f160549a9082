// What the tests of processor and graphics card in the window share.
#pragma once

#include <string>

#include "app/ui/state/compute_state.h"
#include "app/workers/gpu.h"
#include "tests/gui/harness.h"
#include "tests/gui/train/train_gui.h"

namespace headlight::test {

/// A graphics card in a context of its own, without a window.
inline GpuMaker maker(GlBackendOptions options = {}) {
  return [options] { return std::make_unique<Gpu>(make_egl_compute_context(), options); };
}

/// Clicks on "cpu", "gpu" or "both" and waits.
inline void choose(Gui& gui, const std::string& mode) {
  gui.click("top/compute/" + mode);
  settle(gui);
}

/// Presses "measure" on the sheet's page of sizes until there are three of them, then stops it.
inline void measure_three_sizes(Gui& gui) {
  gui.click("compute/measure");
  gui.frame();
  for (int i = 0; i < 2000 && gui.state().derived.sizes.points.size() < 3; ++i) {
    gui.shell().poll();
    gui.frame();
  }
  REQUIRE(gui.state().derived.sizes.points.size() >= 3);
  gui.click("compute/measure");
  settle(gui);
}

inline std::string name_of(const Gui& gui, const CallDifference& d) {
  return gui.trace().program().tensors[static_cast<std::size_t>(d.tensor)].name;
}

}  // namespace headlight::test
