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
  std::string_view id, label;  // the record's; what stands before it, empty: nothing
  double value = 0, low = 0, high = 1;
  bool integer = false;
  bool logarithmic = false;              // low > 0, or 0 as the place before `least`
  double least = 0;                      // logarithmic: the smallest number but for 0
  std::span<const double> choices = {};  // only these, ascending; typed numbers go to the nearest
  std::string shown;                     // instead of the number; empty: the number itself
  std::string_view help = {};            // tooltip
  bool enabled = true;
};

/// Draws the row into `r`; the number that the person asks for, if any. Typed numbers out of range
/// are refused in the field, which says the range.
std::optional<double> number_row(Ui&, const NumberRow&, const Rect& r);

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
