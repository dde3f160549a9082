// The heads of the layer in a row; two of them can be compared.
#include <algorithm>

#include "app/ui/commands.h"
#include "app/ui/pane_view.h"
#include "app/ui/panels.h"
#include "core/page.h"
#include "core/steps.h"

namespace headlight {
namespace {

// The step whose tensor the row shows: the current one where it has heads, the pattern otherwise.
const Step* heads_step(const AppState& state) {
  const Step* step = current_step(state);
  if (!step) return nullptr;
  const Trace& trace = *state.derived.trace;
  const Program& program = trace.program();
  if (trace.tensor(step->tensor).find_dim("head") >= 0) return step;
  const std::string name = "blocks." + std::to_string(state.session.layer) + ".attn.pattern";
  const TensorId id = program.find(name);
  return id < 0 ? nullptr : &program.steps[static_cast<std::size_t>(program.step_of(id))];
}

void head_card(const AppState& state, Ui& ui, const Step& step, int head, const Rect& card) {
  const Session& session = state.session;
  const bool chosen = head == session.head, other = head == session.other_head;
  bool over = false;
  if (ui.hot("heads/" + std::to_string(head), card, &over)) {
    if (ImGui::GetIO().KeyShift) {
      ui.push(CompareHead{other ? -1 : head});
    } else {
      ui.push(ChooseHead{head});
    }
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (over || other)
    list->AddRectFilled(card.min(), card.max(), to_u32(ui.theme.selection), ui.px(6));
  list->AddRect(card.min(), card.max(), to_u32(chosen ? ui.theme.text : ui.theme.line), ui.px(6), 0,
                chosen ? ui.px(2) : 1);
  const Trace& trace = *state.derived.trace;
  const PagePane pane = step_page(trace, step, head).lines[0].back();
  const float pad = ui.px(6), label = ui.px(21);
  Rect picture{card.x0 + pad, card.y0 + pad, card.x1 - pad, card.y1 - label};
  // Keep the matrix's proportions while it is not too long.
  const float aspect = static_cast<float>(pane.pane.columns) /
                       static_cast<float>(std::max<std::int64_t>(pane.pane.rows, 1));
  const float width = std::min(picture.width(), picture.height() * std::clamp(aspect, 0.5f, 1.6f));
  picture.x1 = picture.x0 + width;
  const float cell = std::min(width / static_cast<float>(pane.pane.columns),
                              picture.height() / static_cast<float>(pane.pane.rows));
  draw_heatmap(ui, trace, pane, picture, cell >= 6 ? 1.0f : 0.0f);
  list->AddRect(picture.min(), picture.max(), to_u32(ui.theme.line));
  ui.text(chosen ? ui.fonts.strong : ui.fonts.control, {card.x0 + pad, card.y1 - label + ui.px(2)},
          ui.theme.text, "head " + std::to_string(head));
  if (over) {
    ui.tooltip("Click: look at head " + std::to_string(head) + ".  Shift+click: compare with it.");
  }
}

}  // namespace

void panel_heads(const AppState& state, Ui& ui, const Rect& r, bool open) {
  ui.begin_panel("heads", r);
  const float y = r.y0 + ui.px(open ? 10 : 6);
  const std::string title = "Heads of layer " + std::to_string(state.session.layer);
  ui.text(ui.fonts.strong, {r.x0 + ui.px(18), y}, ui.theme.text, title);
  const Step* step = heads_step(state);
  float x = r.x0 + ui.px(18) + ui.measure(ui.fonts.strong, title).x + ui.px(14);
  if (step && open) {
    const std::string what(step_text(ui.language, state.derived.trace->program(), *step).title);
    const std::string hint = what + " · Shift+click a second head to compare";
    const float room = r.x1 - x - ui.px(190);
    ui.text(ui.fonts.note, {x, y + ui.px(2)}, ui.theme.muted,
            ui.measure(ui.fonts.note, hint).x < room ? hint : what);
  }
  const Rect fold{r.x1 - ui.px(40), r.y0 + ui.px(3), r.x1 - ui.px(8), r.y0 + ui.px(open ? 33 : 27)};
  if (ui.hot("view/heads", open ? fold : Rect{r.x0, r.y0, r.x1, r.y1}))
    ui.push(DoCommand{Command::kToggleHeads});
  ui.text(ui.fonts.control, {fold.x0 + ui.px(10), y}, ui.theme.muted, open ? "▾" : "▲");
  if (open && step) {
    const bool can = is_enabled(Command::kToggleCompare, state);
    const Rect compare{fold.x0 - ui.px(110), r.y0 + ui.px(6), fold.x0 - ui.px(8), r.y0 + ui.px(32)};
    if (ui.button("heads/compare", "Compare", compare, state.session.compare, can,
                  "Two heads side by side with their difference  C")) {
      ui.push(DoCommand{Command::kToggleCompare});
    }
    const int heads = state.derived.trace->config().head_count();
    const float top = r.y0 + ui.px(36), height = r.y1 - top - ui.px(8), gap = ui.px(10);
    const float card_width = std::max(ui.px(72), height - ui.px(16));
    const float needed = static_cast<float>(heads) * (card_width + gap) - gap;
    const Rect strip{r.x0 + ui.px(14), top, r.x1 - ui.px(14), r.y1 - ui.px(8)};
    ImGui::SetCursorScreenPos(strip.min());
    const int flags = needed > strip.width() ? ImGuiWindowFlags_HorizontalScrollbar
                                             : ImGuiWindowFlags_NoScrollbar;
    begin_child("heads_strip", {strip.width(), strip.height()},
                flags | ImGuiWindowFlags_NoBackground);
    const float card_height = height - (needed > strip.width() ? ui.px(10) : 0);
    float card_x = strip.x0 - ImGui::GetScrollX();
    for (int head = 0; head < heads; ++head) {
      const Rect card{card_x, top, card_x + card_width, top + card_height};
      if (card.x1 > strip.x0 && card.x0 < strip.x1) head_card(state, ui, *step, head, card);
      card_x += card_width + gap;
    }
    ImGui::SetCursorScreenPos({card_x, top});
    ImGui::Dummy({1, 1});
    ImGui::EndChild();
  }
  ui.end_panel();
}

void panel_stage_heads(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("stage", r);
  const Step* step = heads_step(state);
  if (!step) {
    ui.text(ui.fonts.title, {r.x0 + ui.px(24), r.y0 + ui.px(16)}, ui.theme.text, "Nothing to show");
    ui.end_panel();
    return;
  }
  const Trace& trace = *state.derived.trace;
  const StepText text = step_text(ui.language, trace.program(), *step);
  ui.text(ui.fonts.title, {r.x0 + ui.px(24), r.y0 + ui.px(14)}, ui.theme.text, text.title);
  const std::string where = "layer " + std::to_string(std::max(step->layer, 0)) + " · all heads";
  ui.text(ui.fonts.control,
          {r.x0 + ui.px(36) + ui.measure(ui.fonts.title, text.title).x, r.y0 + ui.px(23)},
          ui.theme.muted, where);
  const int heads = trace.config().head_count();
  // As square a grid as fits the picture.
  int columns = 1;
  const auto side_for = [&](int c) {
    const int rows = (heads + c - 1) / c;
    return std::min((r.width() - ui.px(140)) / static_cast<float>(c),
                    (r.height() - ui.px(80)) / static_cast<float>(rows));
  };
  for (int c = 2; c <= heads; ++c) {
    if (side_for(c) > side_for(columns)) columns = c;
  }
  const float side = side_for(columns);
  for (int head = 0; head < heads; ++head) {
    const float x = r.x0 + ui.px(24) + side * static_cast<float>(head % columns);
    const float y = r.y0 + ui.px(60) + side * static_cast<float>(head / columns);
    head_card(state, ui, *step, head, {x, y, x + side - ui.px(10), y + side - ui.px(10)});
  }
  const PagePane pane = step_page(trace, *step, 0).lines[0].back();
  draw_legend(ui, {r.x1 - ui.px(90), r.y0 + ui.px(70)}, ui.px(92), scale_of(ui, trace, pane.tensor),
              tensor_symbol(trace.program().tensors[static_cast<std::size_t>(pane.tensor)].name));
  ui.end_panel();
}

}  // namespace headlight
