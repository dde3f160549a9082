// The controls of a lab, one block after the other, in as many lines as they need.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/number_row.h"
#include "app/ui/labs/labs_view.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr float kHigh = 28, kGap = 22, kSlider = 236;
constexpr std::size_t kMostSideBySide = 4;  // more words stand in a list

std::string setting_of(const AppState& state, const Lab& lab, const LabControl& control) {
  const auto& all = state.document().labs.settings;
  const auto own = all.find(lab.id);
  if (own != all.end()) {
    const auto found = own->second.find(control.id);
    if (found != own->second.end()) return found->second;
  }
  return first_setting(control);
}

// A word that is a number, as people read it; empty: it is none.
std::string number_word(std::string_view word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return "";
  const bool whole = number == std::floor(number) && std::fabs(number) < 1e9;
  return whole ? count_text(static_cast<long long>(number)) : exact_double(number);
}

// A lab may call a word otherwise than the others do.
std::string word_text(const Ui& ui, const Lab& lab, std::string_view word) {
  if (std::string number = number_word(word); !number.empty()) return number;
  const std::string own = "lab." + std::string(lab.id) + ".word." + std::string(word);
  const std::string_view said = tr_or(ui.language, own, "");
  return std::string(said.empty() ? ui.tr("lab.word." + std::string(word)) : said);
}

std::string_view label_of(const Ui& ui, const LabControl& control) {
  return ui.tr("lab.control." + std::string(control.id));
}

// A whole number of so many that a slider could not aim at one.
bool is_stepped(const LabControl& c) { return c.words.empty() && c.whole && c.high - c.low > 64; }

std::string text_of(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

double number_of(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> labels_of(const Ui& ui, const Lab& lab, const LabControl& control) {
  std::vector<std::string> labels;
  for (const std::string_view word : control.words) labels.push_back(word_text(ui, lab, word));
  return labels;
}

float block_width(const Ui& ui, const Lab& lab, const LabControl& control) {
  const float label = ui.measure(ui.fonts.control, label_of(ui, control)).x + ui.px(10);
  if (is_stepped(control)) return label + ui.px(120);
  if (control.words.empty()) return label + ui.px(kSlider) * 0.62f;
  const std::vector<std::string> labels = labels_of(ui, lab, control);
  if (labels.size() <= kMostSideBySide) return label + ui.segmented_width(labels);
  float widest = 0;
  for (const std::string& l : labels) widest = std::max(widest, ui.measure(ui.fonts.control, l).x);
  return label + widest + ui.px(44);
}

// The words of a control, side by side or in a list.
void word_control(Ui& ui, const Lab& lab, const LabControl& control, const std::string& id,
                  const std::string& setting, const Rect& r) {
  const std::vector<std::string> labels = labels_of(ui, lab, control);
  const auto found = std::ranges::find(control.words, setting);
  const auto chosen = static_cast<int>(found - control.words.begin());
  const int pressed = labels.size() <= kMostSideBySide
                          ? ui.segmented(id, labels, chosen, r.min(), r.height(), control.words)
                          : drop_down(ui, id, labels, control.words, chosen, r);
  if (pressed >= 0)
    ui.push(SetLabControl{std::string(control.id),
                          std::string(control.words[static_cast<std::size_t>(pressed)])});
}

void number_control(Ui& ui, const LabControl& control, const std::string& id,
                    const std::string& setting, const Rect& r) {
  const double now = std::clamp(number_of(setting), control.low, control.high);
  if (is_stepped(control)) {
    const int next = ui.stepper(id, static_cast<int>(now), static_cast<int>(control.low),
                                static_cast<int>(control.high), r);
    if (next != static_cast<int>(now))
      ui.push(SetLabControl{std::string(control.id), std::to_string(next)});
    return;
  }
  NumberRow row;
  row.id = id;
  row.low = control.low;
  row.high = control.high;
  row.integer = control.whole;
  row.logarithmic = control.by_factors;
  row.value = now;
  if (const std::optional<double> next = number_row(ui, row, r))
    ui.push(SetLabControl{std::string(control.id), text_of(*next), id});
  if (ImGui::IsMouseReleased(0)) ui.push(EndEdit{});
}

void one_control(const AppState& state, Ui& ui, const Lab& lab, const LabControl& control,
                 const Rect& r) {
  const std::string_view label = label_of(ui, control);
  const float wide = ui.measure(ui.fonts.control, label).x;
  ui.text(ui.fonts.control, {r.x0, (r.y0 + r.y1 - font_size(ui.fonts.control)) / 2 - ui.px(1)},
          ui.theme.muted, label, r.width());
  const Rect rest{r.x0 + wide + ui.px(10), r.y0, r.x1, r.y1};
  const std::string id = "lab/set/" + std::string(control.id);
  const std::string setting = setting_of(state, lab, control);
  control.words.empty() ? number_control(ui, control, id, setting, rest)
                        : word_control(ui, lab, control, id, setting, rest);
}

}  // namespace

std::string lab_setting_text(const Ui& ui, const Lab& lab, std::string_view control,
                             const std::string& value) {
  const auto found = std::ranges::find(lab.controls, control, &LabControl::id);
  const bool word = found != lab.controls.end() && !found->words.empty();
  return word ? word_text(ui, lab, value) : value;
}

float lab_controls(const AppState& state, Ui& ui, const Rect& r, bool draw) {
  const Lab& lab = shown_lab(state.document());
  float x = r.x0, y = r.y0;
  const auto place = [&](float wide) {
    if (x > r.x0 && x + wide > r.x1) {
      x = r.x0;
      y += ui.px(kHigh + 8);
    }
    const Rect block{x, y, std::min(x + wide, r.x1), y + ui.px(kHigh)};
    x += wide + ui.px(kGap);
    return block;
  };
  for (const LabControl& control : lab.controls) {
    const Rect block = place(block_width(ui, lab, control));
    if (draw) one_control(state, ui, lab, control, block);
  }
  const std::string_view again = ui.tr("lab.start_again");
  const Rect block = place(ui.measure(ui.fonts.control, again).x + ui.px(22));
  const bool changed = state.document().labs.settings.contains(lab.id);
  if (draw && ui.button("lab/reset", again, block, false, changed)) ui.push(ResetLab{});
  return y + ui.px(kHigh);
}

}  // namespace headlight
