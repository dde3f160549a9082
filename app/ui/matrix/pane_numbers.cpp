// The numbers in a pane's cells, where these are large enough.
#include <algorithm>
#include <cmath>

#include "app/ui/matrix/pane_view.h"
#include "app/ui/matrix/place_words.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr std::int64_t kMostNumbers = 8000;  // at once

// Ids, counts and masks are whole numbers, and written so.
bool all_whole(const PlacedPane& p, const float* data) {
  const Pane& pane = p.pane->pane;
  for (std::int64_t r = p.rows.begin(); r < p.rows.end(); ++r) {
    for (std::int64_t c = p.columns.begin(); c < p.columns.end(); ++c) {
      const float value = data[pane_step(pane, r, c)];
      if (std::isfinite(value) && (std::floor(value) != value || std::fabs(value) >= 1e4f))
        return false;
    }
  }
  return true;
}

CellFormat whole_format(const CellRange& range, int room) {
  using Kind = CellFormat::Kind;
  const CellFormat whole{Kind::kWhole, 0, 0};
  for (const float end : {range.lowest, range.highest}) {
    const std::string words = cell_number(end, whole);
    if (ImTextCountCharsFromUtf8(words.data(), nullptr) > room) return {};
  }
  return whole;
}

struct CellFont {
  ImFont* font = nullptr;
  CellFormat format;
};

// The larger font, but where the smaller one has room for more digits.
CellFont fitting_font(const Ui& ui, const PlacedPane& p, const CellRange& range, bool whole) {
  CellFont best;
  for (ImFont* font : {ui.fonts.mono_small, ui.fonts.cell}) {
    if (p.cell_h < font_size(font) + ui.px(2)) continue;
    // Long numbers need more of a gap, or a row of them reads as one.
    constexpr int kShort = 5;
    const float letter = ui.measure(font, "0").x;
    const int close = static_cast<int>((p.cell_w - ui.px(3)) / letter);
    const int room =
        std::max(std::min(close, kShort), static_cast<int>((p.cell_w - ui.px(8)) / letter));
    CellFormat format = cell_format(range.lowest, range.highest, room);
    if (whole) format = whole_format(range, room);
    const bool more =
        format.kind != CellFormat::Kind::kNothing &&
        (!best.font || format.decimals > best.format.decimals ||
         (best.format.kind == CellFormat::Kind::kPower && format.kind != best.format.kind));
    if (more) best = {font, format};
  }
  return best;
}

// Targets: each cell says the token or class that it names, a dash where it names none. Rows that
// are too thin share the room as their labels do.
void draw_target_names(Ui& ui, const Trace& trace, const PlacedPane& p,
                       std::optional<std::int64_t> lit, const float* data) {
  ImFont* font = p.cell_h >= ui.px(15) ? ui.fonts.control : ui.fonts.note;
  const std::int64_t step = label_step(p.cell_h, font_size(font) * 0.92f);
  const float room = p.cell_w - ui.px(4);
  for (std::int64_t r = p.rows.begin(); r < p.rows.end(); ++r) {
    const float middle = p.rows.center(r);
    if (middle < p.rect.y0 || middle > p.rect.y1) continue;
    if (lit != r && (r % step != 0 || (lit && std::abs(*lit - r) < step))) continue;
    const float id = data[pane_step(p.pane->pane, r, 0)];
    const std::string name =
        id < 0 ? "\u2013"
               : place_label(ui, trace, trace.program().outcome_axis(), static_cast<int>(id));
    const float width = std::min(room, ui.measure(font, name).x);
    ui.user_text(font, {p.columns.center(0) - width / 2, middle - font_size(font) * 0.55f},
                 ui.theme.text, name, room);
  }
}

}  // namespace

void draw_pane_numbers(Ui& ui, const Trace& trace, const PlacedPane& p, const CellLink& lit,
                       const ColorScale& scale, const CellRange& range, const float* data) {
  const Pane& pane = p.pane->pane;
  if (range.names) return draw_target_names(ui, trace, p, lit.row, data);
  const std::int64_t seen = (p.rows.end() - p.rows.begin()) * (p.columns.end() - p.columns.begin());
  // Cells that stay empty among others would look like zeros: all have a number, or none has.
  if (p.cell_w < ui.px(12) || seen > kMostNumbers) return;
  const auto [font, format] = fitting_font(ui, p, range, all_whole(p, data));
  if (!font) return;
  const bool weights = scale.map == ColorMap::kSequential;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(p.rect.min(), p.rect.max(), true);
  for (std::int64_t r = p.rows.begin(); r < p.rows.end(); ++r) {
    for (std::int64_t c = p.columns.begin(); c < p.columns.end(); ++c) {
      const float value = data[pane_step(pane, r, c)];
      if (weights && value == 0) continue;  // an empty cell says it
      const std::string words = cell_number(value, format);
      // A small hatched cell says it already.
      if (!std::isfinite(value) && p.cell_w < ui.px(26)) continue;
      const ImVec2 size = ui.measure(font, words);
      const ImVec2 at = {p.columns.center(c) - size.x / 2, p.rows.center(r) - size.y / 2};
      const Color ink = std::isfinite(value) ? ink_on(color_at(scale, value)) : ui.theme.muted;
      list->AddText(font, drawn_size(font), {std::round(at.x), std::round(at.y)}, to_u32(ink),
                    words.data(), words.data() + words.size());
    }
  }
  list->PopClipRect();
}

}  // namespace headlight
