#include "app/ui/stage/motion_card.h"

#include <algorithm>
#include <cmath>

#include "app/ui/matrix/pane_view.h"
#include "app/ui/stage/stage_view.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

bool meet(const Rect& a, const Rect& b) {
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

// From a point to as far as nothing is met, first along one axis, then along the other.
Rect grown(ImVec2 seed, const Rect& area, const std::vector<Rect>& obstacles, bool wide_first) {
  Rect r{seed.x, seed.y, seed.x + 0.5f, seed.y + 0.5f};
  for (const bool wide : {wide_first, !wide_first}) {
    float low = wide ? area.x0 : area.y0, high = wide ? area.x1 : area.y1;
    for (const Rect& o : obstacles) {
      const bool beside = wide ? o.y0 < r.y1 && r.y0 < o.y1 : o.x0 < r.x1 && r.x0 < o.x1;
      if (!beside) continue;
      const float o0 = wide ? o.x0 : o.y0, o1 = wide ? o.x1 : o.y1;
      const float at = wide ? seed.x : seed.y;
      if (o1 <= at) low = std::max(low, o1);
      if (o0 > at) high = std::min(high, o0);
    }
    (wide ? r.x0 : r.y0) = low;
    (wide ? r.x1 : r.y1) = high;
  }
  return r;
}

// A line of the card, as words.
struct Line {
  std::string name, value, factor, amount;
};

// What is told, and with what it is drawn.
struct Told {
  Ui& ui;
  const Trace& trace;
  const StepPage& page;
  const Telling& telling;
};

// Font, columns and place of a card.
struct Card {
  ImFont* font = nullptr;
  float line = 0, title = 0, pad = 0, between = 0;    // heights of lines, room between columns
  float name = 0, value = 0, factor = 0, amount = 0;  // widths within a column
  float sign = 0;
  bool full = true;  // with the factors; otherwise name and amount only
  int columns = 0, rows = 0;
  Rect rect = {};
  std::size_t capacity() const {
    return static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows);
  }
  float width() const { return name + (full ? value + factor + 2 * sign : 0) + amount; }
  float width(int count) const {
    return static_cast<float>(count) * (width() + between) - between + 2 * pad;
  }
};

bool has_factor(const Telling& t, std::size_t i) {
  const Term& term = t.cell.terms[t.lines[i]];
  return t.exponentials || term.factor != 1 || !term.factor_cells.empty();
}

std::string symbol_of(const Trace& trace, const CellRef& cell) {
  if (cell.tensor < 0) return "";
  return std::string(trace.program().tensors[static_cast<std::size_t>(cell.tensor)].symbol);
}

// Terms that run along an axis are named by their place on it, single ones by their tensor.
std::string line_name(const Trace& trace, const Telling& t, std::size_t i) {
  const Term& term = t.cell.terms[t.lines[i]];
  if (term.cell.tensor < 0) return "";
  const auto same = [&](std::size_t other) {
    return other < t.lines.size() && t.cell.terms[t.lines[other]].cell.tensor == term.cell.tensor;
  };
  if (!same(i + 1) && (i == 0 || !same(i - 1))) return symbol_of(trace, term.cell);
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(term.cell.tensor)];
  return token_label(trace.name(spec.axes.back().name, term.cell.index.back()));
}

Line line_of(const Trace& trace, const Telling& t, std::size_t i) {
  const Term& term = t.cell.terms[t.lines[i]];
  Line line{line_name(trace, t, i), "", "", signed_number(t.amount(i))};
  if (!has_factor(t, i)) return line;
  line.value = number_text(term.value);
  line.factor = t.exponentials ? "" : number_text(term.factor);
  if (t.exponentials) line.amount = number_text(t.amount(i));
  return line;
}

Color color_of(const Ui& ui, const Trace& trace, const CellRef& cell) {
  return tensor_color(ui.theme, trace.program(), cell.tensor);
}

