#include "app/ui/matrix/axis_view.h"

#include <algorithm>
#include <cmath>

namespace headlight {

std::optional<std::int64_t> AxisWindow::at(float pixel) const {
  if (!(pixel >= origin && pixel < origin + length) || cell <= 0) return std::nullopt;
  const auto i = static_cast<std::int64_t>(std::floor((pixel - origin) / cell + first));
  if (i < 0 || i >= count) return std::nullopt;
  return i;
}

std::int64_t AxisWindow::begin() const {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(first + 1e-3f)), 0, count);
}

std::int64_t AxisWindow::end() const {
  if (cell <= 0) return begin();
  const float last = first + length / cell;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(last - 1e-3f)), 0, count);
}

std::string_view axis_kind(std::string_view axis) {
  if ((counts_tokens(axis) && axis.starts_with("source")) || axis == "context_source")
    return "source token";
  return counts_tokens(axis) || axis == "context" ? "token" : axis;  // row t of W_pos is token t's
}

AxisWindow look_at(const AxisWindow& whole, std::string_view kind, const AxisView& view,
                   float most) {
  AxisWindow now = whole;
  if (view.kind != kind || whole.cell <= 0 || whole.count < 1) return now;
  float cell = whole.cell * std::clamp(view.zoom, 1.0f, std::max(most, 1.0f));
  // Whole pixels, so that all cells are equally wide.
  if (cell >= 3) cell = std::max(std::floor(cell), whole.cell);
  if (cell <= whole.cell) return now;
  now.cell = cell;
  const auto count = static_cast<float>(whole.count);
  const float first = std::clamp(view.start * count, 0.0f, count - now.length / cell);
  // Whole pixels here as well, so that the edges of cells are sharp.
  now.first = std::round(first * cell) / cell;
  return now;
}

AxisView zoomed(const AxisWindow& whole, std::string_view kind, const AxisView& view, float most,
                float factor, float about) {
  if (whole.cell <= 0) return view;  // there is no room for it: nothing is under the mouse
  const AxisWindow before = look_at(whole, kind, view, most);
  const float zoom = view.kind == kind ? view.zoom : 1.0f;
  // The zoom is kept without rounding, so that many small turns of a wheel add up.
  AxisView next{std::clamp(std::max(zoom, 1.0f) * factor, 1.0f, std::max(most, 1.0f)), 0,
                std::string(kind)};
  if (next.zoom <= 1) return next;
  const float from_origin = std::clamp(about - whole.origin, 0.0f, whole.length);
  const float under = before.first + from_origin / before.cell;
  const AxisWindow after = look_at(whole, kind, next, most);
  const auto count = static_cast<float>(whole.count);
  next.start = std::clamp(under - from_origin / after.cell, 0.0f,
                          std::max(count - after.length / after.cell, 0.0f)) /
               count;
  return next;
}

AxisView moved(const AxisWindow& whole, std::string_view kind, const AxisView& view, float most,
               float pixels) {
  const AxisWindow now = look_at(whole, kind, view, most);
  if (whole.cell <= 0 || now.sees_all()) return view;
  const auto count = static_cast<float>(whole.count);
  AxisView next = view;
  next.start =
      std::clamp(now.first - pixels / now.cell, 0.0f, count - now.length / now.cell) / count;
  return next;
}

}  // namespace headlight
