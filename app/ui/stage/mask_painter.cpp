// Painting the free mask on the stage.
#include "app/ui/stage/mask_painter.h"

#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/matrix/pane_view.h"

namespace headlight {

void paint(CellSet& forbidden, Brush brush, int query, int key, int tokens, bool forbid) {
  const auto set = [&](int row, int first, int last) {
    if (row < 0 || row >= tokens) return;
    forbidden.set(row, {std::max(first, 0), std::min(last, tokens - 1)}, forbid);
  };
  switch (brush) {
    case Brush::kCell:
      return set(query, key, key);
    case Brush::kRow:
      return set(query, 0, tokens - 1);
    case Brush::kColumn:
      for (int i = 0; i < tokens; ++i) set(i, key, key);
      return;
    case Brush::kTriangle: {
      const int above = key - query;
      for (int i = 0; i < tokens; ++i) {
        set(i, above < 0 ? 0 : i + above, above > 0 ? tokens - 1 : i + above);
      }
      return;
    }
  }
}

MaskSpec inverted(const MaskSpec& mask, int tokens) {
  MaskSpec result = as_free(mask, tokens);
  for (int i = 0; i < tokens; ++i) {
    const std::vector<Span> before = result.forbidden.row(i);
    result.forbidden.set(i, {0, tokens - 1}, true);
    for (const Span& span : before) result.forbidden.set(i, span, false);
  }
  return result;
}

namespace {

bool is_mask_page(const AppState& state) {
  const Step* step = current_step(state);
  if (!step || step->backward) return false;
  const Program& program = state.derived.trace->program();
  return std::ranges::any_of(step->calls, [&](int call) {
    return std::ranges::any_of(program.calls[place(call)].in,
                               [&](TensorId id) { return program.is_own_mask(id); });
  });
}

// The page where numbers of the person's own are added, and cells forbidden to single heads.
bool is_added_page(const AppState& state) {
  const Step* step = current_step(state);
  return step && !step->backward && state.derived.trace->program().makes(*step, Role::kAddedScores);
}

// Are cells forbidden to the chosen head alone?
bool paints_one_head(const AppState& state) {
  const bool apart = shown_config(state).keeps_pattern();
  return is_added_page(state) || (state.session.brush_one_head && apart);
}

bool is_mask_pane(const AppState& state, const PlacedPane& p) {
  const Program& program = state.derived.trace->program();
  return (is_mask_page(state) && program.is_own_mask(p.pane->tensor)) ||
         (is_added_page(state) && p.pane->tensor == program.added_mask);
}

// The cells that only this head may not look at.
const CellSet& own_cells(const MaskSpec& mask, int head) {
  static const CellSet kNone;
  const auto at = mask.by_head.find(head);
  return at == mask.by_head.end() ? kNone : at->second;
}

MaskSpec with_own_cells(MaskSpec mask, int head, CellSet cells) {
  if (cells.empty()) {
    mask.by_head.erase(head);
  } else {
    mask.by_head[head] = std::move(cells);
  }
  return mask;
}

int tokens_of(const AppState& state) { return static_cast<int>(state.derived.trace->length()); }

// Columns before the first token's own: what is remembered. A mask says nothing of them.
int remembered(const AppState& state) {
  return static_cast<int>(state.derived.trace->program().shape.memory);
}

// The mask that is painted, as the layer shows it: some have a window of keys besides, which no
// brush opens.
MaskSpec in_layer(const AppState& state, MaskSpec painted) {
  const Config& config = state.derived.trace->config();
  painted.nearest = config.is_local(current_step(state)->layer) ? config.local_window : 0;
  return painted;
}

struct Cell {
  int query = 0, key = 0;
};

Cell cell_at(const PlacedPane& p, ImVec2 at, int tokens, int memory) {
  const auto place = [&](float offset, float size) {
    return std::clamp(static_cast<int>(std::floor(offset / size)), 0, tokens - 1);
  };
  return {place(at.y - p.rows.edge(0), p.cell_h), place(at.x - p.columns.edge(memory), p.cell_w)};
}

// Paints from where the mouse was to where it is, cell by cell, so that a quick stroke has no gaps.
// `first` tells the frame in which the button went down.
void stroke(const AppState& state, Ui& ui, const PlacedPane& p, Brush brush, bool first) {
  const int tokens = tokens_of(state), memory = remembered(state);
  const ImGuiIO& io = ImGui::GetIO();
  const MaskSpec& before = state.document().config.mask;
  if (brush != Brush::kRow && io.MouseClickedPos[0].x < p.columns.edge(memory)) return;
  const Cell start = cell_at(p, io.MouseClickedPos[0], tokens, memory);
  // The first cell turns over; from then on it shows what the stroke does.
  const bool one = paints_one_head(state);
  const int head = state.session.head;
  const bool allowed = one ? !own_cells(before, head).contains(start.query, start.key)
                           : before.allows(start.query, start.key);
  const bool forbid = allowed == first;
  MaskSpec next = one ? before : as_free(before, tokens);
  CellSet cells = one ? own_cells(before, head) : next.forbidden;
  const Cell now = cell_at(p, io.MousePos, tokens, memory);
  const Cell was =
      first ? now
            : cell_at(p, {io.MousePos.x - io.MouseDelta.x, io.MousePos.y - io.MouseDelta.y}, tokens,
                      memory);
  const int steps = std::max(std::abs(now.query - was.query), std::abs(now.key - was.key));
  for (int i = 0; i <= steps; ++i) {
    const float t = steps == 0 ? 1 : static_cast<float>(i) / static_cast<float>(steps);
    const auto between = [&](int a, int b) {
      return a + static_cast<int>(std::lround(t * static_cast<float>(b - a)));
    };
    paint(cells, brush, between(was.query, now.query), between(was.key, now.key), tokens, forbid);
  }
  if (one) {
    next = with_own_cells(std::move(next), head, std::move(cells));
  } else {
    next.forbidden = std::move(cells);
  }
  if (!(next == before)) ui.push(DoEdit{SetMask{std::move(next)}, "mask/paint"});
}

// Strokes while the last drawn item is held; the end of the drag ends the step of undo.
void stroke_while_held(const AppState& state, Ui& ui, const PlacedPane& p, Brush brush,
                       ImGuiID id) {
  const bool held = ImGui::GetActiveID() == id && ImGui::IsMouseDown(0);
  if (held) stroke(state, ui, p, brush, ImGui::IsMouseClicked(0));
  if (!held && ImGui::GetCurrentContext()->ActiveIdPreviousFrame == id) ui.push(EndEdit{});
}

// What is forbidden to the chosen head alone, in the colour of weights.
void draw_own_cells(const AppState& state, Ui& ui, const PlacedPane& p) {
  const CellSet& cells = own_cells(state.document().config.mask, state.session.head);
  if (cells.empty()) return;
  const int tokens = tokens_of(state), memory = remembered(state);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 color = to_u32(mix(ui.theme.hatch, ui.theme.pattern, 0.45f));
  list->PushClipRect(p.rect.min(), p.rect.max(), true);
  for (const int row : cells.rows()) {
    if (row >= tokens) break;
    const float y0 = p.rows.edge(row), y1 = std::max(y0 + p.cell_h, y0 + 1);
    for (const Span& span : cells.row(row)) {
      const int end = std::min(span.last + 1, tokens);
      if (span.first < end)
        list->AddRectFilled({p.columns.edge(memory + span.first), y0},
                            {p.columns.edge(memory + end), y1}, color);
    }
  }
  list->PopClipRect();
}

// While a large run is under way the trace's mask is older than the painting: the rows that differ
// are drawn over it, as stretches.
void draw_pending(const AppState& state, Ui& ui, const PlacedPane& p) {
  if (is_added_page(state)) return draw_own_cells(state, ui, p);
  draw_own_cells(state, ui, p);
  const MaskSpec painted = in_layer(state, state.document().config.mask);
  const MaskSpec shown = in_layer(state, state.derived.trace->config().mask);
  const bool same = painted.kind == shown.kind && painted.forbidden == shown.forbidden &&
                    painted.causal == shown.causal && painted.padding == shown.padding &&
                    painted.window == shown.window && painted.stride == shown.stride;
  if (same) return;
  const int tokens = tokens_of(state), memory = remembered(state);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 allowed = to_u32(ui.theme.surface), forbidden = to_u32(ui.theme.hatch);
  list->PushClipRect(p.rect.min(), p.rect.max(), true);
  for (int i = 0; i < tokens; ++i) {
    const std::vector<Span> now = forbidden_keys(painted, i, tokens);
    if (now == forbidden_keys(shown, i, tokens)) continue;
    const float y0 = p.rows.edge(i);
    const float y1 = std::max(y0 + p.cell_h, y0 + 1);
    list->AddRectFilled({std::max(p.rect.x0, p.columns.edge(memory)), y0}, {p.rect.x1, y1},
                        allowed);
    for (const Span& span : now) {
      const float x0 = p.columns.edge(memory + span.first);
      const float x1 = p.columns.edge(memory + span.last + 1);
      list->AddRectFilled({x0, y0}, {x1, y1}, forbidden);
    }
  }
  list->PopClipRect();
}

void push_mask(const AppState& state, Ui& ui, const MaskSpec& next) {
  if (!(next == state.document().config.mask)) ui.push(DoEdit{SetMask{next}, ""});
}

// Rows without an allowed key, named while they are few. Empty when every query has a key.
std::string empty_rows(const AppState& state, const Ui& ui) {
  const Trace& trace = *state.derived.trace;
  const TensorView mask = trace.tensor(trace.program().own_mask(current_step(state)->layer));
  const std::int64_t n = trace.length(), keys = n + remembered(state);
  std::int64_t count = 0;
  std::string names;
  for (std::int64_t i = 0; i < n; ++i) {
    const float* row = mask.data + i * keys;
    if (std::any_of(row, row + keys, [](float cell) { return cell == 0; })) continue;
    if (++count <= 3) names += (count > 1 ? ", " : "") + token_label(trace.name("query", i));
  }
  if (count == 0) return {};
  if (count == n) return std::string(ui.tr("mask.all_empty"));
  return ui.tr(count > 3 ? "mask.rows_empty" : "mask.named_empty",
               {{"n", std::to_string(count)}, {"names", names}});
}

// One line of buttons that goes on in the next where the area ends, as long as the matrices keep
// their room; the rest waits for a larger window.
class ToolLine {
 public:
  ToolLine(Ui& ui, const Rect& area) : ui_(ui), area_(area), x_(area.x0), y_(area.y0) {}

