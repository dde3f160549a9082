#include "core/explain/origin.h"

#include <cmath>

namespace headlight {
namespace {

double value_at(const Trace& trace, const CellRef& cell) {
  return trace.tensor(cell.tensor).at(cell.index);
}

// The first cell among those of the terms, values before factors, for which `bad` holds.
std::optional<CellRef> first_bad(const Trace& trace, const Explanation& e, bool (*bad)(double)) {
  for (const Term& term : e.terms) {
    if (term.cell.tensor >= 0 && bad(term.value)) return term.cell;
    for (const CellRef& factor : term.factor_cells) {
      if (bad(value_at(trace, factor))) return factor;
    }
  }
  return std::nullopt;
}

bool is_nan(double x) { return std::isnan(x); }
bool is_infinite(double x) { return std::isinf(x); }

}  // namespace

std::optional<CellRef> special_origin(const Trace& trace, const CellRef& cell) {
  if (std::isfinite(value_at(trace, cell))) return std::nullopt;
  CellRef now = cell;
  // Every step goes to an earlier operation, so there are at most as many as operations.
  for (std::size_t i = 0; i <= trace.program().calls.size(); ++i) {
    const Explanation e = explain(trace, now.tensor, now.index);
    std::optional<CellRef> next = first_bad(trace, e, is_nan);
    if (!next) next = first_bad(trace, e, is_infinite);
    if (!next) break;
    now = *next;
  }
  return now;
}

}  // namespace headlight
