// What the parts of the inspector share: a column that is written from top to bottom.
#pragma once

#include <string>
#include <string_view>

#include "app/ui/state.h"
#include "app/ui/ui.h"
#include "core/explain.h"

namespace headlight {

/// Where the next line goes.
struct InspectorColumn {
  const AppState& state;
  Ui& ui;
  const Trace& trace;
  float x, y, right;
  float width() const { return right - x; }
};

/// A heading.
void inspector_section(InspectorColumn&, std::string_view title);
/// name ........ number
void inspector_fact(InspectorColumn&, std::string_view name, const std::string& number);
/// The terms of a cell with their numbers, largest first, and their sum.
void inspector_terms(InspectorColumn&, const Explanation&);
/// Whole numbers that count or name something are written without decimals.
std::string plain_number(double value);

}  // namespace headlight
