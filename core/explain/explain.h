// explain: a cell -> how it was made, with its real numbers. The terms add up to the cell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/message.h"
#include "core/run/trace.h"

namespace headlight {

/// A cell of a tensor of the trace.
struct CellRef {
  TensorId tensor = -1;  // -1: a constant, no cell
  std::vector<std::int64_t> index;
  bool operator==(const CellRef&) const = default;
};

/// One addend: value × factor.
struct Term {
  CellRef cell;
  double value = 0;
  double factor = 1;
  std::vector<CellRef> factor_cells;
  TermNote note;  // see OpTerm, as the next two
  std::optional<double> inner = std::nullopt;
  MathLine written = {};
  // Of a gradient through a call that reads the tensor twice: it came through the second of them.
  bool of_second = false;
  double product() const { return value * factor; }
};

struct Explanation {
  CellRef cell;
  double value = 0;
  std::string operation;  // "scores", or "input" and "parameter", which have no terms
  std::string phrase;     // "query times key, summed"
  std::string formula;
  std::vector<Quantity> quantities;
  std::vector<Term> terms;
  MathLine written = {};            // see OpExplanation
  std::int64_t divided_by = 1;      // the same
  bool in_letters = true;           // do letters say what is multiplied?
  std::vector<Message> notes = {};  // what the formula does not say: why it is 0, who adds to it
  double sum() const;
};

/// How the cell of the trace at `index` (batch axis included) was made. Throws UsageError when the
/// index does not fit the tensor: it says the shape and which number is out of range.
Explanation explain(const Trace&, TensorId tensor, const std::vector<std::int64_t>& index);

/// Places of the terms, largest |value × factor| first.
std::vector<std::size_t> by_size(const std::vector<Term>& terms);

/// "q[head 0, it, 3]": the cell with its axes' tick labels; the batch axis is left out when its
/// size is 1.
std::string cell_text(const Trace&, const CellRef&);

/// The cells that the factor is made of, each as cell_text(); of several that follow each other in
/// a row one text: "q[head 0, it, 0 … 15]".
std::vector<std::string> factor_texts(const Trace&, const Term&);

/// An index as the person gives it, the batch axis left out when its size is 1, brought to the
/// tensor's full index. Throws UsageError.
std::vector<std::int64_t> full_index(const Trace&, TensorId, const std::vector<std::int64_t>&);

/// Without the batch axis when its size is 1: how axes and indices are shown and exported.
std::vector<Axis> shown_axes(std::span<const Axis>);

}  // namespace headlight
