// How a number came to be: what an operation says of one cell of its result, or of its gradient.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/message.h"

namespace headlight {

/// A piece of arithmetic as it is written: a number, or what stands between numbers.
struct MathPiece {
  std::string text, latex;       // "exp(", "\\exp("; empty for a number
  std::optional<double> number;  // set: the piece is this number
};
using MathLine = std::vector<MathPiece>;

/// A cell that an operation reads: of an input, or what a gradient is made of.
struct InputCell {
  int input = -1;  // which input; -1 for a constant, or one of the two below
  std::vector<std::int64_t> index;
};

/// InputCell::input of explain_gradient(): a cell of dL/d(out), and of the result itself.
inline constexpr int kGradientOfOut = -2, kResultCell = -3;

/// How a factor came about, where it is not simply another cell: a formula as it stands ("1 / H"),
/// or a text of the interface for what is said in words.
struct TermNote : Message {
  TermNote() = default;
  TermNote(Message words) : Message(std::move(words)) {}
  TermNote(const char* formula) : Message(Message::of(formula)) {}
  TermNote(std::string formula) : Message(Message::of(std::move(formula))) {}
};

/// One addend of a cell: value × factor. `cell` holds the value; `factor_cells` name where the
/// factor came from (k when q × k), if it came from cells.
struct OpTerm {
  InputCell cell;
  double value = 0;
  double factor = 1;
  std::vector<InputCell> factor_cells;
  TermNote note = {};
  std::optional<double> inner =
      std::nullopt;  // what the cell became on the way, where that is not a product: exp(x − max)
  MathLine written = {};  // the factor, where it is made of numbers: tanh(q + k)
};

/// A number on the way to a cell that is not itself a cell: a row maximum, a mean.
struct Quantity {
  std::string name;
  double value = 0;
  bool names_outcome = false;  // an id of the vocabulary, or the number of a class
};

struct OpExplanation {
  std::vector<OpTerm> terms;  // they add up to the cell
  std::vector<Quantity> quantities;
  // In letters: "Σ_d [[x0]][i, d] · [[x1]][j, d]", where [[x0]] stands for the symbol of the first
  // input, [[d]] for that of the result's gradient. A caller knows which tensors those are.
  std::string formula;
  MathLine written = {};        // the cell with its numbers; empty: the sum of its terms says it
  std::string_view why = {};    // id of the text that says why nothing adds up to it
  std::int64_t divided_by = 1;  // each term's factor is its factor cell's number over this
  bool in_letters = true;       // do the symbols of its cells say what is multiplied?
};

/// One number for each cell of a row, on the way from the operand's row to the result's.
struct RowLine {
  std::string_view id;  // "x", "exp": what a person reads is said in the interface's language
  std::vector<double> values;
  bool adds_up = false;  // the sum of several of them means something
  int input = -1;        // whose row they are, of an operand that is not the first
};

/// A row of the result in the making, for operations that are no plain sum of products: the numbers
/// that the whole row shares, then line by line what becomes of each cell. The first line is the
/// operand's row, the last one the result's; the others and the quantities are explain()'s.
struct OpRow {
  std::vector<Quantity> quantities;
  std::vector<RowLine> lines;
};

}  // namespace headlight
