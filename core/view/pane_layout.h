// A step as a page: which matrices a person sees, and how their cells belong together. Made from
// what each operation says of itself, so that a new operation needs nothing here.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/run/trace.h"

namespace headlight {

struct PagePane {
  Pane pane;
  TensorId tensor = -1;
  int sum = -1;         // the call whose terms and sum these are, whose pictures share one range
  bool amounts = true;  // its cells are numbers that colours measure, not ids, targets, a mask
  bool alone = false;   // has its own range where others are shared; see free_faint_panes()
};

struct StepPage {
  Layout layout = Layout::kRow;
  std::string_view sign;
  std::vector<std::string> arrow;  // what stands over and under the arrow to the result
  std::vector<std::vector<PagePane>>
      lines;                  // one per operation of the step; the result stands last
  std::int64_t kv_heads = 0;  // heads of keys or values that heads of queries share; 0: none
  std::int64_t tokens = 0;    // of the tokens' page, which has no lines: how many
  bool backward = false;      // the gradients of the step's tensors, which go from the result back
};

/// The page of a step for one head. The tokens' page has no lines.
StepPage step_page(const Trace&, const Step&, std::int64_t head);

/// Where cell (r, c) of the pane lies behind its first one.
inline std::int64_t pane_step(const Pane& p, std::int64_t r, std::int64_t c) {
  if (p.head_stride == 0) return r * p.row_stride + c * p.column_stride;
  return c / p.head_columns * p.head_stride + r * p.row_stride +
         c % p.head_columns * p.column_stride;
}
/// The same in its tensor.
inline std::int64_t pane_flat(const Pane& p, std::int64_t r, std::int64_t c) {
  return p.offset + pane_step(p, r, c);
}
/// The columns of the pane's `i`th head as a pane of their own; of a pane without a head_stride
/// itself.
Pane head_part(const Pane&, std::int64_t i);
inline std::int64_t head_parts(const Pane& p) {
  return p.head_stride == 0 ? 1 : p.columns / p.head_columns;
}

/// Which cell of the pane shows this place of the tensor, if it does.
std::optional<std::pair<std::int64_t, std::int64_t>> pane_place(const Pane&, std::int64_t flat);

/// Are the rows of this pane a table's, of which each token picks one?
inline bool picks_rows(const Pane& p) {
  return p.row_follow == Follow::kTokenId || p.row_follow == Follow::kSourceId ||
         p.row_follow == Follow::kSegmentId;
}
/// The ids of the tokens that pick them; null where no token does.
const std::vector<int>* ids_of(const Trace&, const Pane&);

/// Rows and columns of a page that belong to the result's cell (row, column).
struct CellLink {
  std::optional<std::int64_t> row, column;
};

/// Which row of `to` is that of the token whose row of `from` has this cell; none where the two
/// have not rows of the same tokens (the sentence's, the source's).
std::optional<std::int64_t> same_row(const TensorView& from, std::span<const std::int64_t> index,
                                     const TensorView& to);

/// Which row and column of the result follow from looking at cell (r, c) of a pane.
CellLink link_from(const Trace&, const PagePane&, std::int64_t r, std::int64_t c);

/// What to light up in a pane: a row, a column, or (both set) one cell.
CellLink link_to(const Trace&, const PagePane&, const CellLink& result);

/// Numbers between 0 and 1 that are coloured as weights; all else is signed.
bool shows_weights(const Program&, TensorId);
/// Does each of its rows add up to 1, unless there is nothing to weigh?
bool is_distribution(const Program&, TensorId);

/// The range that colours the pane like its siblings: of weights 0 to 1; of a sum and its terms
/// what all of them span; of all else what the tensor spans, every head included.
CellRange shared_range(const Trace&, const PagePane&);
/// The range of this matrix alone; of weights 0 to the largest.
CellRange own_range(const Trace&, const PagePane&);

/// Does the pane show one head of several, whose shared range spans all of them?
bool shows_one_head(const Trace&, const PagePane&);
/// Leaves a head its own range whose largest number is below a tenth of the other heads': in their
/// range it would be an empty picture.
void free_faint_panes(const Trace&, StepPage&);

/// What a page's motion makes: its results; of a step that goes backwards the gradients that it
/// passes on.
bool is_made(const StepPage&, const Program&, const PagePane&);

/// The tensor whose cell is looked at first: the page's result, or what goes back first.
TensorId default_tensor(const Trace&, const Step&, const StepPage&);

/// The cell of it that is most worth looking at: the strongest of the last query's row (or of the
/// row given).
std::vector<std::int64_t> default_cell(const Trace&, const Step&, std::int64_t head,
                                       std::optional<std::int64_t> row);

}  // namespace headlight
