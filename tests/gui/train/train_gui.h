// The Train panel in tests: a small run in it.
#pragma once

#include <string>

#include "tests/gui/harness.h"

namespace headlight::test {

inline RunPlan small_plan(const std::string& task = "induction") {
  RunPlan plan = default_plan(task);
  plan.config.layers = 2;
  plan.config.heads = 2;
  plan.config.d_model = 16;
  plan.settings.batch = 8;
  plan.stop.steps = 40;
  plan.settings.schedule.steps = 40;
  plan.settings.schedule.warmup = 0;
  return plan;
}

inline std::string some_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat on the mat and the dog lay on the log.\n";
  return text;
}

// Of running text.
inline RunPlan text_plan(int layers = 1) {
  RunPlan plan = small_plan("");
  plan.config.layers = layers;
  plan.text.text = some_text();
  plan.text_options.context = 24;
  return plan;
}

inline void settle(Gui& gui) {
  gui.frame();
  gui.shell().wait();
  gui.frame(2);
}

// The panel with a small run at its first step.
inline void open_panel(Gui& gui, const RunPlan& plan = small_plan()) {
  gui.push(DoCommand{Command::kTrain});
  settle(gui);
  gui.push(PlanRun{plan});
  gui.push(StartRun{});
  settle(gui);
}

// A text of one's own, from the clipboard.
inline void paste(Gui& gui, const std::string& text) {
  ImGui::SetClipboardText(text.c_str());
  gui.click("train/set/text_paste");
  settle(gui);
}

inline const RunView& run_of(const Gui& gui) { return gui.state().train.run; }

// Chooses "Your own text", and which kind of data it is.
inline void choose_own(Gui& gui, OwnData data) {
  RunPlan plan = small_plan("");
  plan.config.layers = 1;
  gui.push(PlanRun{plan});
  gui.frame();
  if (data == OwnData::kText) return;
  gui.click("train/set/data");
  gui.frame(2);
  gui.click("train/set/data/" + std::string(word(data)));
  gui.frame(2);
}

}  // namespace headlight::test
