// A line of words in several colours: captions with their sizes, shapes, sentences about a row.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/ui/kit/ui.h"
#include "core/graph/axis_symbols.h"
#include "core/view/pane_layout.h"

namespace headlight {

struct Word {
  std::string text;
  Color color;
};
using Words = std::vector<Word>;

float measure_words(const Ui&, ImFont*, std::span<const Word>);
/// Returns the width.
float draw_words(Ui&, ImFont*, ImVec2 at, std::span<const Word>);

Color size_color(const Theme&, SizeKind);

/// "T 11", or "11" alone when `named` is false; "H 4 · d_head 16" where heads stand side by side.
void add_size(Words&, const Ui&, const Trace&, TensorId, std::string_view axis, std::int64_t length,
              bool named);

/// "(T 11 × d_model 64)", and "(d_model 64)" for a row vector; without the words when not `named`.
Words shape_words(const Ui&, const Trace&, const PagePane&, bool named);

}  // namespace headlight
