// Who computes: the switch in the menu's line, and what a step says of its difference.
#include <algorithm>

#include "app/ui/compute/compute_view.h"
#include "app/ui/kit/line_text.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"
#include "core/explain/explain.h"
#include "core/explain/steps.h"

namespace headlight {
namespace {

const BothRun* shown_both(const AppState& state) {
  const Derived& d = state.derived;
  const bool current = d.both && d.trace && d.both->serial == d.trace->serial();
  return current && d.both->problem.empty() ? d.both.get() : nullptr;
}

// How far the two are apart, in two words.
std::string agreement(const AppState& state, const Ui& ui, const BothRun& both) {
  const Comparison& c = both.comparison;
  if (c.first_beyond) {
    const CallDifference& d = c.calls[*c.first_beyond];
    const Program& program = state.derived.trace->program();
    const std::string name =
        d.step < 0
            ? "?"
            : std::string(step_title(ui.language, program.steps[static_cast<std::size_t>(d.step)]));
    return ui.tr("compute.differ", {{"step", name}});
  }
  double largest = 0;
  for (const CallDifference& d : c.calls) largest = std::max(largest, d.cells.largest);
  return ui.tr("compute.agree", {{"difference", number_text(largest, 2)}});
}

// What the pill says, and whether it is an alarm.
std::string status_words(const AppState& state, const Ui& ui, bool& loud) {
  const Derived& d = state.derived;
  loud = false;
  const bool waiting = d.computing && state.session.compute != ComputeMode::kCpu;
  if (waiting && d.gpu.phase == GpuPhase::kStarting) return std::string(ui.tr("compute.starting"));
  const bool waits_for_test = d.gpu.testing && state.session.compute == ComputeMode::kCpu &&
                              state.session.compute_request == ComputeRequest::kGpu;
  if (waits_for_test) return std::string(ui.tr("compute.testing_brief"));
  if (d.computing) return std::string(ui.tr("top.computing"));
  if (!d.trace) return std::string(ui.tr("top.nothing_yet"));
  const bool gpu = d.trace->backend() == "gl";
  std::string words = gpu ? "GPU · " + short_device(d.gpu.device) : "CPU";
  if (!gpu && d.trace->backend() != "cpu") words += " · " + std::string(ui.tr("top.reference"));
  if (gpu && !d.gpu.fallbacks.empty()) {
    words += " · " + tr_count(ui.language, "compute.fallbacks",
                              static_cast<long long>(d.gpu.fallbacks.size()));
  }
  const BothRun* both = gpu ? shown_both(state) : nullptr;
  // Of Both the sheet says either's time; that of the two together would read as the card's.
  if (d.run_ms > 0 && !both) words += "  " + number_text(d.run_ms, 2) + " ms";
  if (both) {
    loud = both->comparison.first_beyond.has_value();
    words += "  " + agreement(state, ui, *both);
  }
  return words;
}

std::string status_help(const AppState& state, const Ui& ui) {
  const GpuState& gpu = state.derived.gpu;
  std::string words = command_hint(ui.language, Command::kCompareBackends);
  if (!gpu.device.empty()) words += "\n" + gpu.device + ", OpenGL " + gpu.version;
  for (const ComputeFallback& one : gpu.fallbacks)
    words += "\n" + ui.tr("compute.fallback", {{"op", one.op}, {"shape", one.shape}});
  return words;
}

}  // namespace

std::string time_words(double milliseconds) {
  if (milliseconds < 0) return "–";
  return milliseconds < 0.1 ? number_text(1000 * milliseconds, 2) + " µs"
                            : number_text(milliseconds, 2) + " ms";
}

// "A[head 3, the, street]"
std::string place_words(const Trace& trace, const CallDifference& d) {
  const std::string cell = cell_text(trace, {d.tensor, d.index});
  const std::size_t bracket = std::min(cell.find('['), cell.size());
  const auto& spec = trace.program().tensors[static_cast<std::size_t>(d.tensor)];
  return to_field_text(spec.symbol + cell.substr(bracket));
}

const CallDifference* difference_of(const AppState& state, const Step& step) {
  const BothRun* both = shown_both(state);
  if (!both) return nullptr;
  const auto& steps = state.derived.trace->program().steps;
  const int place = static_cast<int>(&step - steps.data());
  const auto share = [](const CallDifference& d) {
    return d.limit > 0 ? d.cells.error / d.limit : d.cells.error;
  };
  const CallDifference* worst = nullptr;
  for (const CallDifference& d : both->comparison.calls) {
    if (d.step != place || d.backward != step.backward) continue;
    if (!worst || share(d) > share(*worst)) worst = &d;
  }
  return worst;
}

std::string difference_words(const AppState& state, const Ui& ui, const CallDifference& d,
                             bool brief) {
  if (brief && d.within() && d.cells.place >= 0)
    return ui.tr("compute.step_brief", {{"difference", number_text(d.cells.largest, 2)}});
  const BothRun& both = *state.derived.both;
  const std::string cpu = time_words(both.cpu.of(d)), gpu = time_words(both.gpu.of(d));
  if (d.cells.place < 0) return ui.tr("compute.step_equal", {{"cpu", cpu}, {"gpu", gpu}});
  const std::string where = place_words(*state.derived.trace, d);
  return ui.tr(d.within() ? "compute.step" : "compute.step_beyond",
               {{"difference", number_text(d.cells.largest, 2)},
                {"where", where},
                {"error", number_text(d.cells.error, 2)},
                {"limit", number_text(d.limit, 2)},
                {"cpu", cpu},
                {"gpu", gpu}});
}

float compute_switch(const AppState& state, Ui& ui, const Rect& menu, float left, float right) {
  const float middle = (menu.y0 + menu.y1) / 2;
  const std::string labels[] = {std::string(ui.tr("compute.cpu")),
                                std::string(ui.tr("compute.gpu")),
                                std::string(ui.tr("compute.both"))};
  const std::string_view words[] = {"cpu", "gpu", "both"};
  const float wide = ui.segmented_width(labels);
  const GpuState& gpu = state.derived.gpu;
  const bool absent = gpu.phase == GpuPhase::kAbsent;
  const std::string help =
      absent ? say(ui.language, gpu.problem) : command_hint(ui.language, Command::kNextCompute);
  if (right - wide < left) {  // the chosen one alone, which goes on to the next
    const std::string& label = labels[static_cast<std::size_t>(state.session.compute)];
    const float one = ui.measure(ui.fonts.control, label).x + ui.px(18);
    if (right - one < left) return right;
    const Rect at{right - one, middle - ui.px(12), right, middle + ui.px(12)};
    if (ui.button("top/compute/next", label, at, true, !absent, help))
      ui.push(DoCommand{Command::kNextCompute});
    return at.x0;
  }
  right -= wide;
  const int pressed = ui.segmented("top/compute", labels, static_cast<int>(state.session.compute),
                                   {right, middle - ui.px(12)}, ui.px(24), words, true, help);
  if (pressed >= 0) ui.push(ChooseCompute{static_cast<ComputeMode>(pressed)});
  bool loud = false;
  const std::string status = status_words(state, ui, loud);
  const float width = ui.measure(ui.fonts.note, status).x + ui.px(28);
  const Rect pill{right - ui.px(10) - width, middle - ui.px(11), right - ui.px(10),
                  middle + ui.px(11)};
  if (pill.x0 < left) return right;
  bool over = false;
  if (ui.hot("top/status", pill, &over)) ui.push(DoCommand{Command::kCompareBackends});
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(pill.min(), pill.max(), to_u32(ui.theme.selection), ui.px(11));
  if (over || loud)
    list->AddRect(pill.min(), pill.max(), to_u32(loud ? ui.theme.error : ui.theme.muted),
                  ui.px(11));
  ui.text(ui.fonts.note, {pill.x0 + ui.px(14), middle - ui.px(7)},
          loud   ? ui.theme.error
          : over ? ui.theme.text
                 : ui.theme.muted,
          status);
  if (over) ui.tooltip(status_help(state, ui));
  return pill.x0;
}

}  // namespace headlight