// How wide the columns must be; where there are very many lines some stand for all.
Card measured_card(const Told& told, ImFont* font) {
  const Ui& ui = told.ui;
  Card card;
  card.font = font;
  card.line = std::round(font_size(font) * 1.5f);
  card.title = ui.px(26);
  card.pad = ui.px(8);
  card.between = ui.px(22);
  card.sign = ui.measure(font, "0").x * 2.2f;
  const std::size_t count = told.telling.lines.size(), stride = count / 64 + 1;
  for (std::size_t i = 0; i < count; i += stride) {
    const Line line = line_of(told.trace, told.telling, i);
    card.name = std::max(card.name, ui.measure(font, line.name).x);
    card.value = std::max(card.value, ui.measure(font, line.value).x);
    card.factor = std::max(card.factor, ui.measure(font, line.factor).x);
    card.amount = std::max(card.amount, ui.measure(font, line.amount).x);
  }
  if (stride > 1) {
    const float any = ui.measure(font, "−0.00012345").x;
    if (card.value > 0) card.value = any;
    if (card.factor > 0) card.factor = any;
    card.amount = any;
  }
  card.name = std::min(card.name, ui.px(90)) + ui.px(10);
  return card;
}

// What must stay to be seen: operands, their labels and captions, the first row of the result.
std::vector<Rect> obstacles_of(const Told& told, const StagePlacement& placement) {
  const Ui& ui = told.ui;
  const StageMeasures m = stage_measures(ui, told.trace, told.page);
  std::vector<Rect> all;
  for (const PlacedPane& p : placement.panes) {
    const bool result = p.pane->pane.input < 0;
    Rect cells = p.rect;
    if (result) cells.y1 = std::min(cells.y1, cells.y0 + std::max(p.cell_h, ui.px(6)));
    const float around = ui.px(6);
    all.push_back({cells.x0 - around,
                   cells.y0 - around - (p.column_labels ? m.column_label_height : 0),
                   cells.x1 + around, cells.y1 + around});
    if (p.row_labels)
      all.push_back({p.rect.x0 - m.row_label_width, p.rect.y0, p.rect.x0, p.rect.y1});
    const PaneRole role = p.pane->pane.role;
    if (role == PaneRole::kTop || role == PaneRole::kRowVector) {
      const float middle = (p.rect.y0 + p.rect.y1) / 2;
      all.push_back(
          {p.rect.x1, middle - ui.px(12), p.rect.x1 + m.side_caption, middle + ui.px(12)});
    } else {
      const float half = std::max(p.rect.width() / 2, ui.px(60)), x = (p.rect.x0 + p.rect.x1) / 2;
      all.push_back({x - half, p.rect.y1, x + half, p.rect.y1 + m.caption_height + ui.px(2)});
    }
  }
  for (const PlacedSign& s : placement.signs) {
    const float half = ui.px(14);
    all.push_back({s.x - half, s.y - half, s.x + half, s.y + half});
  }
  return all;
}

// How many lines a place can hold, in columns side by side: as few columns as hold all.
Card fitted(Card card, const Rect& place, int lines) {
  const float height = place.height() - 2 * card.pad - card.title;
  card.full = card.width(1) <= place.width();
  const int rows = std::min(lines, static_cast<int>(std::max(height, 0.0f) / card.line));
  int columns = 0;
  while (rows > 0 && columns * rows < lines && card.width(columns + 1) <= place.width()) ++columns;
  if (columns == 0) return card;
  card.columns = columns;
  card.rows = std::min(rows, (lines + columns - 1) / columns);
  return card;
}

float distance_to(const Rect& r, ImVec2 p) {
  const float x = std::max({r.x0 - p.x, 0.0f, p.x - r.x1});
  const float y = std::max({r.y0 - p.y, 0.0f, p.y - r.y1});
  return std::sqrt(x * x + y * y);
}

// Where in its place a card stands: next to the cell.
Rect card_rect(const Ui& ui, const Card& card, const Rect& place, ImVec2 cell) {
  const float width = std::min(place.width(), std::max(card.width(card.columns), ui.px(150)));
  const float height = card.title + static_cast<float>(card.rows) * card.line + 2 * card.pad;
  const float x = std::clamp(cell.x, place.x0, std::max(place.x0, place.x1 - width));
  const float y = std::clamp(cell.y, place.y0, std::max(place.y0, place.y1 - height));
  return {std::round(x), std::round(y), std::round(x + width), std::round(y + height)};
}

