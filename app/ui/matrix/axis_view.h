// One axis of a matrix on the screen, whole or zoomed into: which pixel shows which cell, and how
// the wheel and the mouse move it. Pure arithmetic, tested without a window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/ui/state/state.h"

namespace headlight {

/// Cells along pixels: pixel x shows cell (x − origin) / cell + first.
struct AxisWindow {
  float origin = 0, length = 0;  // pixels that show cells
  float cell = 0;                // pixels a cell
  float first = 0;               // the cell at the origin, with its fraction
  std::int64_t count = 0;        // cells of the axis

  /// Where cell `i` begins; outside of the window for cells that are not seen.
  float edge(std::int64_t i) const { return origin + (static_cast<float>(i) - first) * cell; }
  float center(std::int64_t i) const { return edge(i) + cell / 2; }
  /// The cell at a pixel; none outside of the window.
  std::optional<std::int64_t> at(float pixel) const;
  /// The cells that are seen, wholly or in part: begin() <= i < end().
  std::int64_t begin() const;
  std::int64_t end() const;
  bool sees(std::int64_t i) const { return i >= begin() && i < end(); }
  bool sees_all() const { return cell * static_cast<float>(count) <= length + 0.5f; }
};

/// Axes of one kind keep their view from page to page: tokens, as queries, keys or positions, are
/// one kind, every other axis its own.
std::string_view axis_kind(std::string_view axis);

/// The part of `whole` (an axis that is seen whole) that a view shows, on the same pixels. Cells
/// grow to whole pixels, `most` times at most.
AxisWindow look_at(const AxisWindow& whole, std::string_view kind, const AxisView&, float most);

/// The view with `factor` times larger cells, so that the cell at pixel `about` stays there.
AxisView zoomed(const AxisWindow& whole, std::string_view kind, const AxisView&, float most,
                float factor, float about);

/// The view after the cells have been moved by `pixels`.
AxisView moved(const AxisWindow& whole, std::string_view kind, const AxisView&, float most,
               float pixels);

}  // namespace headlight
