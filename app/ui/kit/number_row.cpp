#include "app/ui/kit/number_row.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "app/ui/kit/whole_field.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr float kNumberWidth = 62;

bool has_zero(const NumberRow& row) { return row.logarithmic && row.low == 0; }

// The place of 0 on a logarithmic slider takes its first twentieth.
constexpr double kZeroRoom = 0.05;

double log_low(const NumberRow& row) { return std::log(has_zero(row) ? row.least : row.low); }

std::string text_of(const NumberRow& row) {
  if (!row.shown.empty()) return row.shown;
  if (row.value == 0 && !row.zero.empty()) return std::string(row.zero);
  return row.integer ? count_text(static_cast<long long>(row.value))
                     : exact_number(static_cast<float>(row.value));
}

std::string range_text(const Ui& ui, const NumberRow& row) {
  const auto number = [&](double value) {
    return row.integer ? count_text(static_cast<long long>(value))
                       : exact_number(static_cast<float>(value));
  };
  return ui.tr("row.range", {{"low", number(row.low)}, {"high", number(row.high)}});
}

}  // namespace

bool number_text_field(const char* id, std::string& text, bool read_only) {
  const auto filter = [](ImGuiInputTextCallbackData* data) {
    if (data->EventFlag != ImGuiInputTextFlags_CallbackCharFilter) return 0;
    if (data->EventChar == ',') data->EventChar = '.';
    constexpr std::string_view kOfNumbers = "0123456789+-.eE";
    const bool is_ascii = data->EventChar < 0x80;
    const bool fits =
        is_ascii && kOfNumbers.find(static_cast<char>(data->EventChar)) != std::string_view::npos;
    return fits ? 0 : 1;  // 1: not taken
  };
  const int flags = ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll |
                    ImGuiInputTextFlags_CallbackCharFilter |
                    (read_only ? ImGuiInputTextFlags_ReadOnly : 0);
  return ImGui::InputText(id, &text, flags, filter);
}

std::optional<double> typed_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

bool whole_text_field(const char* id, std::string& text, ImGuiInputTextFlags flags) {
  const auto filter = [](ImGuiInputTextCallbackData* data) {
    constexpr ImWchar kWideComma = 0xFF0C, kWideStop = 0x3002;  // of Chinese keyboards
    if (data->EventChar == kWideComma) data->EventChar = ',';
    if (data->EventChar == kWideStop) data->EventChar = '.';
    constexpr std::string_view kOfNumbers = "0123456789+-.,'_ eE";
    const bool is_ascii = data->EventChar < 0x80;
    const bool fits =
        is_ascii && kOfNumbers.find(static_cast<char>(data->EventChar)) != std::string_view::npos;
    return fits ? 0 : 1;  // 1: not taken
  };
  flags |= ImGuiInputTextFlags_AutoSelectAll | ImGuiInputTextFlags_CallbackCharFilter;
  return ImGui::InputText(id, &text, flags, filter);
}

std::optional<std::uint64_t> typed_whole(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(' ') - first + 1);
  constexpr std::size_t kGroup = 4;  // a comma and three digits
  const std::size_t comma = text.find(',');
  std::string digits(text.substr(0, comma));
  for (std::size_t at = comma; at < text.size(); at += kGroup) {
    const bool group = text[at] == ',' && text.size() - at >= kGroup && comma >= 1 && comma <= 3;
    if (!group) return std::nullopt;
    digits += text.substr(at + 1, kGroup - 1);
  }
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value);
  return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

std::optional<double> typed_whole_number(const std::string& text) {
  if (const auto whole = typed_whole(text)) return static_cast<double>(*whole);
  return text.find_first_of(".,") == std::string::npos ? typed_number(text) : std::nullopt;
}

