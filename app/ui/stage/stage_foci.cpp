// What foci look at: the sentence once for each of them, its words coloured by their weights; and
// the words in the plane of the directions that the foci look along, where there are just two.
#include <algorithm>
#include <cmath>

#include "app/ui/stage/stage_view.h"
#include "core/base/number_text.h"
#include "core/graph/step_names.h"

namespace headlight {
namespace {

float word_line(const Ui& ui) { return ui.px(22); }

// The last step of the argument: as many foci as words, whose columns of W_2 are made of the words
// themselves, and no tanh. Each word then asks a question of its own.
Config as_attention(Config c) {
  c.d_head = c.pool_width();
  c.layers = 1;
  c.attention = AttentionKind::kSingle;
  c.scores = ScoreKind::kDot;
  c.scale = c.residual = false;
  c.block = BlockKind::kAttention;
  c.pool = PoolKind::kMean;
  c.fused_attention = false;  // its scores are what is looked at
  c.softcap = 0;
  c.local_layers.clear();
  return c;
}

void attention_button(const AppState& state, Ui& ui, const Rect& r) {
  if (!state.document().model.empty() || r.height() < ui.px(28)) return;
  const std::string_view words = ui.tr("stage.foci.attend");
  const float width = std::min(ui.measure(ui.fonts.control, words).x + ui.px(22), r.width());
  const Rect button{r.x0, r.y0, r.x0 + width, r.y0 + ui.px(28)};
  if (!ui.button("stage/attend", words, button, false, true, ui.tr("stage.foci.attend.help")))
    return;
  ui.push(DoEdit{SetConfig{as_attention(state.document().config)}, ""});
  ui.push(GoToStep{scores_step(0)});
}

// Words that follow each other as in a text; `draw` is asked for each with its box.
template <class F>
float flow_words(Ui& ui, const Trace& trace, std::string_view axis, std::int64_t count,
                 const Rect& r, F&& draw) {
  ImVec2 at = r.min();
  for (std::int64_t t = 0; t < count; ++t) {
    const std::string word = token_label(trace.name(axis, t));
    const float room = r.width() - ui.px(8);
    const float width = std::min(ui.measure(ui.fonts.body, word).x, room) + ui.px(8);
    if (at.x > r.x0 && at.x + width > r.x1) at = {r.x0, at.y + word_line(ui)};
    draw(t, word, Rect{at.x, at.y, at.x + width, at.y + word_line(ui) - ui.px(3)});
    at.x += width + ui.px(2);
  }
  return at.y + word_line(ui);
}

}  // namespace

bool shows_foci(const StepPage& page) {
  const Pane& pane = page.lines[0].back().pane;
  return pane.row_axis == "focus" && names_places(pane.column_axis);
}

bool shows_plane(const StepPage& page) {
  const Pane& pane = page.lines[0].back().pane;
  return pane.column_axis == "direction" && pane.columns == 2;
}

DetailNeed foci_need(const Ui& ui, const Pane& pane) {
  // About four words a line.
  const auto lines = static_cast<float>(1 + (pane.columns + 3) / 4);
  const auto foci = static_cast<float>(std::min<std::int64_t>(pane.rows, 4));
  DetailNeed need;
  need.beside_width = ui.px(260);
  need.beside_height = foci * (lines * word_line(ui) + ui.px(10)) + ui.px(40);
  need.band_width = ui.px(420);
  need.band_height = foci * 2 * word_line(ui) + ui.px(40);
  return need;
}

std::optional<CellPick> draw_foci(const AppState& state, Ui& ui, const Rect& r, const PagePane& p,
                                  ChosenCell cell) {
  const Trace& trace = *state.derived.trace;
  const TensorView t = trace.tensor(p.tensor);
  std::optional<CellPick> hovered;
  float y = r.y0;
  for (std::int64_t f = 0; f < p.pane.rows; ++f) {
    if (y + 2 * word_line(ui) > r.y1) {
      ui.text(ui.fonts.note, {r.x0, r.y1 - ui.px(14)}, ui.theme.muted,
              ui.tr("stage.more", {{"n", count_text(p.pane.rows - f)}}));
      break;
    }
    ui.text(f == cell.row ? ui.fonts.strong : ui.fonts.note, {r.x0, y},
            f == cell.row ? ui.theme.text : ui.theme.muted,
            ui.tr("stage.focus", {{"n", std::to_string(f)}}), r.width());
    y += ui.px(18);
    const auto word = [&](std::int64_t token, const std::string& text, const Rect& box) {
      if (box.y1 > r.y1) return;
      const std::int64_t flat = pane_flat(p.pane, f, token);
      const float weight = t.data[flat];
      const Color fill = color_at(ui.theme.weight_scale(1), weight);
      ImGui::GetWindowDrawList()->AddRectFilled(box.min(), box.max(), to_u32(fill), ui.px(3));
      const CellPick pick{std::string(t.name), unravel(t.axes, flat)};
      const std::string id = "focus/" + std::to_string(f) + "/" + std::to_string(token);
      bool over = false;
      if (ui.hot(id, box, &over)) ui.push(PickCell{pick});
      if (over) {
        hovered = pick;
        ui.tooltip(text + "  " + number_text(weight, 4));
      }
      if (over || (f == cell.row && token == cell.column)) {
        ImGui::GetWindowDrawList()->AddRect(box.min(), box.max(), to_u32(ui.theme.text), ui.px(3));
      }
      ui.user_text(ui.fonts.body, {box.x0 + ui.px(4), box.y0}, ink_on(fill), text,
                   box.width() - ui.px(6));
    };
    y = flow_words(ui, trace, p.pane.column_axis, p.pane.columns, {r.x0, y, r.x1, r.y1}, word) +
        ui.px(6);
  }
  attention_button(state, ui, {r.x0, y + ui.px(4), r.x1, r.y1});
  return hovered;
}

DetailNeed plane_need(const Ui& ui) { return {ui.px(300), ui.px(220), ui.px(330), ui.px(200)}; }

std::optional<CellPick> draw_plane(const AppState& state, Ui& ui, const Rect& r, const PagePane& p,
                                   ChosenCell cell) {
  const Trace& trace = *state.derived.trace;
  const TensorView t = trace.tensor(p.tensor);
  const auto value = [&](std::int64_t token, std::int64_t direction) {
    return t.data[pane_flat(p.pane, token, direction)];
  };
  float limit = 0;
  for (std::int64_t i = 0; i < 2 * p.pane.rows; ++i) {
    const float x = value(i / 2, i % 2);
    if (std::isfinite(x)) limit = std::max(limit, std::fabs(x));
  }
  if (limit == 0) return std::nullopt;
  const float side = std::min(r.width(), r.height() - ui.px(36));
  const Rect box{r.x0, r.y0 + ui.px(20), r.x0 + side, r.y0 + ui.px(20) + side};
  const ImVec2 middle{(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2};
  const float unit = 0.44f * side / limit;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 thin = to_u32(ui.theme.line);
  ui.text(ui.fonts.control, r.min(), ui.theme.text, ui.tr("stage.plane"), r.width());
  list->AddRect(box.min(), box.max(), thin, ui.px(2));
  list->AddLine({box.x0, middle.y}, {box.x1, middle.y}, thin);
  list->AddLine({middle.x, box.y0}, {middle.x, box.y1}, thin);
  const std::string end = number_text(limit / 0.88, 2);
  ui.text(ui.fonts.note, {box.x0, box.y1 + ui.px(2)}, ui.theme.muted,
          ui.tr("stage.plane.ends", {{"end", end}}), r.width());
  std::optional<CellPick> hovered;
  std::vector<Rect> named;
  for (std::int64_t token = 0; token < p.pane.rows; ++token) {
    const float x = value(token, 0), y = value(token, 1);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    const ImVec2 at{middle.x + x * unit, middle.y - y * unit};
    const bool own = token == cell.row;
    const Rect dot{at.x - ui.px(5), at.y - ui.px(5), at.x + ui.px(5), at.y + ui.px(5)};
    const CellPick pick{std::string(t.name), unravel(t.axes, pane_flat(p.pane, token, 0))};
    const std::string name = token_label(trace.name(p.pane.row_axis, token));
    bool over = false;
    if (ui.hot("plane/" + std::to_string(token), dot, &over)) ui.push(PickCell{pick});
    if (over) {
      hovered = pick;
      ui.tooltip(name + "  (" + number_text(x, 3) + ", " + number_text(y, 3) + ")");
    }
    list->AddCircleFilled(at, ui.px(own || over ? 4.5f : 3.0f),
                          to_u32(own ? ui.theme.text : ui.theme.positive));
    // A name that would lie on another one is left to the mouse.
    const float room = std::min(ui.measure(ui.fonts.note, name).x, ui.px(90));
    const float left = at.x + ui.px(6) + room > box.x1 ? at.x - ui.px(6) - room : at.x + ui.px(6);
    const Rect label{left, at.y - ui.px(7), left + room, at.y + ui.px(7)};
    const bool free = std::ranges::none_of(named, [&](const Rect& other) {
      return label.x0 < other.x1 && other.x0 < label.x1 && label.y0 < other.y1 &&
             other.y0 < label.y1;
    });
    if (!free && !own) continue;
    named.push_back(label);
    ui.user_text(ui.fonts.note, label.min(), own ? ui.theme.text : ui.theme.muted, name, room);
  }
  return hovered;
}

}  // namespace headlight
