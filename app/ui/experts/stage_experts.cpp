#include "app/ui/experts/stage_experts.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "app/ui/frame/panels.h"
#include "app/ui/stage/stage_motion.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

// How many experts have a page of their own in this step; 0: its pages are of heads, or of all.
std::int64_t experts_of(const Trace& trace, const Step& step) {
  const TensorView made = trace.tensor(step.tensor);
  return made.axes.size() == 4 && made.axes[1].name == "expert" ? made.axes[1].size : 0;
}

std::optional<std::int64_t> picked_expert(const AppState& state) {
  const auto& picked = state.session.picked;
  if (!picked) return std::nullopt;
  const TensorView t = state.derived.trace->find(picked->tensor);
  const int axis = t.data ? t.find_dim("expert") : -1;
  if (axis < 0 || picked->index.size() != t.axes.size()) return std::nullopt;
  return picked->index[static_cast<std::size_t>(axis)];
}

}  // namespace

std::int64_t shown_part(const AppState& state) {
  const Step* step = current_step(state);
  if (!step) return state.session.head;
  const std::int64_t experts = experts_of(*state.derived.trace, *step);
  if (experts == 0) return state.session.head;
  const std::int64_t chosen = picked_expert(state).value_or(state.session.head);
  return std::clamp<std::int64_t>(chosen, 0, experts - 1);
}

float expert_line(const AppState& state, const Ui& ui, const Step& step, const StepPage& page) {
  const bool corner = page.layout == Layout::kProduct;
  const bool asks = experts_of(*state.derived.trace, step) > 1 && !shown_motion(state);
  return asks && !corner ? ui.px(32) : 0;
}

void draw_expert_buttons(const AppState& state, Ui& ui, const Rect& area, const Step& step,
                         const StepPage& page, const StagePlacement& placement) {
  const Trace& trace = *state.derived.trace;
  const std::int64_t experts = experts_of(trace, step);
  if (experts < 2 || placement.panes.empty() || shown_motion(state)) return;
  const std::int64_t own = shown_part(state);
  const float side = ui.px(24), gap = ui.px(4);
  const std::string name(ui.tr("stage.experts"));
  const float words = ui.measure(ui.fonts.note, name).x + ui.px(8);
  // Where one product has a corner free, else above all of them.
  float corner = area.x1;
  for (const PlacedPane& p : placement.panes) {
    if (p.pane->pane.role == PaneRole::kTop) corner = p.rect.x0 - ui.px(30);
  }
  const auto room = static_cast<std::int64_t>((corner - area.x0 - words) / (side + gap));
  if (room < 2) return;
  const std::int64_t shown = std::min(room, experts);
  const std::int64_t first = std::min(own / shown * shown, experts - shown);
  const float y = area.y0 + ui.px(4);
  ui.text(ui.fonts.note, {area.x0, y + (side - font_size(ui.fonts.note)) / 2}, ui.theme.muted, name,
          words);
  float x = area.x0 + words;
  const TensorView made = trace.tensor(page.lines[0].back().tensor);
  const ChosenCell cell = chosen_cell(state, step, page);
  for (std::int64_t e = first; e < first + shown; ++e, x += side + gap) {
    const std::string number = std::to_string(e);
    if (!ui.button("experts/" + number, number, {x, y, x + side, y + side}, e == own)) continue;
    ui.push(PickCell{{std::string(made.name), {0, e, cell.row, cell.column}}});
  }
  ui.drawn.add("experts", {area.x0, y}, {x, y + side});
}

bool shows_load(const Program& program, const StepPage& page) {
  if (page.lines.empty() || page.backward) return false;
  const Role role = program.tensors[place(page.lines[0].back().tensor)].role;
  return role == Role::kGateWeights || role == Role::kBestWeights;
}

namespace {

struct Load {
  double share = 0, mean = 0;  // of the tokens' choices, and of their weights
};

// Of the sentence's tokens: where only the best are heard, how many of the heard are this one; else
// for how many of them it is the best.
std::vector<Load> loads_of(const Trace& trace, TensorId id) {
  const TensorView g = trace.tensor(id);
  const std::int64_t tokens = g.axes[1].size, experts = g.axes[2].size;
  const bool best = trace.program().tensors[place(id)].role == Role::kBestWeights;
  std::vector<Load> loads(static_cast<std::size_t>(experts));
  double choices = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const float* row = g.data + t * experts;
    const std::int64_t largest = std::max_element(row, row + experts) - row;
    for (std::int64_t e = 0; e < experts; ++e) {
      const bool heard = best ? row[e] > 0 : e == largest;
      loads[place(static_cast<int>(e))].share += heard;
      loads[place(static_cast<int>(e))].mean += row[e] / static_cast<double>(tokens);
      choices += heard;
    }
  }
  for (Load& load : loads) load.share /= std::max(choices, 1.0);
  return loads;
}

