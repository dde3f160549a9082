// What the parts of the inspector share: a column that is written from top to bottom.
#pragma once

#include <string>
#include <string_view>

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"
#include "core/explain/explain.h"

namespace headlight {

/// Where the next line goes. `top` and `bottom` are what can be seen of the column.
struct InspectorColumn {
  const AppState& state;
  Ui& ui;
  const Trace& trace;
  float x, y, right;
  float top, bottom;
  float width() const { return right - x; }
  bool sees(float height) const { return y + height > top && y < bottom; }
};

/// A heading; one with a token in it, which can be long, is shortened.
void inspector_section(InspectorColumn&, std::string_view title, bool names_token = false);
/// name ........ number
void inspector_fact(InspectorColumn&, std::string_view name, const std::string& number);
/// The terms of a cell with their numbers, largest first, and their sum.
void inspector_terms(InspectorColumn&, const Explanation&);
/// "and 54 smaller terms ... +0.0213": shows all of them, or only the large ones again.
void inspector_rest(InspectorColumn&, std::string_view words, const std::string& number);
/// Whole numbers that count or name something are written without decimals.
std::string plain_number(double value);
/// Goes to a cell and remembers the way.
PickCell pick_of(const Trace&, const CellRef&);

/// The cells gone through on the way to the picked one.
void inspector_trail(InspectorColumn&);
/// One number: its arithmetic, its terms, where it goes.
void inspector_numbers(InspectorColumn&, const Inspected&);
/// Where the number goes next, and the row of weights that it belongs to.
void inspector_next(InspectorColumn&, const CellRef&);
/// Of a gradient: moves its cell and looks at what the loss does.
void inspector_nudge(InspectorColumn&, const Inspected&);
/// The step as NumPy or PyTorch.
void inspector_code(InspectorColumn&, const Inspected&);
/// The shaders that make the cell on the graphics card.
void inspector_kernel(InspectorColumn&, const Inspected&);
/// All of their files, each once.
std::string kernel_text(const KernelView&);
/// The step in sentences. Returns the tensor whose name is under the mouse; empty: none.
std::string inspector_words(InspectorColumn&);

}  // namespace headlight
