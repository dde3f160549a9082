// A step's page: its matrices, and what lights up in them.
#include <algorithm>
#include <set>

#include "app/ui/experts/stage_experts.h"
#include "app/ui/kit/rich_text.h"
#include "app/ui/matrix/linked_hover.h"
#include "app/ui/matrix/place_words.h"
#include "app/ui/stage/mask_painter.h"
#include "app/ui/stage/stage_motion.h"
#include "app/ui/stage/stage_view.h"
#include "app/ui/stage/stage_zoom.h"
#include "app/ui/state/commands.h"

namespace headlight {

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

namespace {

// Of the names along an axis of `count` places, or of an even sample of many: of a vocabulary those
// at the beginning are often single bytes.
float widest_name(const Ui& ui, const Trace& trace, std::string_view axis, std::int64_t count) {
  constexpr std::int64_t kMost = 200;
  float widest = ui.px(24);
  if (!names_places(axis) && axis != "batch") return widest;
  const std::int64_t looked_at = std::min(count, kMost);
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const std::string label = place_name(ui, trace, axis, i * count / looked_at);
    widest = std::max(widest, ui.measure(ui.fonts.strong, label).x);
  }
  return widest;
}

// Of the rows and of the columns of all panes.
std::pair<float, float> widest_names(const Ui& ui, const Trace& trace, const StepPage& page) {
  std::pair<float, float> widest;
  std::vector<std::string_view> rows, columns;
  const auto look = [&](float& most, std::vector<std::string_view>& seen, std::string_view axis,
                        std::int64_t count) {
    if (std::ranges::find(seen, axis) != seen.end()) return;
    seen.push_back(axis);
    most = std::max(most, widest_name(ui, trace, axis, count));
  };
  for (const auto& line : page.lines) {
    for (const PagePane& p : line) {
      look(widest.first, rows, p.pane.row_axis, p.pane.rows);
      look(widest.second, columns, p.pane.column_axis, p.pane.columns);
    }
  }
  return widest;
}

}  // namespace

StageMeasures stage_measures(const Ui& ui, const Trace& trace, const StepPage& page) {
  StageMeasures m;
  const auto [row, column] = widest_names(ui, trace, page);
  m.row_label_width = std::min(row, ui.px(86)) + ui.px(14);
  m.column_label_height = std::min(column, ui.px(62)) * 0.72f + ui.px(16);
  m.caption_height = ui.px(24);
  m.gap = ui.px(16);
  m.side_caption = ui.px(90);
  m.band_height = ui.px(26);
  m.between_width = ui.px(34);
  for (const std::string& text : page.arrow)
    m.arrow_width = std::max(m.arrow_width, ui.measure(ui.fonts.strong, text).x + ui.px(24));
  for (const auto& line : page.lines) {
    for (const PagePane& p : line) {
      if (p.pane.role != PaneRole::kTop) continue;
      Words rows, columns;
      add_size(rows, ui, trace, p.tensor, p.pane.row_axis, p.pane.rows, true);
      add_size(columns, ui, trace, p.tensor, p.pane.column_axis, p.pane.columns, true);
      const float size_width = std::max(measure_words(ui, ui.fonts.control, rows),
                                        measure_words(ui, ui.fonts.control, columns));
      m.side_caption = std::max(m.side_caption, size_width + ui.px(32));
    }
  }
  const float roomy = std::clamp(ImGui::GetIO().DisplaySize.y / ui.px(900), 1.0f, 2.4f);
  m.max_cell = ui.px(30) * roomy;
  m.square_cell = ui.px(40) * roomy;
  return m;
}

