// What the parts of the Train panel's settings share: the column that they stand in, and the plan
// that they change.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/kit/number_row.h"
#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

// The column that the settings stand in, one below the other.
struct SettingsColumn {
  Ui& ui;
  float x0, x1, y;
  Rect row(float height = 24) {
    const Rect r{x0, y, x1, y + ui.px(height)};
    y = r.y1 + ui.px(2);
    return r;
  }
  void heading(std::string_view text_id) {
    y += ui.px(14);
    ui.text(ui.fonts.note, {x0, y}, ui.theme.muted, ui.tr(text_id), x1 - x0);
    y += ui.px(20);
  }
  void note(std::string_view words, Color color) {
    y += ui.wrapped(ui.fonts.note, {x0, y}, x1 - x0, color, words) + ui.px(4);
  }
  // A name that is too long to stand before its slider.
  void name_above(std::string_view words) {
    y += ui.px(3);
    note(words, ui.theme.muted);
    y -= ui.px(6);
  }
};

template <class T>
int choice_index(T value) {
  const auto all = choices(value);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].value == value) return static_cast<int>(i);
  }
  return 0;
}

struct ChoiceWords {
  std::vector<std::string> labels;
  std::vector<std::string_view> ids;
};

// The choices of an enumeration by the texts "PREFIX.WORD".
template <class T>
ChoiceWords words_of(const Ui& ui, T value, const std::string& prefix) {
  ChoiceWords words;
  for (const auto& choice : choices(value)) {
    words.labels.emplace_back(ui.tr(prefix + std::string(choice.word)));
    words.ids.push_back(choice.word);
  }
  return words;
}

struct TrainSettings {
  const AppState& state;
  SettingsColumn& column;
  RunPlan plan;
  bool changed = false;

  Ui& ui() { return column.ui; }

  // A number of the plan. True when it is a new one.
  template <class T>
  bool number(NumberRow row, std::string_view label_id, T& value) {
    const std::string_view label = ui().tr(label_id);
    const bool fits =
        ui().measure(ui().fonts.control, label).x <= row_label_room(column.x1 - column.x0);
    if (!fits) column.name_above(label);
    row.label = fits ? label : "";
    row.help = ui().tr(std::string(label_id) + ".help");
    row.value = static_cast<double>(value);
    const std::optional<double> asked = number_row(ui(), row, column.row());
    if (asked) value = static_cast<T>(*asked);
    changed |= asked.has_value();
    return asked.has_value();
  }

  template <class T>
  void choice(std::string_view id, std::string_view label_id, T& value, const std::string& prefix) {
    const ChoiceWords words = words_of(ui(), value, prefix);
    choice(id, label_id, value, words.labels, words.ids);
  }

  template <class T>
  void choice(std::string_view id, std::string_view label_id, T& value,
              std::span<const std::string> labels, std::span<const std::string_view> ids) {
    column.y += ui().px(1);
    const ChoiceRow row{id, ui().tr(label_id), labels, ids, choice_index(value), {}};
    const int pressed = choice_row(ui(), row, column.row(26));
    if (pressed < 0 || pressed == row.chosen) return;
    value = choices(value)[static_cast<std::size_t>(pressed)].value;
    changed = true;
  }
};

/// What the model that a run begins with is called; empty for new weights.
std::string base_name(const RunPlan&);

/// Which task, or which data of the person's own (panel_train_task.cpp).
void task_settings(TrainSettings&);
/// Labs that watch a model learn the task.
void lab_rows(TrainSettings&);

}  // namespace headlight
