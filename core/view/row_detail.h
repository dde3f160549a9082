// The row of a step's result in the making, and its largest cells: what a page opens up beside its
// matrices. All numbers are the trace's or explain()'s.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/view/pane_layout.h"

namespace headlight {

/// A row of a pane of the step's first operation, and the cell of it that is looked at.
struct RowDetail {
  OpRow row;
  TensorId result = -1;
  std::vector<TensorId> tensors;    // whose row each line is; -1: of none
  std::string_view axis;            // of the row's cells
  std::string_view row_axis;        // of `position`
  std::int64_t position = 0;        // of the row
  std::int64_t chosen = 0;          // along the axis
  std::vector<std::int64_t> index;  // the chosen cell, in full
};

/// What opens up on the step's page; kNothing for the tokens.
Detail step_detail(const Trace&, const Step&);

/// The row that holds cell (row, column) of the page's result for this head. Nothing where the
/// operation has no open_row.
std::optional<RowDetail> open_row(const Trace&, const Step&, std::int64_t head, std::int64_t row,
                                  std::int64_t column);

/// A column of the page's result (Detail::kColumns) from its first row to that of `rows`, as the
/// operation would make it for so many: at each of them and `parts` − 1 times in between.
std::vector<double> open_column(const Trace&, const Step&, std::int64_t column, std::int64_t rows,
                                std::int64_t parts);

/// The row that holds this cell, in the making; nothing where no operation made it or the page of
/// that opens no rows (Detail::kRow).
std::optional<OpRow> row_of(const Trace&, TensorId, const std::vector<std::int64_t>& index);

/// A pair of a row's numbers as an arrow on two axes, before the operation and after it.
struct TurnedPair {
  OpPair pair;
  std::array<double, 2> before = {}, after = {};  // along the first's axis, along the second's
};

/// The pairs of this row of the page's result; none where the operation turns none.
std::vector<TurnedPair> open_pairs(const Trace&, const Step&, const StepPage&, std::int64_t row);

/// The largest cells of a row of a pane, largest first; NaN stands before all numbers.
struct Ranking {
  std::vector<std::int64_t> columns;  // the first `count` of them
  std::int64_t rest = 0;              // how many more there are
  double rest_sum = 0;
  float rest_largest = 0;
};
Ranking rank_row(const TensorView&, const Pane&, std::int64_t row, std::size_t count);

/// Which columns of a row are shown where only `count` find room, in ascending order: the largest
/// of `values` when `largest`, the page of `count` that holds `chosen` otherwise; `chosen` is
/// always among them.
std::vector<std::int64_t> shown_columns(const std::vector<double>& values, std::int64_t chosen,
                                        std::size_t count, bool largest);

}  // namespace headlight