namespace {

// The field to type in; open until a number that fits is entered, or something else is clicked.
std::optional<double> field(Ui& ui, const NumberRow& row, const char* popup) {
  std::optional<double> entered;
  if (!ImGui::BeginPopup(popup)) return entered;
  ImGui::PushFont(ui.fonts.control);
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  const std::string id = std::string(row.id) + "/field";
  ui.before_field(id);
  char shown[32];  // with a minus sign that from_chars knows
  std::snprintf(shown, sizeof shown, "%.6g", row.value);
  std::string typed = row.integer ? std::to_string(static_cast<long long>(row.value)) : shown;
  ImGui::SetNextItemWidth(ui.px(140));
  const bool done = row.integer
                        ? whole_text_field("##number", typed, ImGuiInputTextFlags_EnterReturnsTrue)
                        : number_text_field("##number", typed);
  ui.after_field(id);
  const std::optional<double> number =
      row.integer ? typed_whole_number(typed) : typed_number(typed);
  const double value = number.value_or(0);
  const bool fits = number && value >= row.low && value <= row.high &&
                    (!row.integer || value == std::floor(value));
  if (done && fits) {
    entered = row.choices.empty() ? value : row_value(row, row_place(row, value));
    ImGui::CloseCurrentPopup();
  }
  if (done && !fits) ImGui::SetKeyboardFocusHere(-1);
  ImGui::PushStyleColor(ImGuiCol_Text, to_vec4(fits ? ui.theme.muted : ui.theme.error));
  ImGui::TextUnformatted(range_text(ui, row).c_str());
  ImGui::PopStyleColor();
  ImGui::PopFont();
  ImGui::EndPopup();
  return entered;
}

std::optional<double> track(Ui& ui, const NumberRow& row, const Rect& r) {
  std::optional<double> wanted;
  bool over = false;
  ui.hot(row.id, r, &over, row.enabled, FocusKind::kSlider);
  const float inset = ui.px(6), x0 = r.x0 + inset, x1 = r.x1 - inset;
  if (row.enabled && ImGui::IsItemActive() && ImGui::GetIO().MouseDown[0]) {
    const float at = (ImGui::GetIO().MousePos.x - x0) / std::max(x1 - x0, 1.0f);
    wanted = row_value(row, std::clamp(at, 0.0f, 1.0f));
  }
  if (const int nudge = ui.nudge(row.id); nudge != 0 && row.enabled) {
    const double step =
        row.choices.empty() ? 0.04 : 1 / std::max(1.0, double(row.choices.size()) - 1);
    double next = row_value(row, row_place(row, row.value) + step * nudge);
    // A whole number moves by one at least.
    if (row.integer && row.choices.empty() && next == row.value)
      next = std::clamp(row.value + nudge, row.low, row.high);
    wanted = next;
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float middle = std::round((r.y0 + r.y1) / 2), thick = std::max(1.0f, ui.px(1.5f));
  const float knob = x0 + static_cast<float>(row_place(row, row.value)) * (x1 - x0);
  const Color ink = row.enabled ? ui.theme.text : faded(ui.theme.muted, 0.5f);
  list->AddRectFilled({x0, middle - thick}, {x1, middle + thick}, to_u32(ui.theme.line), thick);
  list->AddRectFilled({x0, middle - thick}, {knob, middle + thick}, to_u32(ink), thick);
  list->AddCircleFilled({knob, middle}, ui.px(over && row.enabled ? 6.5f : 5.5f), to_u32(ink), 20);
  if (over && !row.help.empty() && !ImGui::IsItemActive()) ui.tooltip(row.help);
  return wanted;
}

}  // namespace

double row_place(const NumberRow& row, double value) {
  if (!row.choices.empty()) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < row.choices.size(); ++i) {
      if (std::fabs(row.choices[i] - value) < std::fabs(row.choices[best] - value)) best = i;
    }
    return row.choices.size() < 2
               ? 0
               : static_cast<double>(best) / static_cast<double>(row.choices.size() - 1);
  }
  if (!row.logarithmic)
    return row.high > row.low ? std::clamp((value - row.low) / (row.high - row.low), 0.0, 1.0) : 0;
  const double room = has_zero(row) ? kZeroRoom : 0;
  if (has_zero(row) && value < row.least) return 0;
  const double part = (std::log(value) - log_low(row)) / (std::log(row.high) - log_low(row));
  return std::clamp(room + part * (1 - room), 0.0, 1.0);
}

double row_value(const NumberRow& row, double place) {
  place = std::clamp(place, 0.0, 1.0);
  if (!row.choices.empty()) {
    const auto last = static_cast<double>(row.choices.size() - 1);
    return row.choices[static_cast<std::size_t>(std::lround(place * last))];
  }
  double value = row.low + place * (row.high - row.low);
  if (row.logarithmic) {
    const double room = has_zero(row) ? kZeroRoom : 0;
    if (has_zero(row) && place < room) return 0;
    const double part = (place - room) / (1 - room);
    value = std::exp(log_low(row) + part * (std::log(row.high) - log_low(row)));
  }
  if (row.integer && value < 100) return std::clamp(std::round(value), row.low, row.high);
  if (value == 0) return value;
  // Two digits: what a slider can be aimed at, and what reads well. Divided, not multiplied, so
  // that 0.001 is the double that is written so.
  const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value)))) - 1;
  const double unit = std::pow(10.0, std::abs(exponent));
  value = exponent < 0 ? std::round(value * unit) / unit : std::round(value / unit) * unit;
  return std::clamp(value, row.low, row.high);
}

