// One number's arithmetic, written out: as a line for the window, and as text, LaTeX or a table to
// copy. Every number in it is the trace's own or a product of such.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/texts.h"
#include "core/explain/explain.h"

namespace headlight {

/// How a token is written; the window has its own way (see token_label).
using LabelFunction = std::string (*)(std::string_view);

/// visible_label(), shortened to 40 characters.
std::string plain_label(std::string_view token);

/// "S[it, animal]": the symbol of the tensor and the cell's place, without batch and head. A token
/// that could be read as an index or a sign is quoted: dW_E[“3”, 24].
std::string cell_title(const Trace&, const CellRef&, LabelFunction = plain_label);

struct LineStyle {
  int digits = 4;               // significant ones; 0: all
  std::size_t most = SIZE_MAX;  // so many terms; the rest as their number and their sum
  Language language = Language::kEnglish;
  LabelFunction label = plain_label;
  // Small numbers keep their digits, as fine_number(); a gradient's line always is so. Numbers of a
  // run are mostly near 1 and have a fixed number of decimals; gradients are often small.
  bool fine = false;
};

bool is_gradient(const Explanation&);
/// A number of this cell, its value or one of its terms, as its line writes it: wherever else the
/// inspector says it, it says it so.
std::string line_number(const Explanation&, double value);

/// "q(“it”) · k(“animal”) = (−1.673 × (−3.026)) + (1.028 × 0.984) + … = 4.555". Empty for a number
/// that nothing was computed for.
std::string arithmetic_line(const Trace&, const Explanation&, const LineStyle&);

/// All terms with all digits: the shortest that give back the same float, or the same double where
/// a factor is one.
std::string explanation_as_text(const Trace&, const Explanation&);
/// An align* environment; needs only amsmath. Compiles whatever the tokens are: characters that an
/// 8-bit TeX lacks become their code points there.
std::string explanation_as_latex(const Trace&, const Explanation&);
/// Tab-separated, a line for each term, plain minus signs: pastes into a spreadsheet.
std::string explanation_as_table(const Trace&, const Explanation&);

/// A text as LaTeX writes it within \text{}.
std::string latex_text(std::string_view utf8);

/// Every digit of a number: see explanation_as_text. With a true minus sign.
std::string all_digits(double value);

}  // namespace headlight
