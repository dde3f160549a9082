// Of a classifier: which classes the validation examples were taken for at the shown step.
#include <algorithm>
#include <numeric>

#include "app/ui/matrix/place_words.h"
#include "app/ui/train/panel_train.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

// The last measurement up to a step that has a matrix; null where there is none.
const ValidationPoint* measured_at(const RunView& run, std::int64_t step) {
  const ValidationPoint* found = nullptr;
  for (const ValidationPoint& point : run.validation) {
    if (point.step > step && found) break;
    if (!point.confusion.empty()) found = &point;
  }
  return found;
}

struct Matrix {
  std::span<const std::int64_t> counts;
  std::vector<std::string> names;  // as they are shown
  std::size_t size() const { return names.size(); }
  std::int64_t at(std::size_t is, std::size_t taken) const { return counts[is * size() + taken]; }
  std::int64_t row(std::size_t is) const {
    const auto cells = counts.subspan(is * size(), size());
    return std::accumulate(cells.begin(), cells.end(), std::int64_t{0});
  }
};

// A line for each class that rows are of, a column for each that they are taken for.
void draw_cells(Ui& ui, const Matrix& m, const Rect& r) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float wide = r.width() / static_cast<float>(m.size());
  const float tall = r.height() / static_cast<float>(m.size());
  const bool roomy = wide > ui.measure(ui.fonts.mono_small, "1,000").x;
  for (std::size_t is = 0; is < m.size(); ++is) {
    for (std::size_t taken = 0; taken < m.size(); ++taken) {
      const float x = r.x0 + static_cast<float>(taken) * wide;
      const float y = r.y0 + static_cast<float>(is) * tall;
      const Rect cell{x, y, x + wide - ui.px(2), y + tall - ui.px(2)};
      const std::int64_t count = m.at(is, taken), of = m.row(is);
      const double share = of > 0 ? double(count) / double(of) : 0;
      Color fill = is == taken ? ui.theme.v : ui.theme.error;
      fill.a = static_cast<float>(0.08 + 0.45 * share);
      list->AddRectFilled(cell.min(), cell.max(), to_u32(fill), ui.px(3));
      const std::string text = count_text(count);
      if (roomy) {
        const ImVec2 size = ui.measure(ui.fonts.mono, text);
        ui.text(ui.fonts.mono, {(cell.x0 + cell.x1 - size.x) / 2, (cell.y0 + cell.y1 - size.y) / 2},
                ui.theme.text, text);
      }
      bool over = false;
      ui.hot("train/confusion/" + std::to_string(is) + "," + std::to_string(taken), cell, &over);
      if (over)
        ui.tooltip(ui.tr(
            "train.confusion.cell",
            {{"is", m.names[is]}, {"taken", m.names[taken]}, {"n", text}, {"of", count_text(of)}}));
    }
  }
}

}  // namespace

float train_confusion(const AppState& state, Ui& ui, const Rect& r) {
  const RunView& run = state.train.run;
  const ValidationPoint* point = measured_at(run, shown_step(state.session.train, run));
  if (!point || !run.task) return r.y0;
  Matrix m{point->confusion, {}};
  for (std::int64_t c = 0; c < std::ssize(run.task->classes()); ++c)
    m.names.push_back(class_label(ui, run.task->classes(), c));
  const float left = r.x0 + ui.px(18), right = r.x1 - ui.px(18);
  float y = r.y0 + ui.px(10);
  ui.text(ui.fonts.strong, {left, y}, ui.theme.text, ui.tr("train.confusion"));
  y += ui.px(22);
  const std::int64_t all = std::accumulate(m.counts.begin(), m.counts.end(), std::int64_t{0});
  y += ui.wrapped(ui.fonts.note, {left, y}, right - left, ui.theme.muted,
                  ui.tr("train.confusion.about", {{"share", share_text(float(point->accuracy))},
                                                  {"n", count_text(all)},
                                                  {"step", count_text(point->step)}})) +
       ui.px(8);
  const float names = std::min(ui.px(96), (right - left) * 0.35f);
  const float tall = std::max(ui.px(24), font_size(ui.fonts.control) + ui.px(6));
  const Rect cells{left + names, y + ui.px(20), right,
                   y + ui.px(20) + tall * static_cast<float>(m.size())};
  const float wide = cells.width() / static_cast<float>(m.size());
  for (std::size_t c = 0; c < m.size(); ++c) {
    const std::string& name = m.names[c];
    ui.user_text(ui.fonts.control, {left, cells.y0 + static_cast<float>(c) * tall + ui.px(3)},
                 ui.theme.text, name, names - ui.px(8));
    // Narrow columns are named by the lines, which are in the same order.
    if (wide > ui.px(36))
      ui.user_text(ui.fonts.note, {cells.x0 + static_cast<float>(c) * wide, y}, ui.theme.muted,
                   name, wide - ui.px(4));
  }
  draw_cells(ui, m, cells);
  ui.drawn.add("label/train/confusion", cells.min(), cells.max());
  y = cells.y1 + ui.px(8);
  ImGui::GetWindowDrawList()->AddLine({r.x0, y}, {r.x1, y}, to_u32(ui.theme.line));
  return y;
}

}  // namespace headlight