// The place and font that show the most lines; among equals the larger font, then the place nearer
// to the cell.
Card best_card(const Told& told, const Rect& area, const StagePlacement& placement, ImVec2 cell) {
  const Ui& ui = told.ui;
  const std::vector<Rect> places = free_places(area, obstacles_of(told, placement));
  const auto lines = static_cast<int>(told.telling.lines.size());
  Card best;
  float best_score = 0;
  for (ImFont* font : {ui.fonts.mono, ui.fonts.mono_small}) {
    const Card measured = measured_card(told, font);
    for (const Rect& place : places) {
      Card card = fitted(measured, place, lines);
      const int shown = std::min(card.columns * card.rows, lines);
      const float far = std::min(distance_to(place, cell) / (area.width() + 1), 1.0f);
      const float score = static_cast<float>(shown) * (card.full ? 1.0f : 0.35f) *
                          (font == ui.fonts.mono ? 1.15f : 1.0f) * (1 - 0.3f * far);
      if (score <= best_score) continue;
      best_score = score;
      best = card;
      best.rect = card_rect(ui, card, place, cell);
    }
  }
  return best;
}

void draw_line(const Told& told, const Card& card, std::size_t i, float x, float y, bool current) {
  Ui& ui = told.ui;
  const Term& term = told.telling.cell.terms[told.telling.lines[i]];
  const Line line = line_of(told.trace, told.telling, i);
  if (current) {
    ImGui::GetWindowDrawList()->AddRectFilled({x - ui.px(4), y},
                                              {x + card.width() + ui.px(4), y + card.line},
                                              to_u32(ui.theme.selection), ui.px(3));
  }
  y += (card.line - font_size(card.font)) / 2;
  ui.user_text(card.font, {x, y}, ui.theme.muted, line.name, card.name - ui.px(6));
  const float end = x + card.width();
  ui.text_right(card.font, end, y, ui.theme.text, line.amount);
  if (!card.full || line.value.empty()) return;
  const float value = x + card.name + card.value, factor = value + card.sign + card.factor;
  ui.text_right(card.font, value, y, color_of(ui, told.trace, term.cell), line.value);
  const auto sign = [&](float left, std::string_view words) {
    ui.text(card.font, {left + (card.sign - ui.measure(card.font, words).x) / 2, y}, ui.theme.muted,
            words);
  };
  if (line.factor.empty()) return sign(value + card.factor + card.sign, "→");
  const Color own =
      term.factor_cells.empty() ? ui.theme.text : color_of(ui, told.trace, term.factor_cells[0]);
  sign(value, "×");
  ui.text_right(card.font, factor, y, own, line.factor);
  sign(factor, "=");
}

// "S[The, animal]": the head stands above the page already.
std::string cell_name(const Trace& trace, const CellRef& cell) {
  const TensorView t = trace.tensor(cell.tensor);
  const std::string symbol = symbol_of(trace, cell);
  std::string name = symbol + "[";
  for (std::size_t a = 0; a < t.axes.size(); ++a) {
    const std::string& axis = t.axes[a].name;
    if (axis == "batch" || axis == "head") continue;
    if (name.back() != '[') name += ", ";
    name += token_label(trace.name(axis, cell.index[a]));
  }
  return name.ends_with('[') ? symbol : name + "]";
}

// The number beside the cell's name: how far the sum has come, in the end the cell itself.
std::string total_text(const Telling& t, const Motion& m) {
  if (m.phase == MotionPhase::kSum) return t.running_text(static_cast<std::size_t>(m.terms_summed));
  if (m.phase < MotionPhase::kSum) return "";
  return number_text(t.cell.value);
}

void draw_title(const Told& told, const Card& card, const Motion& m) {
  Ui& ui = told.ui;
  const float y = card.rect.y0 + card.pad, right = card.rect.x1 - card.pad;
  const std::string total = total_text(told.telling, m);
  float room = right - card.rect.x0 - card.pad;
  if (!total.empty()) {
    ui.text_right(ui.fonts.mono, right, y + ui.px(1), ui.theme.text, total);
    room -= ui.measure(ui.fonts.mono, total).x + ui.px(10);
  }
  const std::string name = cell_name(told.trace, told.telling.cell.cell);
  ui.user_text(ui.fonts.strong, {card.rect.x0 + card.pad, y}, ui.theme.text, name, room);
  const float under = y + card.title - ui.px(6);
  ImGui::GetWindowDrawList()->AddLine({card.rect.x0 + card.pad, under}, {right, under},
                                      to_u32(ui.theme.line));
}