namespace {

// The pane that is asked about, whose colours the legend explains; where a tensor stands twice, as
// the result. A page that makes several (Q, K and V of the heads; gradients) has one at a time.
const PagePane& picked_pane(const AppState& state, const StepPage& page) {
  const Program& program = state.derived.trace->program();
  const auto& picked = state.session.picked;
  const TensorId found = picked ? program.find(picked->tensor) : -1;
  if (found < 0) return page.lines.back().back();
  const TensorId id = program.resolve(found);
  for (const auto& line : page.lines) {
    if (program.resolve(line.back().tensor) == id) return line.back();
  }
  for (const auto& line : page.lines) {
    for (const PagePane& p : line) {
      if (program.resolve(p.tensor) == id) return p;
    }
  }
  return page.lines.back().back();
}

// Lines from the rows of the table to the places that picked them, with their ids.
void draw_picked_rows(Ui& ui, const Trace& trace, const StagePlacement& placement,
                      const CellLink& link, float label_width) {
  if (placement.panes.size() != 2) return;
  const PlacedPane &table = placement.panes[0], &result = placement.panes[1];
  const std::vector<int>* picks = ids_of(trace, table.pane->pane);
  if (!picks) return;
  constexpr std::int64_t kMaxLines = 64;
  const std::vector<int>& ids = *picks;
  const auto middle = [](const PlacedPane& p, std::int64_t row) {
    return (p.rows.edge(row) + p.rows.edge(row + 1)) / 2;
  };
  const float left = table.rect.x1 + ui.px(4);
  const float id_right = result.rect.x0 - label_width;
  const float right = id_right - ui.px(30);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto draw = [&](std::int64_t t, bool lit) {
    const float y0 = middle(table, ids[static_cast<std::size_t>(t)]), y1 = middle(result, t);
    const auto outside = [](const PlacedPane& p, float y) {
      return y < p.rect.y0 || y > p.rect.y1;
    };
    if (outside(table, y0) || outside(result, y1)) return;
    const Color color = lit ? ui.theme.q : faded(ui.theme.muted, 0.35f);
    const float bend = (right - left) * 0.5f;
    list->AddBezierCubic({left, y0}, {left + bend, y0}, {right - bend, y1}, {right, y1},
                         to_u32(color), ui.px(lit ? 2.0f : 1.0f), 24);
    if (!lit && result.cell_h < font_size(ui.fonts.mono_small)) return;
    ui.text_right(ui.fonts.mono_small, id_right, y1 - font_size(ui.fonts.mono_small) / 2,
                  lit ? ui.theme.q : ui.theme.muted,
                  std::to_string(ids[static_cast<std::size_t>(t)]));
  };
  const auto count = std::min(static_cast<std::int64_t>(ids.size()), result.pane->pane.rows);
  for (std::int64_t t = 0; t < count && count <= kMaxLines; ++t) {
    if (link.row != t) draw(t, false);
  }
  if (link.row && *link.row < count) draw(*link.row, true);
}

void draw_signs(Ui& ui, const StagePlacement& placement, const StepPage& page) {
  for (const PlacedSign& sign : placement.signs) {
    const ImVec2 size = ui.measure(ui.fonts.title, sign.text);
    ui.text(ui.fonts.title, {sign.x - size.x / 2, sign.y - size.y / 2}, ui.theme.muted, sign.text);
    if (!sign.arrow) continue;
    // "÷ √16" over the arrow, "÷ 4" under it
    for (std::size_t i = 0; i < page.arrow.size(); ++i) {
      const float width = ui.measure(ui.fonts.strong, page.arrow[i]).x;
      const float y = i == 0 ? sign.y - size.y / 2 - ui.px(20) : sign.y + size.y / 2 + ui.px(2);
      ui.text(ui.fonts.strong, {sign.x - width / 2, y}, ui.theme.text, page.arrow[i]);
    }
  }
}

// Where the chosen cell stands in a pane, if no row and column of the pane cross there.
std::optional<std::pair<std::int64_t, std::int64_t>> uncrossed_pick(const AppState& state,
                                                                    const PagePane& p,
                                                                    const CellLink& link) {
  const Trace& trace = *state.derived.trace;
  const auto& picked = state.session.picked;
  if (!picked || !trace.find(picked->tensor).data) return std::nullopt;
  const TensorView t = trace.tensor(picked->tensor);
  if (picked->index.size() != t.axes.size() || trace.tensor(p.tensor).name != t.name)
    return std::nullopt;
  const auto place = pane_place(p.pane, flat_index(t.axes, picked->index));
  const CellLink lit = link_to(trace, p, link);
  if (!place || (lit.row == place->first && lit.column == place->second)) return std::nullopt;
  return place;
}

// The cells that the chosen one was turned with.
void mark_turned(const AppState& state, Ui& ui, const Step& step, const StepPage& page,
                 const StagePlacement& placement) {
  const Trace& trace = *state.derived.trace;
  if (page.backward || shown_motion(state) || step_detail(trace, step) != Detail::kPairs) return;
  const ChosenCell cell = chosen_cell(state, step, page);
  for (const TurnedPair& p : open_pairs(trace, step, page, cell.row)) {
    if (p.pair.first != cell.column && p.pair.second != cell.column) continue;
    for (const PlacedPane& placed : placement.panes) {
      mark_cell(ui, placed, cell.row, p.pair.first);
      mark_cell(ui, placed, cell.row, p.pair.second);
    }
  }
}

// A right click on a matrix offers it as a file.
void offer_files(Ui& ui, std::string_view tensor, std::size_t place, bool over) {
  const std::string popup = "matrix_menu/" + std::to_string(place);
  if (over && ImGui::IsMouseClicked(1)) ImGui::OpenPopup(popup.c_str());
  if (!ImGui::BeginPopup(popup.c_str())) return;
  for (const bool picture : {true, false}) {
    const Command command = picture ? Command::kSavePicture : Command::kSaveNumbers;
    if (ui.menu_item(picture ? "matrix/save_picture" : "matrix/save_numbers",
                     command_label(ui.language, command)))
      ui.push(AskExport{picture, std::string(tensor)});
  }
  ImGui::EndPopup();
}

// One legend explains one picture: where their colours span different ranges, each says its own.
void note_ranges(const Ui& ui, const Trace& trace, StagePlacement& placement) {
  std::set<std::string> ranges;
  for (PlacedPane& p : placement.panes) {
    if (!p.pane->amounts) continue;
    const PaneColors colors = colors_of(ui, trace, *p.pane);
    p.range = range_text(ui, colors);
    p.span = span_text(ui, colors);
    ranges.insert(p.range);
  }
  for (PlacedPane& p : placement.panes) {
    if (ranges.size() < 2) p.range.clear();
  }
}

// Matrices that are alike have captions that are; and sizes have one form in all that stand in a
// row: with words, or without.
void level_captions(const Ui& ui, const Trace& trace, const StepPage& page,
                    StagePlacement& placement) {
  constexpr int kWithoutWords = 2;
  int form = 0;
  const auto alike = [](const Pane& a, const Pane& b) {
    return a.role == b.role && a.rows == b.rows && a.columns == b.columns &&
           a.row_axis == b.row_axis && a.column_axis == b.column_axis;
  };
  for (PlacedPane& p : placement.panes) {
    for (const PlacedPane& other : placement.panes) {
      if (!alike(p.pane->pane, other.pane->pane)) continue;
      const int brevity = caption_brevity(ui, trace, other, pane_caption(trace, *other.pane));
      p.brevity = std::max(p.brevity, brevity);
    }
    if (p.pane->pane.role != PaneRole::kRowVector) form = std::max(form, p.brevity);
  }
  if (page.layout != Layout::kRow) return;
  for (PlacedPane& p : placement.panes)
    p.brevity = std::max(p.brevity, std::min(form, kWithoutWords));
}

constexpr float kLegendWidth = 84;  // design pixels

// On a narrow stage the legend gives way where small cells would be larger without it.
bool legend_has_room(const Ui& ui, const StepPage& page, const Rect& area, const StageMeasures& m) {
  if (area.width() >= ui.px(300)) return true;
  const auto cell = [&](float legend) {
    const Rect rest{area.x0, area.y0, area.x1 - legend, area.y1};
    return place_page(page, rest, m, ui.scale).panes.back().cell_w;
  };
  const float with = cell(ui.px(kLegendWidth));
  return with >= ui.px(6) || with >= 0.8f * cell(0);
}

}  // namespace

