// A line of settings: its name, a slider, its number. The slider is dragged or moved by the arrow
// keys; a click on the number types it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/kit/ui.h"

namespace headlight {

struct NumberRow {
  std::string_view id;
  double low = 0, high = 1;
  bool integer = false;
  bool logarithmic = false;              // low > 0, or 0 as the place before `least`
  double least = 0;                      // logarithmic: the smallest number but for 0
  std::span<const double> choices = {};  // only these, ascending; typed numbers go to the nearest
  std::string_view zero = {};            // instead of the number where it is 0; empty: the number
  std::string shown = {};                // the same for every number
  bool enabled = true;
  std::string_view label = {};  // what stands before it
  std::string_view help = {};   // tooltip
  double value = 0;
};

/// A field for one number, typed with a decimal point or comma. True when Enter is pressed.
bool number_text_field(const char* id, std::string& text, bool read_only = false);
/// What stands in it; none where it is no number.
std::optional<double> typed_number(const std::string& text);
/// The same where it is a whole one: commas part thousands, and a decimal point is none.
std::optional<double> typed_whole_number(const std::string& text);

/// How much of a row of this width its label has.
float row_label_room(float width);

/// Draws the row into `r`; the number that the person asks for, if any. Typed numbers out of range
/// are refused in the field, which says the range.
std::optional<double> number_row(Ui&, const NumberRow&, const Rect& r);

/// The same for a number that lies somewhere: labelled and helped by the texts "LABEL" and
/// "LABEL.help". True when the person has changed it.
template <class T>
bool number_row(Ui& ui, NumberRow row, std::string_view label_id, T& number, const Rect& r) {
  row.label = ui.tr(label_id);
  row.help = ui.tr(std::string(label_id) + ".help");
  row.value = static_cast<double>(number);
  const std::optional<double> asked = number_row(ui, row, r);
  if (asked) number = static_cast<T>(*asked);
  return asked.has_value();
}

/// Where a value stands on the slider (0..1), and the value at a place, rounded to two digits.
double row_place(const NumberRow&, double value);
double row_value(const NumberRow&, double place);

struct ChoiceRow {
  std::string_view id, label;
  std::span<const std::string> labels;
  std::span<const std::string_view> ids;
  int chosen = 0;
  std::string_view help = {};
};

/// A name and a drop-down list at its right; the one pressed, or -1.
int choice_row(Ui&, const ChoiceRow&, const Rect& r);

/// A closed list that shows what is chosen; opens the popup "popup/<id>" when pressed, then true.
/// The next window's place is below it.
bool drop_box(Ui&, std::string_view id, std::string_view shown, const Rect& r);

/// The list alone, over all of `r`.
int drop_down(Ui&, std::string_view id, std::span<const std::string> labels,
              std::span<const std::string_view> ids, int chosen, const Rect& r);

}  // namespace headlight
