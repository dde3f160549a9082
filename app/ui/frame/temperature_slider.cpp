#include "app/ui/frame/temperature_slider.h"

#include <algorithm>
#include <cmath>

#include "app/ui/kit/number_row.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr float kTrack = 96, kNumber = 44;
constexpr const char* kPopup = "popup/temperature";

void set_temperature(const AppState& state, Ui& ui, double temperature, std::string group) {
  Config next = state.document().config;
  next.temperature = temperature;
  ui.push(DoEdit{SetConfig{next}, std::move(group)});
}

// The field to type in. What stands in it lives in ImGui while it is open.
void draw_field(const AppState& state, Ui& ui) {
  if (!ImGui::BeginPopup(kPopup)) return;
  ImGui::PushFont(ui.fonts.control);
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  ui.before_field("temperature/field");
  std::string typed = exact_number(static_cast<float>(state.document().config.temperature));
  ImGui::SetNextItemWidth(ui.px(120));
  const bool done = number_text_field("##temperature", typed);
  ui.after_field("temperature/field");
  const std::optional<double> value = typed_number(typed);
  const double nearest = std::clamp(value.value_or(0), kLowestTemperature, kHighestTemperature);
  const bool fits = value == nearest;
  // Out of range becomes the nearest that is in range, and the field stays open to say so.
  if (done && value) set_temperature(state, ui, nearest, "");
  if (done && fits) ImGui::CloseCurrentPopup();
  if (done && !fits) ImGui::SetKeyboardFocusHere(-1);
  ImGui::PushStyleColor(ImGuiCol_Text, to_vec4(fits ? ui.theme.muted : ui.theme.error));
  ImGui::TextUnformatted(ui.tr("temperature.range").data());
  ImGui::PopStyleColor();
  ImGui::PopFont();
  ImGui::EndPopup();
}

void draw_track(const AppState& state, Ui& ui, const Rect& track) {
  const double now = state.document().config.temperature;
  bool over = false;
  const bool pressed = ui.hot("temperature", track, &over, true, FocusKind::kSlider);
  const ImGuiIO& io = ImGui::GetIO();
  const bool by_key = pressed && ui.activated("temperature");
  if (const int nudge = ui.nudge("temperature"); nudge != 0) {
    const float place = temperature_place(now) + 0.035f * static_cast<float>(nudge);
    set_temperature(state, ui, temperature_at(place), "temperature");
  }
  if ((ImGui::IsItemActivated() && io.KeyCtrl && io.MouseDown[0]) || by_key) {
    ImGui::OpenPopup(kPopup);
  } else if (over && ImGui::IsMouseDoubleClicked(0)) {
    set_temperature(state, ui, 1, "");
    ImGui::ClearActiveID();
  } else if (ImGui::IsItemActive() && io.MouseDown[0] && !io.KeyCtrl) {
    const double next = temperature_at((io.MousePos.x - track.x0) / track.width());
    if (next != now) set_temperature(state, ui, next, "temperature");
  }
  if (ImGui::IsItemDeactivated()) ui.push(EndEdit{});
  ImGui::SetNextWindowPos({track.x0, track.y1 + ui.px(2)});
  draw_field(state, ui);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float middle = (track.y0 + track.y1) / 2, thick = ui.px(1.5f);
  const float x0 = track.x0, knob = x0 + temperature_place(now) * track.width();
  list->AddRectFilled({x0, middle - thick}, {track.x1, middle + thick}, to_u32(ui.theme.line),
                      thick);
  list->AddRectFilled({x0, middle - thick}, {knob, middle + thick}, to_u32(ui.theme.text), thick);
  const float one = x0 + temperature_place(1) * track.width();
  list->AddLine({one, middle + ui.px(6)}, {one, middle + ui.px(10)}, to_u32(ui.theme.muted));
  list->AddCircleFilled({knob, middle}, ui.px(over ? 7 : 6), to_u32(ui.theme.text));
  if (over && !ImGui::IsItemActive()) ui.tooltip(ui.tr("temperature.help"));
}

}  // namespace

float temperature_place(double temperature) {
  const double t = std::clamp(temperature, kLowestTemperature, kHighestTemperature);
  return static_cast<float>(std::log(t / kLowestTemperature) /
                            std::log(kHighestTemperature / kLowestTemperature));
}

double temperature_at(float place) {
  place = std::clamp(place, 0.0f, 1.0f);
  if (std::fabs(place - temperature_place(1)) < 0.03f) return 1;
  const double t =
      kLowestTemperature * std::pow(kHighestTemperature / kLowestTemperature, double{place});
  const double unit = t < 0.1 ? 0.001 : t < 1 ? 0.01 : 0.1;
  // Divided, not multiplied: 0.35 then is the double that is written so.
  return std::clamp(std::round(t / unit) / std::round(1 / unit), kLowestTemperature,
                    kHighestTemperature);
}

float temperature_width(const Ui& ui) {
  return ui.measure(ui.fonts.control, ui.tr("temperature.label")).x +
         ui.px(10 + kTrack + 14 + kNumber);
}

void draw_temperature(const AppState& state, Ui& ui, ImVec2 at, float height, float right) {
  const std::string number = exact_number(static_cast<float>(state.document().config.temperature));
  const float room = right - at.x;
  const float text_y = at.y + (height - font_size(ui.fonts.control)) / 2 - ui.px(1);
  if (room < temperature_width(ui)) {
    const std::string label = "τ " + number;
    const float width = ui.measure(ui.fonts.control, label).x + ui.px(18);
    if (room < width) return;
    if (ui.button("temperature", label, {at.x, at.y, at.x + width, at.y + height}, false, true,
                  ui.tr("temperature.help_small"))) {
      ImGui::OpenPopup(kPopup);
    }
    ImGui::SetNextWindowPos({at.x, at.y + height + ui.px(2)});
    draw_field(state, ui);
    return;
  }
  const std::string_view label = ui.tr("temperature.label");
  ui.text(ui.fonts.control, {at.x, text_y}, ui.theme.muted, label);
  const float x = at.x + ui.measure(ui.fonts.control, label).x + ui.px(16);
  draw_track(state, ui, {x, at.y, x + ui.px(kTrack), at.y + height});
  ui.text(ui.fonts.mono, {x + ui.px(kTrack + 12), text_y}, ui.theme.text, number);
}

}  // namespace headlight
