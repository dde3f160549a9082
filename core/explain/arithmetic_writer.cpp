#include "core/explain/arithmetic_writer.h"

#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/explain/steps.h"

namespace headlight {
namespace {

// Of several heads that the tensor has on an axis, the cell's; −1 where there is none to tell.
std::int64_t head_of(const Program& program, const CellRef& cell) {
  const auto& axes = program.tensors[static_cast<std::size_t>(cell.tensor)].axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (counts_heads(axes[a].name) && axes[a].size > 1) return cell.index[a];
  }
  return -1;
}

// Does another tensor have the same symbol, for all heads side by side?
bool is_part_of_row(const Program& program, const CellRef& cell) {
  const std::string& symbol = program.tensors[static_cast<std::size_t>(cell.tensor)].symbol;
  return std::ranges::any_of(program.tensors, [&](const TensorSpec& other) {
    return other.symbol == symbol &&
           std::ranges::none_of(other.axes, [](const Axis& a) { return counts_heads(a.name); });
  });
}

}  // namespace

std::string symbol_with_head(const Program& program, const CellRef& cell, bool always) {
  const std::string& symbol = program.tensors[static_cast<std::size_t>(cell.tensor)].symbol;
  const std::int64_t head = head_of(program, cell);
  const bool needed = head >= 0 && (always || is_part_of_row(program, cell));
  return needed ? symbol + subscript(head) : symbol;
}

namespace {

bool is_negative(double x) { return x < 0 || (x == 0 && std::signbit(x)); }

// Which axis a sum runs along: the one whose index differs between two cells of one tensor.
int summed_axis(const CellRef& a, const CellRef& b) {
  for (std::size_t i = 0; a.tensor == b.tensor && i < a.index.size(); ++i) {
    if (a.index[i] != b.index[i]) return static_cast<int>(i);
  }
  return -1;
}

// x(“it”) · W(3) says a row times a column: that one labelled index runs, and in step where both
// count places. A convolution's sum runs over the window's rows as well, and its weights' gradient
// pairs each row with another one; such a sum is told in numbers alone.
bool is_row_times_column(const Trace& trace, const Explanation& e) {
  const Term& first = e.terms[0];
  const auto axes = [&](const CellRef& cell) -> const std::vector<Axis>& {
    return trace.program().tensors[static_cast<std::size_t>(cell.tensor)].axes;
  };
  const auto has_label = [](const Axis& a) { return a.name != "batch" && !counts_heads(a.name); };
  std::vector<int> runs(1 + first.factor_cells.size(), -1);
  const auto runs_alone = [&](const CellRef& a, const CellRef& b, int& run) {
    for (std::size_t i = 0; i < a.index.size(); ++i) {
      if (a.index[i] == b.index[i] || !has_label(axes(a)[i])) continue;
      if (run >= 0 && run != static_cast<int>(i)) return false;
      run = static_cast<int>(i);
    }
    return true;
  };
  for (const Term& t : e.terms) {
    if (t.cell.tensor != first.cell.tensor || t.factor_cells.size() != first.factor_cells.size())
      continue;  // the bias
    if (!runs_alone(first.cell, t.cell, runs[0])) return false;
    for (std::size_t f = 0; f < t.factor_cells.size(); ++f) {
      const CellRef& factor = t.factor_cells[f];
      if (!runs_alone(first.factor_cells[f], factor, runs[f + 1])) return false;
      if (runs[0] < 0 || runs[f + 1] < 0) continue;
      const std::size_t mine = place(runs[0]), its = place(runs[f + 1]);
      const bool places =
          names_places(axes(t.cell)[mine].name) && names_places(axes(factor)[its].name);
      if (places && t.cell.index[mine] != factor.index[its]) return false;
    }
  }
  return true;
}

// The number asked for stands in a row of all heads and is made of one head's: the line says whose.
// A sum over the heads (z · W_O) is of none.
bool is_of_one_head(const Program& program, const Explanation& e) {
  if (head_of(program, e.cell) >= 0) return false;
  std::int64_t one = -1;
  const auto differs = [&](const CellRef& cell) {
    const std::int64_t head = cell.tensor < 0 ? -1 : head_of(program, cell);
    if (one < 0) one = head;
    return head >= 0 && head != one;
  };
  return std::ranges::none_of(e.terms, [&](const Term& t) {
    return differs(t.cell) || std::ranges::any_of(t.factor_cells, differs);
  });
}

// q(“it”): the symbol of the cell's tensor and what tells its row or column from others.
std::string symbol_of(const Trace& trace, const Explanation& e, const CellRef& cell, int skip,
                      const MathWriter& w) {
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(cell.tensor)];
  std::vector<std::string> labels;
  std::vector<bool> is_token;
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    const std::string& axis = spec.axes[a].name;
    if (axis == "batch" || counts_heads(axis) || static_cast<int>(a) == skip) continue;
    labels.push_back(trace.name(axis, cell.index[a]));
    is_token.push_back(names_places(axis));
  }
  const Program& program = trace.program();
  return w.symbol(symbol_with_head(program, cell, is_of_one_head(program, e)), labels, is_token);
}

bool is_plain(const Term& t) { return t.factor == 1 && t.factor_cells.empty(); }

