// The fields of the model's settings: a label, and beside it what can be changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "app/ui/frame/choices.h"
#include "app/ui/frame/panels.h"

namespace headlight {

/// Lines below each other; the next one begins at y.
struct Form {
  Ui& ui;
  float x, y, width;
  std::string_view fixed = {};  // why the next fields cannot be changed; empty: they can
  float label_width() const { return ui.px(110); }
  float line() const { return ui.px(34); }
  void label(std::string_view text) {
    ui.text(ui.fonts.control, {x, y + ui.px(6)}, ui.theme.muted, text, label_width());
  }
  Rect field(float field_width) const {
    return {x + label_width(), y, x + label_width() + field_width, y + ui.px(27)};
  }
  void next() { y += line(); }
  void heading(std::string_view text) {
    y += ui.px(6);
    ui.text(ui.fonts.strong, {x, y}, ui.theme.text, text);
    y += ui.px(26);
  }
};

/// A number that can be stepped, to the multiples of `step`, or typed. Width 0 stands for
/// "automatic". This and the next ones say whether the value has changed.
bool number_field(Form&, const char* id, std::string_view label, int& value, int low, int high,
                  int automatic = -1, int step = 1);
bool switch_field(Form&, std::string_view id, std::string_view label, bool& value);
bool seed_field(Form&, std::uint64_t& seed);

/// The choices side by side, on as many lines as they need. The one that is pressed; −1: none.
int choice_lines(Form&, std::string_view id, const Choices&, int chosen);

template <class T>
bool choice_field(Form& form, std::string_view id, std::string_view label, const Choices& all,
                  T& value) {
  form.label(label);
  const auto now = static_cast<int>(std::ranges::find(all.ids, word(value)) - all.ids.begin());
  const int pressed = choice_lines(form, id, all, now);
  if (pressed < 0 || pressed == now) return false;
  value = *from_word<T>(all.ids[static_cast<std::size_t>(pressed)]);
  return true;
}

template <class T>
bool choice_field(Form& form, std::string_view id, std::string_view label, T& value) {
  return choice_field(form, id, label, choices_of(form.ui, T{}), value);
}

}  // namespace headlight
