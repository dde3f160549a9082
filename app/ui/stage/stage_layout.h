// Where the matrices of a step stand: pure arithmetic, tested without a window.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "app/ui/kit/ui.h"
#include "app/ui/matrix/axis_view.h"
#include "core/view/pane_layout.h"

namespace headlight {

/// The axes of a page that can be zoomed into, each once for all panes that have it.
enum class PageAxis { kRows, kColumns, kInner };

struct PlacedPane {
  const PagePane* pane = nullptr;
  Rect rect;                     // the pixels that show cells
  float cell_w = 0, cell_h = 0;  // as they are shown
  AxisWindow rows, columns;      // which cells are shown where
  PageAxis row_axis = PageAxis::kRows, column_axis = PageAxis::kColumns;
  bool row_labels = false, column_labels = false;
  bool head_numbers = true;     // over the bands of the heads
  bool caption_beside = false;  // right of it, where what stands below follows closely
  // The row that has its name marked though the pane shows nothing of the cell: another head does.
  // The column of the chosen cell, where no column of the result leads to it.
  std::optional<std::int64_t> named_row = std::nullopt, named_column = std::nullopt;
  float label_room = 0;    // how wide the names of its rows may be
  float caption_room = 0;  // how wide the caption may be; 0: any width
  int brevity = 0;         // the caption leaves out at least so much; see caption_brevity()
  std::string range;       // what its colours span, where the pictures of the page differ: "±3.96"
  std::string span;        // and of one head, whose range that is: ", all heads"

  /// Where cell (r, c) stands; parts beyond `rect` are not seen.
  Rect cell_rect(std::int64_t r, std::int64_t c) const {
    return {columns.edge(c), rows.edge(r), columns.edge(c + 1), rows.edge(r + 1)};
  }
  /// The cell at a point of the window: row, column.
  std::optional<std::pair<std::int64_t, std::int64_t>> cell_at(ImVec2 at) const {
    const auto r = rows.at(at.y), c = columns.at(at.x);
    if (!r || !c) return std::nullopt;
    return std::pair{*r, *c};
  }
  bool sees_all() const { return rows.sees_all() && columns.sees_all(); }
};

/// An axis of the page as its first pane shows it.
struct PlacedAxis {
  AxisWindow whole, now;
  std::string_view kind;
  float most = 1;  // how many times larger its cells can become; 1: they are roomy already
};

struct PlacedSign {
  float x = 0, y = 0;  // centre
  std::string_view text;
  bool arrow = false;  // StepPage::arrow stands over and under it
};

struct StagePlacement {
  std::vector<PlacedPane> panes;
  std::vector<PlacedSign> signs;
  std::array<PlacedAxis, 3> axes;  // by PageAxis; count 0 where the page has none

  const PlacedAxis& axis(PageAxis a) const { return axes[static_cast<std::size_t>(a)]; }
  bool can_zoom() const;
  bool sees_all() const;
};

struct StageMeasures {
  float row_label_width = 60;      // room for token labels left of a matrix
  float column_label_height = 50;  // room for slanted labels above
  float side_caption = 90;         // room for "W_Q (64 × 16)" right of the upper operand
  float caption_height = 20, gap = 14, max_cell = 30, square_cell = 34;
  float arrow_width = 0;     // of StepPage::arrow
  float band_height = 0;     // over columns that belong to heads
  float between_width = 34;  // between an operand and the next pane
};

/// `unit` is the size of one design pixel. All is seen whole.
StagePlacement place_page(const StepPage&, const Rect& area, const StageMeasures&, float unit);

/// Shows the part of the page that the view asks for, in the places that the whole page had. Rows
/// stay beside rows and columns below columns, since every pane that has an axis shows the same
/// part of it.
void apply_view(StagePlacement&, const StepPage&, const StageView&, float unit);

inline AxisView& part(StageView& view, PageAxis a) {
  return a == PageAxis::kRows ? view.rows : a == PageAxis::kColumns ? view.columns : view.inner;
}
inline const AxisView& part(const StageView& view, PageAxis a) {
  return a == PageAxis::kRows ? view.rows : a == PageAxis::kColumns ? view.columns : view.inner;
}

/// What the detail of a page needs, in screen pixels; a width or height of 0: it cannot
/// stand there at all.
struct DetailNeed {
  float beside_width = 0, beside_height = 0;  // right of the matrices
  float band_width = 0, band_height = 0;      // below them
  float least = 0.5f;    // smaller than this part of what they were the cells must not become
  float most_width = 0;  // below them: no wider than this; 0: as wide as there is room
};

struct StageSplit {
  Rect matrices, detail;
  bool shows_detail = false;
};

/// The place of a detail below the matrices, close to them where these leave room.
Rect below_matrices(const StagePlacement&, const Rect& detail, const StageMeasures&,
                    const DetailNeed&, float unit);

/// Gives the detail its place beside or below the matrices, where it costs them less; it
/// folds away where they would become too small.
StageSplit split_stage(const StepPage&, const Rect& area, const StageMeasures&, const DetailNeed&,
                       float unit);

}  // namespace headlight