void draw_stage_page(const AppState& state, Ui& ui, const Rect& stage, const Step& step,
                     const StepPage& page) {
  const Rect area{stage.x0, stage.y0 + expert_line(state, ui, step, page), stage.x1, stage.y1};
  const Trace& trace = *state.derived.trace;
  const StageMeasures m = stage_measures(ui, trace, page);
  const bool with_legend = legend_has_room(ui, page, area, m);
  const float legend_width = with_legend ? ui.px(kLegendWidth) : 0;
  const Rect whole{area.x0, area.y0, area.x1 - legend_width, area.y1};
  const DetailNeed need = detail_need(state, ui, step, page);
  const StageSplit split = split_stage(page, whole, m, need, ui.scale);
  const Rect& body = split.matrices;
  StagePlacement placement = place_page(page, body, m, ui.scale);
  apply_view(placement, page, state.session.view, ui.scale);
  note_ranges(ui, trace, placement);
  level_captions(ui, trace, page, placement);
  StageView view = state.session.view;
  const bool hovering = state.session.hovered.has_value();
  CellLink link = hovered_link(state, page);
  if (!hovering || (!link.row && !link.column)) link = page_link(trace, page, state.session.picked);
  const PagePane* legend_pane = &picked_pane(state, page);
  if (const auto made = motion_link(state); made && !hovering) link = *made;
  const bool marks_pick = !hovering && !shown_motion(state);
  std::optional<CellPick> hovered;
  for (std::size_t i = 0; i < placement.panes.size(); ++i) {
    PlacedPane& p = placement.panes[i];
    if (p.pane->pane.row_follow == Follow::kRow && link.row)
      p.named_row = *link.row - p.pane->pane.row_shift;
    const auto alone = marks_pick ? uncrossed_pick(state, *p.pane, link) : std::nullopt;
    if (alone) p.named_column = alone->second;
    const TensorView t = trace.tensor(p.pane->tensor);
    const std::string id = "pane/" + std::to_string(i) + "/" + std::string(t.name);
    const PaneEvents events =
        draw_pane(ui, trace, p, link_to(trace, *p.pane, link), id, pane_caption(trace, *p.pane));
    const bool paints = trace.program().is_own_mask(p.pane->tensor);
    view = view_after(placement, p, events, paints, view);
    paint_mask(state, ui, p, id);
    draw_mask_handles(state, ui, p);
    light_named_pane(state, ui, p);
    offer_files(ui, t.name, i, events.hovered.has_value());
    if (!events.hovered) continue;
    const auto [r, c] = *events.hovered;
    const CellPick cell{std::string(t.name), unravel(t.axes, pane_flat(p.pane->pane, r, c))};
    hovered = cell;
    legend_pane = p.pane;
    if (events.clicked) ui.push(PickCell{cell});
  }
  for (const PlacedPane& p : placement.panes) mark_hovered_cell(state, ui, p);
  for (const PlacedPane& p : placement.panes) {
    const auto alone = marks_pick ? uncrossed_pick(state, *p.pane, link) : std::nullopt;
    if (alone) mark_cell(ui, p, alone->first, alone->second);
  }
  mark_turned(state, ui, step, page, placement);
  draw_shared_heads(state, ui, body, page, placement);
  draw_expert_buttons(state, ui, {body.x0, stage.y0, body.x1, body.y1}, step, page, placement);
  draw_signs(ui, placement, page);
  draw_picked_rows(ui, trace, placement, link, m.row_label_width);
  draw_motion(state, ui, body, page, placement);
  const std::string& title =
      trace.program().tensors[static_cast<std::size_t>(legend_pane->tensor)].symbol;
  const bool beside = split.shows_detail && split.detail.x0 > body.x1;
  const float legend_x = (beside ? body.x1 : area.x1 - legend_width) + ui.px(14);
  const Rect column{legend_x, body.y0, legend_x + legend_width - ui.px(14), body.y1};
  if (with_legend)
    draw_stage_side(ui, column, placement, colors_of(ui, trace, *legend_pane), title);
  change_view(state, ui, placement, page_link(trace, page, state.session.picked), view);
  if (split.shows_detail) {
    Rect detail = split.detail;
    if (beside) {  // the legend stays beside the matrices
      detail.x0 += legend_width;
      detail.x1 += legend_width - ui.px(12);
    } else {
      detail.x1 = area.x1 - ui.px(12);
      detail = below_matrices(placement, detail, m, need, ui.scale);
    }
    if (const auto over = draw_detail(state, ui, detail, step, page)) hovered = over;
  }
  if (hovered) ui.hovered_cell = hovered;
}

}  // namespace headlight