  void label(std::string_view text) {
    if (!room(ui_.measure(ui_.fonts.control, text).x + ui_.px(70))) return;
    ui_.text(ui_.fonts.control, {x_, y_ + ui_.px(5)}, ui_.theme.muted, text);
    x_ += ui_.measure(ui_.fonts.control, text).x + ui_.px(8);
  }
  bool button(std::string_view id, std::string_view text, bool on, std::string_view help) {
    const float width = ui_.measure(ui_.fonts.control, text).x + ui_.px(18);
    if (!room(width)) return false;
    const bool pressed =
        ui_.button(id, text, {x_, y_, x_ + width, y_ + ui_.px(26)}, on, true, help);
    x_ += width + ui_.px(3);
    return pressed;
  }
  void gap() { x_ += ui_.px(10); }
  float bottom() const { return y_ + ui_.px(26); }

 private:
  // Is there room? Later buttons stay behind the first one that finds none.
  bool room(float width) {
    if (full_) return false;
    if (x_ + width <= area_.x1 || x_ == area_.x0) return true;
    full_ = area_.y1 - y_ - ui_.px(57) < ui_.px(90);
    if (full_) return false;
    x_ = area_.x0;
    y_ += ui_.px(31);
    return true;
  }
  Ui& ui_;
  Rect area_;
  float x_, y_;
  bool full_ = false;
};

void brush_tools(const AppState& state, Ui& ui, ToolLine& line) {
  line.label(ui.tr("mask.brush"));
  constexpr std::string_view kBrushes[] = {"cell", "row", "column", "triangle"};
  for (int b = 0; b < 4; ++b) {
    const std::string word(kBrushes[b]);
    if (line.button("brush/" + word, ui.tr("mask.brush." + word),
                    static_cast<int>(state.session.brush) == b,
                    ui.tr("mask.brush." + word + ".help")))
      ui.push(ChooseBrush{static_cast<Brush>(b)});
  }
  line.gap();
}

// Of what is forbidden to the chosen head alone.
void head_tools(const AppState& state, Ui& ui, ToolLine& line) {
  const MaskSpec& mask = state.document().config.mask;
  const int head = state.session.head;
  if (line.button("paint/clear_head", ui.tr("mask.clear"), false, ui.tr("mask.clear_head_help")))
    push_mask(state, ui, with_own_cells(mask, head, {}));
}

// Of numbers from a file.
void file_tools(const AppState& state, Ui& ui, ToolLine& line) {
  line.gap();
  if (line.button("paint/load", ui.tr("mask.load"), false, ui.tr("command.mask/load.help")))
    ui.push(DoCommand{Command::kMaskFile});
  MaskSpec mask = state.document().config.mask;
  if (mask.added.empty()) return;
  if (!line.button("paint/remove", ui.tr("mask.remove"), false, ui.tr("mask.remove_help"))) return;
  mask.added = {};
  push_mask(state, ui, mask);
}

void start_tools(const AppState& state, Ui& ui, ToolLine& line) {
  const int tokens = tokens_of(state);
  const MaskSpec& mask = state.document().config.mask;
  line.label(ui.tr("mask.start"));
  for (const MaskKind kind :
       {MaskKind::kCausal, MaskKind::kLocal, MaskKind::kStrided, MaskKind::kPadding}) {
    const std::string id(word(kind));
    if (!line.button("paint/" + id, ui.tr("mask.start." + id), false, ui.tr("mask.start_help")))
      continue;
    MaskSpec start = mask;
    start.kind = kind;
    start.causal.reset();
    push_mask(state, ui, as_free(start, tokens));
  }
  line.gap();
  if (line.button("paint/clear", ui.tr("mask.clear"), false, ui.tr("mask.clear_help"))) {
    MaskSpec open = mask;
    open.kind = MaskKind::kNone;
    push_mask(state, ui, as_free(open, tokens));
  }
  if (line.button("paint/invert", ui.tr("mask.invert"), false, ui.tr("mask.invert_help")))
    push_mask(state, ui, inverted(mask, tokens));
}

}  // namespace

float draw_mask_tools(const AppState& state, Ui& ui, const Rect& area) {
  const bool added = is_added_page(state);
  if (!is_mask_page(state) && !added) return 0;
  ToolLine line(ui, area);
  brush_tools(state, ui, line);
  const std::string head = std::to_string(state.session.head);
  // What only single heads are forbidden, and numbers that are added, stand behind the scores.
  const bool apart = state.derived.trace->config().keeps_pattern();
  const bool heads = state.derived.trace->config().head_count() > 1 && apart;
  if (!added && heads &&
      line.button("brush/one_head", ui.tr("mask.one_head", {{"head", head}}),
                  state.session.brush_one_head, ui.tr("mask.one_head_help", {{"head", head}})))
    ui.push(BrushOneHead{!state.session.brush_one_head});
  if (!added && heads) line.gap();
  paints_one_head(state) ? head_tools(state, ui, line) : start_tools(state, ui, line);
  if (apart) file_tools(state, ui, line);
  float bottom = line.bottom() + ui.px(4);
  const std::string empty = added ? "" : empty_rows(state, ui);
  const bool roomy = area.y1 - bottom > ui.px(230);
  const int nearest = added ? 0 : in_layer(state, {}).nearest;
  const std::string hint = paints_one_head(state) ? ui.tr("mask.hint_head", {{"head", head}})
                           : nearest > 0
                               ? ui.tr("mask.hint_nearest", {{"n", std::to_string(nearest)}})
                               : std::string(ui.tr("mask.hint"));
  const std::string words = !empty.empty() ? empty : roomy ? hint : "";
  bottom += ui.wrapped(ui.fonts.note, {area.x0, bottom}, area.width(),
                       empty.empty() ? ui.theme.muted : ui.theme.text, words);
  return bottom - area.y0 + ui.px(2);
}

void paint_mask(const AppState& state, Ui& ui, const PlacedPane& p, std::string_view pane_id) {
  if (!is_mask_pane(state, p)) return;
  draw_pending(state, ui, p);
  stroke_while_held(state, ui, p, state.session.brush, ui.hot_id(pane_id));
}

void draw_mask_handles(const AppState& state, Ui& ui, const PlacedPane& p) {
  if (!is_mask_pane(state, p)) return;
  const float size = ui.px(7), gap = ui.px(3);
  const Rect rows{p.rect.x0 - gap - size, p.rect.y0, p.rect.x0 - gap, p.rect.y1};
  // Where labels stand above the columns the bar is thin, but what takes the mouse is not.
  const float above = ui.px(p.column_labels ? 14 : 5);
  const Rect columns{p.rect.x0, p.rect.y0 - above, p.rect.x1, p.rect.y0 - ui.px(1)};
  const Rect thin{p.rect.x0, p.rect.y0 - ui.px(5), p.rect.x1, p.rect.y0 - ui.px(2)};
  const auto handle = [&](std::string_view id, const Rect& r, const Rect& bar, Brush brush,
                          std::string_view help) {
    bool over = false;
    ui.hot(id, r, &over);
    const bool held = ImGui::IsItemActive();
    ImGui::GetWindowDrawList()->AddRectFilled(
        bar.min(), bar.max(), to_u32(over || held ? ui.theme.muted : ui.theme.line), ui.px(2));
    if (over && !held) ui.tooltip(help);
    stroke_while_held(state, ui, p, brush, ui.hot_id(id));
  };
  handle("paint/rows", rows, rows, Brush::kRow, ui.tr("mask.rows_help"));
  handle("paint/columns", columns, thin, Brush::kColumn, ui.tr("mask.columns_help"));
}

}  // namespace headlight