float row_label_room(float width) { return std::round(width * 0.38f); }

std::optional<double> number_row(Ui& ui, const NumberRow& row, const Rect& r) {
  const float text_y = (r.y0 + r.y1 - font_size(ui.fonts.control)) / 2 - ui.px(1);
  const Rect number{r.x1 - ui.px(kNumberWidth), r.y0, r.x1, r.y1};
  const float label_room = row.label.empty() ? -ui.px(6) : row_label_room(r.width());
  if (!row.label.empty())
    ui.text(ui.fonts.control, {r.x0, text_y}, ui.theme.muted, row.label, label_room);
  std::optional<double> wanted =
      track(ui, row, {r.x0 + label_room + ui.px(4), r.y0, number.x0 - ui.px(2), r.y1});
  const std::string popup = "popup/" + std::string(row.id);
  bool over = false;
  if (ui.hot(std::string(row.id) + "/number", number, &over, row.enabled))
    ImGui::OpenPopup(popup.c_str());
  if (over && row.enabled)
    ImGui::GetWindowDrawList()->AddRectFilled(number.min(), number.max(),
                                              to_u32(ui.theme.selection), ui.px(4));
  ui.text_right(ui.fonts.mono, r.x1 - ui.px(2), text_y,
                row.enabled ? ui.theme.text : ui.theme.muted, text_of(row));
  ImGui::SetNextWindowPos({number.x0 - ui.px(60), r.y1 + ui.px(2)});
  if (const auto typed = field(ui, row, popup.c_str())) wanted = typed;
  return wanted && *wanted != row.value ? wanted : std::nullopt;
}

bool drop_box(Ui& ui, std::string_view id, std::string_view shown, const Rect& r) {
  bool over = false;
  const bool pressed = ui.hot(id, r, &over);
  if (pressed) ImGui::OpenPopup(("popup/" + std::string(id)).c_str());
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(r.min(), r.max(), to_u32(over ? ui.theme.selection : ui.theme.surface),
                      ui.px(6));
  list->AddRect(r.min(), r.max(), to_u32(ui.theme.line), ui.px(6));
  const float y = (r.y0 + r.y1 - font_size(ui.fonts.control)) / 2 - ui.px(1);
  ui.user_text(ui.fonts.control, {r.x0 + ui.px(10), y}, ui.theme.text, shown,
               r.width() - ui.px(34));
  ui.text(ui.fonts.note, {r.x1 - ui.px(18), y + ui.px(1)}, ui.theme.muted, "▾");
  ImGui::SetNextWindowPos({r.x0, r.y1 + ui.px(2)});
  return pressed;
}

int drop_down(Ui& ui, std::string_view id, std::span<const std::string> labels,
              std::span<const std::string_view> ids, int chosen, const Rect& r) {
  int result = -1;
  const bool known = chosen >= 0 && chosen < static_cast<int>(labels.size());
  drop_box(ui, id, known ? labels[static_cast<std::size_t>(chosen)] : std::string(), r);
  if (!ImGui::BeginPopup(("popup/" + std::string(id)).c_str())) return result;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (ui.menu_item(std::string(id) + "/" + std::string(ids[i]), labels[i], {},
                     static_cast<int>(i) == chosen))
      result = static_cast<int>(i);
  }
  ImGui::EndPopup();
  return result;
}

int choice_row(Ui& ui, const ChoiceRow& row, const Rect& r) {
  const float text_y = (r.y0 + r.y1 - font_size(ui.fonts.control)) / 2 - ui.px(1);
  const float label_room = row.label.empty() ? -ui.px(10) : row_label_room(r.width());
  if (!row.label.empty())
    ui.text(ui.fonts.control, {r.x0, text_y}, ui.theme.muted, row.label, label_room);
  const int pressed = drop_down(ui, row.id, row.labels, row.ids, row.chosen,
                                {r.x0 + label_room + ui.px(10), r.y0, r.x1, r.y1});
  const bool over = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(r.min(), r.max());
  if (over && !row.help.empty()) ui.tooltip(row.help);
  return pressed;
}

}  // namespace headlight
