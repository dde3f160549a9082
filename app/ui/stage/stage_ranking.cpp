// The largest cells of a row as ranked bars: what the model expects next, and how surely.
#include <algorithm>
#include <cmath>

#include "app/ui/matrix/pane_view.h"
#include "app/ui/stage/stage_view.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr std::size_t kMax = 10;

float line_height(const Ui& ui) { return ui.px(17); }
float title_height(const Ui& ui) { return ui.px(24); }
float list_width(const Ui& ui) { return ui.px(236); }

std::size_t ranked(const Pane& pane) {
  return std::min(kMax, static_cast<std::size_t>(pane.columns));
}

}  // namespace

DetailNeed ranking_need(const Ui& ui, const Pane& pane) {
  const bool rest = static_cast<std::size_t>(pane.columns) > kMax;
  const auto lines = static_cast<float>(ranked(pane) + rest);
  DetailNeed need;
  need.beside_width = list_width(ui);
  need.beside_height = title_height(ui) + lines * line_height(ui);
  need.band_width = list_width(ui);
  need.band_height = title_height(ui) + 4 * line_height(ui);
  return need;
}

std::optional<CellPick> draw_ranking(const AppState& state, Ui& ui, const Rect& r,
                                     const PagePane& p, ChosenCell cell) {
  const Trace& trace = *state.derived.trace;
  const TensorView t = trace.tensor(p.tensor);
  const float line = line_height(ui);
  const auto lines =
      static_cast<std::size_t>(std::max(1.0f, (r.height() - title_height(ui)) / line));
  const auto lists = static_cast<std::size_t>(std::max(1.0f, r.width() / list_width(ui)));
  const std::size_t room = lines * lists;
  const auto vocab = static_cast<std::size_t>(p.pane.columns);
  // The last place says what is left out.
  const std::size_t count = std::min({kMax, vocab, room >= vocab ? vocab : room - 1});
  const Ranking ranking = rank_row(t, p.pane, cell.row, count);
  // Beside the matrices the list stands as high as they do, in the middle.
  const auto used = static_cast<float>(std::min(lines, count + (ranking.rest > 0)));
  const float spare = r.height() - title_height(ui) - used * line;
  const float y0 = r.y0 + (lists == 1 ? std::max(0.0f, spare * 0.4f) : 0);
  const Program& program = trace.program();
  const Role role = program.tensors[static_cast<std::size_t>(p.tensor)].role;
  const bool beside_class = role == Role::kTokenLogits || role == Role::kTokenProbabilities;
  const bool in_place = program.shape.in_place || beside_class;
  const std::string title = ui.tr(in_place ? "stage.ranking.in_place" : "stage.ranking",
                                  {{"token", token_label(trace.name(p.pane.row_axis, cell.row))}});
  ui.user_text(ui.fonts.strong, {r.x0, y0}, ui.theme.text, title, r.width());

  const bool weights = shows_weights(trace.program(), p.tensor);
  float largest = 0;
  const auto value = [&](std::int64_t c) { return t.data[pane_flat(p.pane, cell.row, c)]; };
  for (const std::int64_t c : ranking.columns) {
    if (std::isfinite(value(c))) largest = std::max(largest, std::fabs(value(c)));
  }
  const auto place = [&](std::size_t i) {
    return ImVec2{r.x0 + list_width(ui) * static_cast<float>(i / lines),
                  y0 + title_height(ui) + line * static_cast<float>(i % lines)};
  };
  const float name = ui.px(84), bar = ui.px(54);
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::optional<CellPick> hovered;
  for (std::size_t i = 0; i < ranking.columns.size(); ++i) {
    const std::int64_t c = ranking.columns[i];
    const float x = value(c);
    const ImVec2 at = place(i);
    const Rect row{at.x, at.y, at.x + list_width(ui) - ui.px(14), at.y + line};
    bool over = false;
    const CellPick pick{std::string(t.name), unravel(t.axes, pane_flat(p.pane, cell.row, c))};
    if (ui.hot("rank/" + std::to_string(c), row, &over)) ui.push(PickCell{pick});
    if (over) hovered = pick;
    const bool chosen = c == cell.column;
    if (over || chosen) {
      list->AddRectFilled({row.x0 - ui.px(4), row.y0}, row.max(), to_u32(ui.theme.selection),
                          ui.px(3));
    }
    ui.user_text(chosen ? ui.fonts.strong : ui.fonts.control, at, ui.theme.text,
                 token_label(trace.name("vocab", c)), name - ui.px(8));
    if (std::isfinite(x) && largest > 0) {
      const Color color = weights ? ui.theme.pattern
                          : x < 0 ? ui.theme.negative
                                  : ui.theme.positive;
      const float left = at.x + name;
      ui.bar({left, at.y + ui.px(3), left + bar, at.y + line - ui.px(4)}, std::fabs(x) / largest,
             color);
    }
    ui.text_right(ui.fonts.mono_small, row.x1 - ui.px(2), at.y + ui.px(2),
                  std::isnan(x) ? ui.theme.error : ui.theme.text, number_text(x, 4));
  }
  if (ranking.rest > 0) {
    const ImVec2 at = place(ranking.columns.size());
    ui.text(ui.fonts.note, {at.x, at.y + ui.px(1)}, ui.theme.muted,
            ui.tr("stage.more", {{"n", count_text(ranking.rest)}}));
    const std::string rest = weights
                                 ? "Σ " + number_text(ranking.rest_sum, 4)
                                 : "≤ " + number_text(static_cast<double>(ranking.rest_largest), 4);
    ui.text_right(ui.fonts.mono_small, at.x + list_width(ui) - ui.px(16), at.y + ui.px(2),
                  ui.theme.muted, rest);
  }
  return hovered;
}

}  // namespace headlight
