// The sheet "Processor and graphics card": what the device is, and both side by side.
#include <algorithm>

#include "app/ui/compute/compute_view.h"
#include "app/ui/frame/panel_frame.h"
#include "app/ui/frame/panels.h"
#include "app/ui/kit/line_text.h"

namespace headlight {
namespace {

std::string device_words(const GpuState& gpu, const Ui& ui) {
  if (gpu.device.empty()) {
    return gpu.problem.empty() ? std::string(ui.tr("compute.device_unknown"))
                               : say(ui.language, gpu.problem);
  }
  std::string words = ui.tr("compute.device", {{"device", gpu.device}, {"version", gpu.version}});
  if (gpu.software) words = two_sentences(words, ui.tr("compute.software"));
  if (!gpu.problem.empty()) words = two_sentences(words, say(ui.language, gpu.problem));
  return words;
}

std::string test_words(const GpuState& gpu, const Ui& ui) {
  if (gpu.testing) return std::string(ui.tr("compute.testing"));
  if (!gpu.tested) return std::string(ui.tr("compute.untested"));
  if (gpu.failures.empty()) return std::string(ui.tr("compute.passed"));
  return two_sentences(std::string(ui.tr("compute.failures")),
                       say(ui.language, gpu.failures.front()));
}

// A low sheet has its room for the table: a long account of the device is then its name's tooltip.
bool is_low(const Ui& ui, const Rect& r) { return r.height() < ui.px(440); }

// What the device is, how its test went, and what it cannot take. Returns the height.
float sheet_device(const AppState& state, Ui& ui, const Rect& r, bool low) {
  const GpuState& gpu = state.derived.gpu;
  if (low && !gpu.device.empty() && gpu.failures.empty()) return 0;
  float y = r.y0;
  const auto line = [&](Color color, const std::string& words) {
    y += ui.wrapped(ui.fonts.control, {r.x0, y}, r.width(), color, words) + ui.px(2);
  };
  line(ui.theme.muted, device_words(gpu, ui));
  if (gpu.phase != GpuPhase::kAbsent && !gpu.device.empty())
    line(gpu.failures.empty() ? ui.theme.muted : ui.theme.error, test_words(gpu, ui));
  constexpr std::size_t kMax = 3;
  for (std::size_t i = 0; i < std::min(gpu.fallbacks.size(), kMax); ++i) {
    line(ui.theme.k, ui.tr("compute.fallback",
                           {{"op", gpu.fallbacks[i].op}, {"shape", gpu.fallbacks[i].shape}}));
  }
  return y - r.y0 + ui.px(8);
}

// Title, the device's name where there is no room for more, and the cross that closes the sheet.
void sheet_title(const AppState& state, Ui& ui, const Rect& r, bool low) {
  const std::string_view title = ui.tr("compute.title");
  const Rect close = sheet_close(ui, "compute/close", r);
  ui.text(ui.fonts.title, r.min(), ui.theme.text, title, close.x0 - r.x0);
  const GpuState& gpu = state.derived.gpu;
  if (!low || gpu.device.empty()) return;
  const std::string name = short_device(gpu.device);
  const float left = r.x0 + ui.measure(ui.fonts.title, title).x + ui.px(16);
  const float right = close.x0 - ui.px(12), wide = ui.measure(ui.fonts.note, name).x;
  if (right - wide < left) return;
  const Rect at{right - wide, r.y0 + ui.px(8), right, r.y0 + ui.px(24)};
  ui.text(ui.fonts.note, at.min(), ui.theme.muted, name);
  if (at.contains(ImGui::GetIO().MousePos))
    ui.tooltip(device_words(gpu, ui) + "\n" + test_words(gpu, ui));
}

// Title, switch, whether Headlight chooses. Returns the height.
float compute_head(const AppState& state, Ui& ui, const Rect& r) {
  const bool low = is_low(ui, r);
  sheet_title(state, ui, r, low);
  float y = r.y0 + ui.px(36);
  y += sheet_device(state, ui, {r.x0, y, r.x1, r.y1}, low);
  const std::string labels[] = {std::string(ui.tr("compute.cpu")),
                                std::string(ui.tr("compute.gpu")),
                                std::string(ui.tr("compute.both"))};
  const std::string_view words[] = {"cpu", "gpu", "both"};
  const Session& s = state.session;
  const int pressed = ui.segmented("compute/mode", labels, static_cast<int>(s.compute), {r.x0, y},
                                   ui.px(28), words);
  if (pressed >= 0) ui.push(ChooseCompute{static_cast<ComputeMode>(pressed)});
  float x = r.x0 + ui.segmented_width(labels) + ui.px(12);
  const bool automatic = s.compute_request == ComputeRequest::kAutomatic;
  const std::string choose(ui.tr(low ? "compute.automatic_brief" : "compute.automatic"));
  const float wide = ui.measure(ui.fonts.control, choose).x + ui.px(20);
  if (ui.button("compute/automatic", choose, {x, y, x + wide, y + ui.px(28)}, automatic, true,
                ui.tr("compute.automatic.help")))
    ui.push(ComputeAutomatically{!automatic});
  x += wide + ui.px(12);
  const std::string tabs[] = {std::string(ui.tr("compute.tab.table")),
                              std::string(ui.tr("compute.tab.sizes"))};
  const std::string_view tab_ids[] = {"table", "sizes"};
  const float tabs_width = ui.segmented_width(tabs);
  float tabs_left = r.x1 - tabs_width;
  if (x > tabs_left) {  // a narrow window: on a line of their own
    y += ui.px(34);
    tabs_left = r.x0;
  }
  const int tab = ui.segmented("compute/tab", tabs, s.compute_sizes ? 1 : 0, {tabs_left, y},
                               ui.px(28), tab_ids);
  if (tab >= 0) ui.push(ShowSizes{tab == 1});
  return y + ui.px(low ? 36 : 40) - r.y0;
}

}  // namespace

void panel_compute(const AppState& state, Ui& ui, float width, float height) {
  const bool wanted = state.requests.open == Sheet::kCompute;
  if (!wanted && !ImGui::IsPopupOpen("compute")) return;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  const ImVec2 size{std::min(ui.px(960), width - ui.px(16)), std::min(ui.px(620), height)};
  const bool open = begin_sheet(ui, "compute", wanted, width, height, size);
  ImGui::PopStyleVar();
  if (!open) return;
  const ImVec2 at = ImGui::GetWindowPos(), drawn = ImGui::GetWindowSize();
  const Rect inside{at.x + ui.px(20), at.y + ui.px(16), at.x + drawn.x - ui.px(20),
                    at.y + drawn.y - ui.px(12)};
  const float top = inside.y0 + compute_head(state, ui, inside);
  const Rect body{inside.x0, top, inside.x1, inside.y1};
  if (body.height() > ui.px(40)) {
    if (state.session.compute_sizes) {
      compute_sizes(state, ui, body);
    } else {
      compute_table(state, ui, body);
    }
  }
  ui.drawn.add("panel/compute", at, {at.x + drawn.x, at.y + drawn.y});
  ImGui::EndPopup();
}

}  // namespace headlight