// The lines that have come; with more lines than room the earlier ones make way.
void draw_lines(const Told& told, const Card& card, const Motion& m) {
  Ui& ui = told.ui;
  const auto shown = static_cast<std::size_t>(m.terms_shown), capacity = card.capacity();
  const bool summing = m.phase == MotionPhase::kSum;
  const std::size_t now = summing ? static_cast<std::size_t>(m.terms_summed) : shown;
  const std::size_t first = now > capacity ? now - capacity + 1 : 0;
  const auto place = [&](std::size_t slot) {
    const auto rows = static_cast<std::size_t>(card.rows);
    return ImVec2{
        card.rect.x0 + card.pad + static_cast<float>(slot / rows) * (card.width() + card.between),
        card.rect.y0 + card.pad + card.title + static_cast<float>(slot % rows) * card.line};
  };
  std::size_t slot = 0;
  if (first > 0) {
    const ImVec2 at = place(slot++);
    const float y = at.y + (card.line - font_size(card.font)) / 2;
    const double sum = told.telling.running(first);
    const std::string words = told.telling.exponentials ? number_text(sum) : signed_number(sum);
    ui.text_right(card.font, at.x + card.width(), y, ui.theme.muted, words);
    ui.user_text(ui.fonts.note, {at.x, y}, ui.theme.muted,
                 ui.tr("motion.before", {{"n", count_text(static_cast<long long>(first))}}),
                 card.width() - ui.measure(card.font, words).x - ui.px(6));
  }
  for (std::size_t i = first; i < shown && slot < capacity; ++i, ++slot) {
    const ImVec2 at = place(slot);
    draw_line(told, card, i, at.x, at.y, m.phase <= MotionPhase::kSum && i + 1 == now);
  }
}

}  // namespace

std::vector<Rect> free_places(const Rect& area, const std::vector<Rect>& obstacles) {
  constexpr int kAcross = 12, kDown = 10;
  std::vector<Rect> places;
  for (int i = 0; i < kAcross * kDown; ++i) {
    const ImVec2 seed{area.x0 + area.width() * (static_cast<float>(i % kAcross) + 0.5f) / kAcross,
                      area.y0 + area.height() * (static_cast<float>(i / kAcross) + 0.5f) / kDown};
    const Rect point{seed.x, seed.y, seed.x + 0.5f, seed.y + 0.5f};
    if (std::any_of(obstacles.begin(), obstacles.end(),
                    [&](const Rect& o) { return meet(o, point); }))
      continue;
    for (const bool wide_first : {true, false}) {
      const Rect r = grown(seed, area, obstacles, wide_first);
      const auto same = [&](const Rect& o) {
        return o.x0 == r.x0 && o.y0 == r.y0 && o.x1 == r.x1 && o.y1 == r.y1;
      };
      if (std::none_of(places.begin(), places.end(), same)) places.push_back(r);
    }
  }
  return places;
}

void draw_motion_card(Ui& ui, const Trace& trace, const StepPage& page, const Rect& area,
                      const StagePlacement& placement, const Telling& telling, const Motion& m) {
  const auto result = std::find_if(placement.panes.begin(), placement.panes.end(),
                                   [](const PlacedPane& p) { return p.pane->pane.input < 0; });
  if (result == placement.panes.end() || telling.lines.empty()) return;
  const ImVec2 cell{result->rect.x0 + result->cell_w, result->rect.y0 + result->cell_h};
  const Told told{ui, trace, page, telling};
  const Card card = best_card(told, area, placement, cell);
  if (card.rows == 0) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(card.rect.min(), card.rect.max(), to_u32(ui.theme.surface), ui.px(6));
  list->AddRect(card.rect.min(), card.rect.max(), to_u32(ui.theme.line), ui.px(6));
  ui.drawn.add("motion/card", card.rect.min(), card.rect.max());
  draw_title(told, card, m);
  draw_lines(told, card, m);
}

}  // namespace headlight
