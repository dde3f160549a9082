// The stage: one step at a time, its operands and its result.
#include <algorithm>
#include <cmath>

#include "app/ui/commands.h"
#include "app/ui/pane_view.h"
#include "app/ui/panels.h"
#include "app/ui/stage_layout.h"
#include "app/ui/stage_motion.h"
#include "core/page.h"
#include "core/steps.h"
#include "core/text/number_text.h"

namespace headlight {

const Step* current_step(const AppState& state) {
  if (!state.derived.trace) return nullptr;
  const Program& program = state.derived.trace->program();
  const TensorId id = program.find(state.session.step);
  return &program.steps[static_cast<std::size_t>(id < 0 ? 0 : program.step_of(id))];
}

namespace {

// Rows and columns of the page's result that the hovered or picked cell leads to.
CellLink page_link(const Trace& trace, const StepPage& page, const std::optional<CellPick>& cell) {
  if (!cell) return {};
  const TensorId id = trace.program().find(cell->tensor);
  if (id < 0) return {};
  const TensorView t = trace.tensor(id);
  if (cell->index.size() != t.axes.size()) return {};
  const std::int64_t flat = flat_index(t.axes, cell->index);
  // The result first: the same tensor may also stand as an operand.
  for (const auto& line : page.lines) {
    for (auto p = line.rbegin(); p != line.rend(); ++p) {
      if (trace.program().resolve(p->tensor) != trace.program().resolve(id)) continue;
      if (const auto place = pane_place(p->pane, flat)) {
        return link_from(trace, *p, place->first, place->second);
      }
    }
  }
  return {};
}

std::string where_text(const AppState& state, const Step& step, const StepPage& page) {
  std::string text;
  if (step.layer >= 0) text = "layer " + std::to_string(step.layer);
  bool per_head = false;
  for (const auto& line : page.lines) {
    for (const PagePane& p : line) {
      const TensorView t = state.derived.trace->tensor(p.tensor);
      per_head |= t.find_dim("head") >= 0 && p.pane.role != PaneRole::kRowVector;
    }
  }
  // Here the page is about all heads.
  if (step.kind == StepKind::kOutput || step.kind == StepKind::kConcat) per_head = false;
  if (per_head) text += " · head " + std::to_string(state.session.head);
  return text;
}

// "(12 × 16) · (16 × 12) → (12 × 12)"
std::string shapes_text(const StepPage& page) {
  if (page.lines.empty()) return "";
  std::string text;
  const auto& line = page.lines[0];
  for (std::size_t i = 0; i < line.size(); ++i) {
    const Pane& pane = line[i].pane;
    if (pane.role == PaneRole::kRowVector) continue;
    if (!text.empty()) {
      const bool last = i + 1 == line.size();
      text += last                              ? " → "
              : page.layout == Layout::kProduct ? " · "
                                                : " " + std::string(page.sign) + " ";
    }
    text += "(" + std::to_string(pane.rows) + " × " + std::to_string(pane.columns) + ")";
  }
  return text;
}

std::int64_t query_row(const AppState& state, const StepPage& page) {
  const Trace& trace = *state.derived.trace;
  const CellLink link = page_link(trace, page, state.session.picked);
  return std::min(link.row.value_or(trace.length() - 1), trace.length() - 1);
}

float draw_header(const AppState& state, Ui& ui, const Rect& r, const Step& step,
                  const StepPage& page) {
  const Trace& trace = *state.derived.trace;
  const StepText text = step_text(trace.program(), step);
  const float x = r.x0 + ui.px(24);
  float y = r.y0 + ui.px(14);
  ui.text(ui.fonts.title, {x, y}, ui.theme.text, text.title);
  const float title_width = ui.measure(ui.fonts.title, text.title).x;
  ui.text(ui.fonts.control, {x + title_width + ui.px(12), y + ui.px(9)}, ui.theme.muted,
          where_text(state, step, page));
  const float formula_width = ui.formula({0, 0}, text.formula, false);
  const bool wide = r.width() > ui.px(760);
  const float shapes_width = ui.measure(ui.fonts.mono, shapes_text(page)).x;
  const float right_width = std::max(formula_width, shapes_width);
  const float fx = r.x1 - ui.px(28) - right_width;
  ui.formula({wide ? fx : r.x1 - ui.px(24) - formula_width, y + ui.px(2)}, text.formula);
  y += ui.px(34);
  const float words_width = (wide ? fx - x - ui.px(24) : r.width() - ui.px(48));
  const float words = ui.wrapped(
      ui.fonts.body, {x, y}, std::min(words_width, ui.px(640)), ui.theme.text,
      to_field_text(step_words(trace, step, state.session.head, query_row(state, page))));
  if (wide) ui.text(ui.fonts.mono, {fx, y + ui.px(2)}, ui.theme.muted, shapes_text(page));
  return y + words + ui.px(6);
}

// Tokens as chips, with their ids; a click marks padding while that mask is chosen.
void draw_tokens(const AppState& state, Ui& ui, const Rect& area) {
  const Trace& trace = *state.derived.trace;
  const MaskSpec& mask = state.document().config.mask;
  const bool padding = mask.kind == MaskKind::kPadding;
  ImGui::SetCursorScreenPos(area.min());
  begin_child("tokens", {area.width(), area.height()}, ImGuiWindowFlags_NoBackground);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = ui.px(46), top = area.y0 - ImGui::GetScrollY();
  float x = area.x0, y = top + ui.px(6);
  for (std::int64_t t = 0; t < trace.length(); ++t) {
    const std::string label = token_label(trace.tick("position", t));
    const std::string id = std::to_string(trace.input().ids[static_cast<std::size_t>(t)]);
    const float room = ui.px(220);
    const float width =
        std::clamp(ui.measure(ui.fonts.sentence, label).x + ui.px(24), ui.px(44), room + ui.px(24));
    if (x + width > area.x1) {
      x = area.x0;
      y += height + ui.px(10);
    }
    const Rect chip{x, y, x + width, y + height};
    const bool is_padding = padding && std::binary_search(mask.padding.begin(), mask.padding.end(),
                                                          static_cast<int>(t));
    if (chip.y1 > area.y0 && chip.y0 < area.y1) {
      bool over = false;
      if (ui.hot("token/" + std::to_string(t), chip, &over)) {
        if (padding) {
          MaskSpec next = mask;
          if (is_padding) {
            std::erase(next.padding, static_cast<int>(t));
          } else {
            next.padding.push_back(static_cast<int>(t));
          }
          ui.push(DoEdit{SetMask{next}, ""});
        } else {
          ui.push(PickCell{{"token_ids", {0, t}}});
        }
      }
      list->AddRectFilled(chip.min(), chip.max(),
                          to_u32(over ? ui.theme.selection : ui.theme.surface), ui.px(6));
      list->AddRect(chip.min(), chip.max(), to_u32(is_padding ? ui.theme.k : ui.theme.line),
                    ui.px(6), 0, is_padding ? ui.px(2) : 1);
      ui.user_text(ui.fonts.sentence, {x + ui.px(12), y + ui.px(4)},
                   is_padding ? ui.theme.muted : ui.theme.text, label, room);
      ui.text(ui.fonts.mono_small, {x + ui.px(12), y + ui.px(28)}, ui.theme.muted,
              is_padding ? id + " pad" : id);
      if (over) {
        ui.tooltip("token " + std::to_string(t) + ", id " + id +
                   (padding ? ". Click to mark it as padding or take the mark away" : ""));
      }
    }
    x += width + ui.px(8);
  }
  ImGui::SetCursorScreenPos({area.x0, y + height + ui.px(8)});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
}

void toggle_free_cell(const AppState& state, Ui& ui, std::int64_t r, std::int64_t c) {
  MaskSpec mask = state.document().config.mask;
  const std::pair cell{static_cast<int>(r), static_cast<int>(c)};
  const auto at = std::find(mask.forbidden.begin(), mask.forbidden.end(), cell);
  if (at == mask.forbidden.end()) {
    mask.forbidden.push_back(cell);
  } else {
    mask.forbidden.erase(at);
  }
  ui.push(DoEdit{SetMask{mask}, ""});
}

StageMeasures measures(const Ui& ui, const Trace& trace) {
  StageMeasures m;
  float widest = ui.px(24);
  for (std::int64_t t = 0; t < std::min<std::int64_t>(trace.length(), 200); ++t) {
    widest =
        std::max(widest, ui.measure(ui.fonts.control, token_label(trace.tick("position", t))).x);
  }
  m.row_label_width = std::min(widest, ui.px(86)) + ui.px(14);
  m.column_label_height = std::min(widest, ui.px(62)) * 0.72f + ui.px(16);
  m.caption_height = ui.px(24);
  m.gap = ui.px(16);
  m.side_caption = ui.px(104);
  m.max_cell = ui.px(30);
  m.square_cell = ui.px(40);
  return m;
}

void draw_page(const AppState& state, Ui& ui, const Rect& area, const StepPage& page) {
  const Trace& trace = *state.derived.trace;
  const float legend_width = ui.px(84);
  const Rect body{area.x0, area.y0, area.x1 - legend_width, area.y1};
  const StagePlacement placement = place_page(page, body, measures(ui, trace), ui.scale);
  const bool hovering = state.session.hovered.has_value();
  CellLink link = page_link(trace, page, state.session.hovered);
  if (!hovering || (!link.row && !link.column)) link = page_link(trace, page, state.session.picked);
  TensorId legend_tensor = page.lines[0].back().tensor;
  std::optional<CellPick> hovered;
  for (std::size_t i = 0; i < placement.panes.size(); ++i) {
    const PlacedPane& p = placement.panes[i];
    const TensorView t = trace.tensor(p.pane->tensor);
    const std::string id = "pane/" + std::to_string(i) + "/" + std::string(t.name);
    const PaneEvents events =
        draw_pane(ui, trace, p, link_to(trace, *p.pane, link), id, pane_caption(trace, *p.pane));
    if (!events.hovered) continue;
    const auto [r, c] = *events.hovered;
    const CellPick cell{std::string(t.name), unravel(t.axes, pane_flat(p.pane->pane, r, c))};
    hovered = cell;
    legend_tensor = p.pane->tensor;
    const bool paints = p.pane->tensor == trace.program().mask &&
                        state.document().config.mask.kind == MaskKind::kFree;
    if (events.clicked && paints) toggle_free_cell(state, ui, r, c);
    if (events.clicked) ui.push(PickCell{cell});
  }
  if (hovered != state.session.hovered) ui.push(HoverCell{hovered});
  for (const PlacedSign& sign : placement.signs) {
    const ImVec2 size = ui.measure(ui.fonts.title, sign.text);
    ui.text(ui.fonts.title, {sign.x - size.x / 2, sign.y - size.y / 2}, ui.theme.muted, sign.text);
  }
  draw_motion(state, ui, body, page, placement);
  const std::string title = std::string(
      tensor_symbol(trace.program().tensors[static_cast<std::size_t>(legend_tensor)].name));
  const float height = std::min(ui.px(92), area.height() * 0.4f);
  draw_legend(ui,
              {area.x1 - legend_width + ui.px(14), (area.y0 + area.y1 - height) / 2 - ui.px(10)},
              height, scale_of(ui, trace, legend_tensor), title);
}

// Two heads side by side and their signed difference.
void draw_comparison(const AppState& state, Ui& ui, const Rect& area, const Step& step) {
  const Trace& trace = *state.derived.trace;
  const int a = state.session.head, b = state.session.other_head;
  StepPage page;
  page.sign = "−";
  const PagePane first = step_page(trace, step, a).lines[0].back();
  const PagePane second = step_page(trace, step, b).lines[0].back();
  page.lines = {{first, second, first}};
  const float legend_width = ui.px(84);
  const Rect body{area.x0, area.y0, area.x1 - legend_width, area.y1};
  const StagePlacement placement = place_page(page, body, measures(ui, trace), ui.scale);
  const std::vector<float>& difference = state.derived.difference;
  const ColorScale difference_scale = ui.theme.signed_scale(robust_limit(difference));
  PagePane own = first;  // the difference is a matrix of its own, row after row
  own.pane.row_stride = own.pane.columns;
  own.pane.column_stride = 1;
  const CellLink link =
      page_link(trace, {page.layout, "", {{first, second}}},
                state.session.hovered ? state.session.hovered : state.session.picked);
  std::optional<CellPick> hovered;
  for (std::size_t i = 0; i < placement.panes.size(); ++i) {
    PlacedPane p = placement.panes[i];
    const bool is_difference = i == 2;
    if (is_difference) p.pane = &own;
    const std::string caption = is_difference ? std::to_string(a) + " − " + std::to_string(b)
                                              : "head " + std::to_string(i == 0 ? a : b);
    const bool ready =
        difference.size() == static_cast<std::size_t>(own.pane.rows * own.pane.columns);
    if (is_difference && !ready) continue;
    const PaneEvents events =
        draw_pane(ui, trace, p, link_to(trace, *p.pane, link), "compare/" + std::to_string(i),
                  caption, is_difference ? &difference_scale : nullptr,
                  is_difference ? difference.data() : nullptr, state.derived.difference_key);
    if (!events.hovered) continue;
    const PagePane& source = i == 1 ? second : first;
    const TensorView t = trace.tensor(source.tensor);
    const auto [r, c] = *events.hovered;
    hovered = CellPick{std::string(t.name), unravel(t.axes, pane_flat(source.pane, r, c))};
    if (events.clicked) ui.push(PickCell{*hovered});
  }
  if (hovered != state.session.hovered) ui.push(HoverCell{hovered});
  for (std::size_t i = 0; i < placement.signs.size(); ++i) {
    const std::string_view sign = i == 0 ? "−" : "=";
    const ImVec2 size = ui.measure(ui.fonts.title, sign);
    ui.text(ui.fonts.title, {placement.signs[i].x - size.x / 2, placement.signs[i].y - size.y / 2},
            ui.theme.muted, sign);
  }
  draw_legend(ui, {area.x1 - legend_width + ui.px(14), area.y0 + area.height() * 0.3f}, ui.px(80),
              difference_scale, std::to_string(a) + " − " + std::to_string(b));
}

// Nothing to show yet: say what to do.
void draw_empty(const AppState& state, Ui& ui, const Rect& r) {
  const float x = r.x0 + ui.px(24), width = r.width() - ui.px(48);
  float y = r.y0 + ui.px(20);
  ui.text(ui.fonts.title, {x, y}, ui.theme.text, "Type a sentence");
  y += ui.px(42);
  y += ui.wrapped(
      ui.fonts.body, {x, y}, std::min(width, ui.px(560)), ui.theme.text,
      "Every number of the model's attention appears here as you type. Press Ctrl+L to go to "
      "the sentence, then try: The animal didn't cross the street because it was too tired");
  if (!state.derived.problem.empty()) {
    ui.wrapped(ui.fonts.body, {x, y + ui.px(8)}, std::min(width, ui.px(560)), ui.theme.muted,
               "Right now " + state.derived.problem + ".");
  }
}

}  // namespace

void panel_stage(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("stage", r);
  const Step* step = current_step(state);
  const bool empty = !step || state.derived.empty;
  if (empty) {
    draw_empty(state, ui, r);
    ui.end_panel();
    return;
  }
  const Trace& trace = *state.derived.trace;
  const StepPage page = step_page(trace, *step, state.session.head);
  const float top = draw_header(state, ui, r, *step, page);
  const float bar = ui.px(40);
  const Rect area{r.x0 + ui.px(24), top, r.x1 - ui.px(12), r.y1 - bar - ui.px(6)};
  const bool has_head = trace.tensor(step->tensor).find_dim("head") >= 0;
  const bool compare = state.session.compare && has_head && state.session.other_head >= 0;
  if (page.lines.empty()) {
    draw_tokens(state, ui, {area.x0, area.y0 + ui.px(8), area.x1, area.y1});
  } else if (compare) {
    draw_comparison(state, ui, area, *step);
  } else {
    draw_page(state, ui, area, page);
  }
  panel_playback(state, ui, {r.x0, r.y1 - bar, r.x1, r.y1});
  ui.end_panel();
}

}  // namespace headlight