float load_line(const Ui& ui) { return ui.px(38); }

// All in their order; where only so many have room, those that are heard most.
std::vector<std::int64_t> shown_experts(const std::vector<Load>& loads, std::int64_t room) {
  std::vector<std::int64_t> experts(loads.size());
  std::iota(experts.begin(), experts.end(), std::int64_t{0});
  if (std::ssize(experts) <= room) return experts;
  std::ranges::stable_sort(experts, std::ranges::greater{}, [&](std::int64_t e) {
    const Load& load = loads[static_cast<std::size_t>(e)];
    return std::pair(load.share, load.mean);
  });
  return experts;
}

}  // namespace

DetailNeed load_need(const Ui& ui, const Pane& pane) {
  const auto experts = static_cast<float>(std::min<std::int64_t>(pane.columns, 8));
  DetailNeed need;
  need.beside_width = ui.px(250);
  need.beside_height = ui.px(54) + experts * load_line(ui);
  need.band_width = ui.px(420);
  need.band_height = ui.px(54) + std::min(experts, 4.0f) * load_line(ui);
  return need;
}

std::optional<CellPick> draw_load(const AppState& state, Ui& ui, const Rect& r, const PagePane& p,
                                  ChosenCell cell) {
  const Trace& trace = *state.derived.trace;
  const TensorView g = trace.tensor(p.tensor);
  const std::vector<Load> loads = loads_of(trace, p.tensor);
  const auto experts = static_cast<std::int64_t>(loads.size());
  ui.text(ui.fonts.control, r.min(), ui.theme.text, ui.tr("stage.load"), r.width());
  const bool best =
      trace.program().tensors[place(p.tensor)].role == Role::kBestWeights;  // as loads_of counts
  const std::string_view words = best ? "stage.load.words" : "stage.load.words.all";
  float y = r.y0 + ui.px(22);
  y += ui.wrapped(ui.fonts.note, {r.x0, y}, r.width(), ui.theme.muted, ui.tr(words)) + ui.px(8);
  const float label = ui.px(64), number = ui.px(52);
  const Rect bar{r.x0 + label, 0, r.x1 - number, 0};
  std::optional<CellPick> hovered;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto room = static_cast<std::int64_t>((r.y1 - y) / load_line(ui));
  std::int64_t shown = 0;
  for (const std::int64_t e : shown_experts(loads, room)) {
    if (shown++ >= room) {
      ui.text(ui.fonts.note, {r.x0, r.y1 - ui.px(14)}, ui.theme.muted,
              ui.tr("stage.more", {{"n", count_text(experts - room)}}));
      break;
    }
    const Load& load = loads[static_cast<std::size_t>(e)];
    const bool own = e == cell.column;
    const Rect line{r.x0, y, r.x1, y + load_line(ui) - ui.px(6)};
    const CellPick pick{std::string(g.name), {0, cell.row, e}};
    bool over = false;
    if (ui.hot("load/" + std::to_string(e), line, &over)) ui.push(PickCell{pick});
    if (over) hovered = pick;
    ui.text(own || over ? ui.fonts.strong : ui.fonts.note, {r.x0, y + ui.px(6)},
            own || over ? ui.theme.text : ui.theme.muted,
            ui.tr("stage.expert", {{"n", std::to_string(e)}}), label);
    const auto draw = [&](float top, double share, const Color& color) {
      const float end = bar.x0 + bar.width() * static_cast<float>(std::clamp(share, 0.0, 1.0));
      list->AddRectFilled({bar.x0, top}, {bar.x1, top + ui.px(11)}, to_u32(ui.theme.line),
                          ui.px(2));
      list->AddRectFilled({bar.x0, top}, {std::max(end, bar.x0 + 1), top + ui.px(11)},
                          to_u32(color), ui.px(2));
      ui.text_right(ui.fonts.note, r.x1, top - ui.px(1), ui.theme.text, number_text(share, 3));
    };
    draw(y + ui.px(2), load.share, ui.theme.pattern);
    draw(y + ui.px(17), load.mean, ui.theme.positive);
    // An even load.
    const float even = bar.x0 + bar.width() / static_cast<float>(experts);
    list->AddLine({even, y}, {even, y + ui.px(30)}, to_u32(ui.theme.text), ui.px(1));
    y += load_line(ui);
  }
  return hovered;
}

}  // namespace headlight
