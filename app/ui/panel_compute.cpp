// The sheet "Processor and graphics card": what the device is, and both side by side.
#include <algorithm>

#include "app/ui/compute_view.h"
#include "app/ui/panel_frame.h"
#include "app/ui/panels.h"

namespace headlight {
namespace {

std::string device_words(const GpuState& gpu, const Ui& ui) {
  if (gpu.device.empty()) {
    return gpu.problem.empty() ? std::string(ui.tr("compute.device_unknown"))
                               : say(ui.language, gpu.problem);
  }
  std::string words = ui.tr("compute.device", {{"device", gpu.device}, {"version", gpu.version}});
  if (gpu.software) words += " " + std::string(ui.tr("compute.software"));
  if (!gpu.problem.empty()) words += " " + say(ui.language, gpu.problem);
  return words;
}

std::string test_words(const GpuState& gpu, const Ui& ui) {
  if (gpu.testing) return std::string(ui.tr("compute.testing"));
  if (!gpu.tested) return std::string(ui.tr("compute.untested"));
  if (gpu.failures.empty()) return std::string(ui.tr("compute.passed"));
  std::string words =
      tr_count(ui.language, "compute.failures", static_cast<long long>(gpu.failures.size()));
  words += " " + say(ui.language, gpu.failures.front());
  return words;
}

}  // namespace

float compute_device(const AppState& state, Ui& ui, const Rect& r) {
  const GpuState& gpu = state.derived.gpu;
  float y = r.y0;
  const auto line = [&](Color color, const std::string& words) {
    y += ui.wrapped(ui.fonts.control, {r.x0, y}, r.width(), color, words) + ui.px(2);
  };
  line(ui.theme.muted, device_words(gpu, ui));
  if (gpu.phase != GpuPhase::kAbsent)
    line(gpu.failures.empty() ? ui.theme.muted : ui.theme.error, test_words(gpu, ui));
  constexpr std::size_t kMost = 3;
  for (std::size_t i = 0; i < std::min(gpu.fallbacks.size(), kMost); ++i) {
    line(ui.theme.k, ui.tr("compute.fallback",
                           {{"op", gpu.fallbacks[i].op}, {"shape", gpu.fallbacks[i].shape}}));
  }
  return y - r.y0;
}

namespace {

// Title, switch, whether Headlight chooses. Returns the height.
float sheet_head(const AppState& state, Ui& ui, const Rect& r) {
  ui.text(ui.fonts.title, {r.x0, r.y0}, ui.theme.text, ui.tr("compute.title"), r.width());
  float y = r.y0 + ui.px(36);
  y += compute_device(state, ui, {r.x0, y, r.x1, r.y1}) + ui.px(8);
  const std::string labels[] = {std::string(ui.tr("compute.cpu")),
                                std::string(ui.tr("compute.gpu")),
                                std::string(ui.tr("compute.both"))};
  const std::string_view words[] = {"cpu", "gpu", "both"};
  const Session& s = state.session;
  const int pressed = ui.segmented("compute/mode", labels, static_cast<int>(s.compute), {r.x0, y},
                                   ui.px(28), words);
  if (pressed >= 0) ui.push(ChooseCompute{static_cast<ComputeMode>(pressed)});
  float x = r.x0 + ui.segmented_width(labels) + ui.px(12);
  const bool automatic = s.compute_wish == ComputeWish::kAutomatic;
  const std::string choose(ui.tr("compute.automatic"));
  const float wide = ui.measure(ui.fonts.control, choose).x + ui.px(20);
  if (ui.button("compute/automatic", choose, {x, y, x + wide, y + ui.px(28)}, automatic, true,
                ui.tr("compute.automatic.help")))
    ui.push(ComputeAutomatically{!automatic});
  x += wide + ui.px(12);
  const std::string tabs[] = {std::string(ui.tr("compute.tab.table")),
                              std::string(ui.tr("compute.tab.sizes"))};
  const std::string_view tab_ids[] = {"table", "sizes"};
  const float tabs_width = ui.segmented_width(tabs);
  if (x + tabs_width > r.x1) {  // a narrow window: on a line of their own
    y += ui.px(34);
    x = r.x0 + tabs_width;
  }
  const int tab = ui.segmented("compute/tab", tabs, s.compute_sizes ? 1 : 0,
                               {std::max(r.x1 - tabs_width, r.x0), y}, ui.px(28), tab_ids);
  if (tab >= 0) ui.push(ShowSizes{tab == 1});
  return y + ui.px(40) - r.y0;
}

}  // namespace

void panel_compute(const AppState& state, Ui& ui, float width, float height) {
  const bool wanted = state.session.compute_open;
  if (!wanted && !ImGui::IsPopupOpen("compute")) return;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  const ImVec2 size{std::min(ui.px(960), width - ui.px(16)), std::min(ui.px(620), height)};
  const bool open = begin_sheet(ui, "compute", wanted, width, height, size);
  ImGui::PopStyleVar();
  if (!open) return;
  const ImVec2 at = ImGui::GetWindowPos(), drawn = ImGui::GetWindowSize();
  const Rect inside{at.x + ui.px(20), at.y + ui.px(16), at.x + drawn.x - ui.px(20),
                    at.y + drawn.y - ui.px(12)};
  const float top = inside.y0 + sheet_head(state, ui, inside);
  const Rect body{inside.x0, top, inside.x1, inside.y1};
  if (body.height() > ui.px(40)) {
    if (state.session.compute_sizes) {
      compute_sizes(state, ui, body);
    } else {
      compute_table(state, ui, body);
    }
  }
  ui.probe.add("panel/compute", at, {at.x + drawn.x, at.y + drawn.y});
  ImGui::EndPopup();
}

}  // namespace headlight