// "q(“it”) · k(“animal”) + b(3)" of a sum along an axis.
std::string sum_in_letters(const Trace& trace, const Explanation& e, const MathWriter& w) {
  const Term& first = e.terms[0];
  const bool along = e.terms.size() > 1 && e.terms[1].cell.tensor == first.cell.tensor;
  const auto skip = [&](const CellRef& cell, std::size_t f) {
    return along ? summed_axis(cell, e.terms[1].factor_cells[f]) : -1;
  };
  std::string text =
      symbol_of(trace, e, first.cell, along ? summed_axis(first.cell, e.terms[1].cell) : -1, w);
  if (first.factor_cells.size() == 1) {
    const CellRef& f = first.factor_cells[0];
    text += w.dot() + symbol_of(trace, e, f, skip(f, 0), w);
  } else if (first.factor_cells.size() == 2) {  // v · tanh(q + k)
    const std::string name = first.note.plain.substr(0, first.note.plain.find('('));
    const CellRef &a = first.factor_cells[0], &b = first.factor_cells[1];
    text += w.dot() + w.function(name) + "(" + symbol_of(trace, e, a, skip(a, 0), w) + " + " +
            symbol_of(trace, e, b, skip(b, 1), w) + ")";
  }
  if (e.divided_by != 1) text += " / " + std::to_string(e.divided_by);
  const Term& last = e.terms.back();
  if (e.terms.size() > 1 && is_plain(last) && last.cell.tensor >= 0) {
    text += " + " + symbol_of(trace, e, last.cell, -1, w);
  }
  return text;
}

// A number of the line that stands behind an operator and is negative needs brackets.
std::string line_text(const MathLine& line, const MathWriter& w) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const MathPiece& piece = line[i];
    if (!piece.number) {
      text += w.literal(piece);
      continue;
    }
    const std::string_view before = i > 0 ? std::string_view(line[i - 1].text) : "";
    const bool behind = before.ends_with(" + ") || before.ends_with("\u2212 ") ||
                        before.ends_with(" × ") || before.ends_with(" / ");
    text += behind ? w.guarded(*piece.number) : w.number(*piece.number);
  }
  return text;
}

// A product; in brackets beside others.
std::string term_text(const Term& t, bool alone, const MathWriter& w) {
  if (is_plain(t)) return w.guarded(t.value);
  const std::string factor = t.written.empty() ? w.guarded(t.factor) : line_text(t.written, w);
  const std::string product = w.number(t.value) + w.times() + factor;
  return alone ? product : "(" + product + ")";
}

std::string sum_in_numbers(const Explanation& e, const MathWriter& w, std::size_t most) {
  const std::vector<std::size_t> order = by_size(e.terms);
  // One left out would take as much room as the words for it.
  const bool all = most >= order.size() || most + 1 == order.size();
  std::size_t shown = all ? order.size() : most;
  while (!all && shown > 1 && e.terms[order[shown - 1]].product() == 0) --shown;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i ? w.plus(i) : "") + term_text(e.terms[order[i]], order.size() == 1, w);
  }
  if (shown == order.size()) return text;
  double rest = 0;
  for (std::size_t i = shown; i < order.size(); ++i) rest += e.terms[order[i]].product();
  return text + w.plus(shown) + w.rest(order.size() - shown, rest);
}

}  // namespace

std::string written_line(const Explanation& e, const MathWriter& w) {
  return line_text(e.written, w);
}

std::string write_arithmetic(const Trace& trace, const Explanation& e, const MathWriter& w,
                             std::size_t most) {
  if (e.terms.empty() && e.written.empty()) return "";
  const std::string result = w.equals() + w.result(e.value);
  if (!e.written.empty()) return written_line(e, w) + result;
  const bool moved = e.terms.size() == 1 && e.terms[0].factor == 1;
  if (moved) return symbol_of(trace, e, e.terms[0].cell, -1, w) + result;
  const bool lettered = e.in_letters && is_row_times_column(trace, e);
  const std::string letters = lettered ? sum_in_letters(trace, e, w) + w.equals() : "";
  return letters + sum_in_numbers(e, w, most) + result;
}

std::string PlainWriter::number(double value) const {
  if (style_.fine && style_.digits > 0) return fine_number(value, style_.digits);
  return style_.digits > 0 ? number_text(value, style_.digits) : all_digits(value);
}

std::string PlainWriter::result(double value) const {
  LineStyle style = style_;
  style.digits = result_digits_;
  return PlainWriter(style).number(value);
}

std::string PlainWriter::guarded(double value) const {
  return is_negative(value) ? "(" + number(value) + ")" : number(value);
}

std::string PlainWriter::symbol(std::string_view symbol, const std::vector<std::string>& labels,
                                const std::vector<bool>& is_token) const {
  std::string text(symbol);
  if (labels.empty()) return text;
  text += "(";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i) text += ", ";
    text += is_token[i] ? "\u201c" + style_.label(labels[i]) + "\u201d" : labels[i];
  }
  return text + ")";
}

std::string PlainWriter::rest(std::size_t count, double sum) const {
  return tr(style_.language, "inspector.line_rest",
            {{"n", std::to_string(count)}, {"sum", guarded(sum)}});
}

}  // namespace headlight
