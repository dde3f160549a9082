// Pairs of numbers that turn, as arrows: the chosen pair, all pairs of its row, and the same pair
// at every position. The numbers are the trace's, the angles the operation's.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/ui/matrix/pane_view.h"
#include "app/ui/stage/stage_motion.h"
#include "app/ui/stage/stage_view.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

using Arrow = std::array<double, 2>;

double length(const Arrow& a) { return std::hypot(a[0], a[1]); }
bool holds(const OpPair& p, std::int64_t column) { return p.first == column || p.second == column; }
Color faint(Color color) { return faded(color, 0.5f); }

// In screen pixels; circles are larger in a large window.
struct Measures {
  float title, label, dial, column, gap, names;
  float left = 0;  // of the strips: the large circle stands there
  float strip() const { return dial + 2 * label; }
  float height() const { return title + 2 * strip() + gap; }
};

Measures measures(const Ui& ui, const Pane& pane) {
  const float dial =
      std::clamp(ImGui::GetIO().DisplaySize.y * 0.05f - ui.px(4), ui.px(30), ui.px(72));
  const float number = ui.measure(ui.fonts.mono_small, "0.0000").x;
  const std::string most = std::to_string(std::max(pane.rows, pane.columns));
  float names = 0;
  for (const std::string id : {"radius", "pairs", "positions", "features", "angle"}) {
    const std::string words = ui.tr("stage.pairs." + id, {{"first", most},
                                                          {"last", most},
                                                          {"n", most},
                                                          {"r", "0.000"},
                                                          {"pair", most + ", " + most}});
    names = std::max(names, ui.measure(ui.fonts.note, words).x);
  }
  Measures m{ui.px(22), ui.px(14),        dial, std::max(dial, number) + ui.px(6),
             ui.px(4),  names + ui.px(10)};
  m.left = m.height() - m.title + ui.px(28);
  return m;
}

void draw_arrow(Ui& ui, ImVec2 from, ImVec2 tip, Color color, float thick) {
  ui.drawn.add_mark(DrawnMark::Kind::kArrow, from, tip);
  const float x = tip.x - from.x, y = tip.y - from.y, size = std::hypot(x, y);
  if (size < 1) return;
  const float head = std::min(size, 2.2f * thick + ui.px(3));
  const ImVec2 u{x / size * head, y / size * head}, neck{tip.x - u.x, tip.y - u.y};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine(from, neck, to_u32(color), thick);
  list->AddTriangleFilled(tip, {neck.x - u.y * 0.45f, neck.y + u.x * 0.45f},
                          {neck.x + u.y * 0.45f, neck.y - u.x * 0.45f}, to_u32(color));
}

// A circle of `longest` with the arrow before and the arrow so far. The first number points right,
// the second up; the arc is the angle, a whole ring under it stands for full turns.
void draw_dial(Ui& ui, ImVec2 center, float radius, const TurnedPair& p, double part,
               double longest, Color color) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto at = [&](const Arrow& a, double scale) {
    return ImVec2{center.x + static_cast<float>(a[0] * scale),
                  center.y - static_cast<float>(a[1] * scale)};
  };
  list->AddCircleFilled(center, radius, to_u32(ui.theme.surface), 48);
  for (const Arrow& axis : {Arrow{1, 0}, Arrow{0, 1}})
    list->AddLine(at(axis, -radius), at(axis, radius), to_u32(ui.theme.line));
  list->AddCircle(center, radius, to_u32(faded(ui.theme.muted, 0.7f)), 48);
  const Arrow& from = p.before;
  const double angle = p.pair.angle * part, c = std::cos(angle), s = std::sin(angle);
  const Arrow to =
      part == 1 ? p.after : Arrow{from[0] * c - from[1] * s, from[0] * s + from[1] * c};
  if (const double both = length(from) + length(to); !std::isfinite(both)) {
    const std::string words = number_text(both, 3);
    const ImVec2 size = ui.measure(ui.fonts.mono_small, words);
    ui.text(ui.fonts.mono_small, {center.x - size.x / 2, center.y - size.y / 2}, ui.theme.error,
            words);
    return;
  }
  const double full = 2 * std::numbers::pi;
  const float arc = radius * 0.45f, start = static_cast<float>(-std::atan2(from[1], from[0]));
  if (std::fabs(angle) >= full) list->AddCircle(center, arc, to_u32(ui.theme.muted), 40);
  list->PathArcTo(center, arc, start, start - static_cast<float>(std::fmod(angle, full)), 40);
  list->PathStroke(to_u32(ui.theme.text), 0, ui.px(1.5f));
  const double scale = longest > 0 ? radius / longest : 0;
  const float thick = ui.px(1.25f) + radius * 0.02f;
  draw_arrow(ui, center, at(from, scale), faint(color), thick);
  draw_arrow(ui, center, at(to, scale), color, thick);
}

// What is looked at, and how far its motion has come.
struct Looked {
  const Trace& trace;
  const Step& step;
  const StepPage& page;
  ChosenCell cell;
  std::optional<Motion> motion = {};  // only while the result is being made
  std::vector<TurnedPair> pairs = {};
  std::size_t chosen = 0;  // in pairs

  const PagePane& result() const { return page.lines[0].back(); }
  const TurnedPair& now() const { return pairs[chosen]; }
  double part(std::int64_t row) const {
    return motion ? std::clamp(motion->rows_done - static_cast<double>(row), 0.0, 1.0) : 1.0;
  }
  // A cell of the pair: the one that is looked at, or its first.
  CellPick pick(std::int64_t row, const OpPair& p) const {
    const TensorView t = trace.tensor(result().tensor);
    const std::int64_t column = holds(p, cell.column) ? cell.column : p.first;
    return {std::string(t.name), unravel(t.axes, pane_flat(result().pane, row, column))};
  }
  std::string token(std::int64_t row) const {
    return token_label(shortened(trace.name(result().pane.row_axis, row), 16));
  }
};

// Circles in a line, each with its name above and its angle below; `names` stand left of these
// lines and of the circles.
struct Strip {
  std::array<std::string, 3> names;
  struct Item {
    std::string id, above;
    CellPick cell;
    TurnedPair pair;
    double part = 1;
    bool chosen = false;
  };
  std::vector<Item> items = {};
  double longest = 0;

  void add(Item item) {
    for (const Arrow& a : {item.pair.before, item.pair.after}) {
      if (std::isfinite(length(a))) longest = std::max(longest, length(a));
    }
    items.push_back(std::move(item));
  }
};

std::optional<CellPick> draw_strip(Ui& ui, const Measures& m, ImVec2 at, const Strip& strip,
                                   Color color) {
  const float middle = at.y + m.label + m.dial / 2, below = at.y + m.label + m.dial + ui.px(1);
  const auto name = [&](float y, Color ink, const std::string& words) {
    ui.text(ui.fonts.note, {at.x, y}, ink, words, m.names);
  };
  name(at.y, ui.theme.muted, strip.names[0]);
  name(middle - ui.px(15), ui.theme.text, strip.names[1]);
  name(middle, ui.theme.muted, ui.tr("stage.pairs.radius", {{"r", number_text(strip.longest, 3)}}));
  name(below, ui.theme.muted, strip.names[2]);
  std::optional<CellPick> hovered;
  float x = at.x + m.names;
  for (const Strip::Item& item : strip.items) {
    const Rect r{x, at.y - ui.px(1), x + m.column, below + m.label};
    bool over = false;
    if (ui.hot(item.id, r, &over)) ui.push(PickCell{item.cell});
    if (over) hovered = item.cell;
    if (over || item.chosen)
      ImGui::GetWindowDrawList()->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.selection),
                                                ui.px(4));
    const auto centered = [&](ImFont* font, float y, const std::string& words) {
      const float room = m.column - ui.px(4), width = std::min(ui.measure(font, words).x, room);
      ui.user_text(font, {(r.x0 + r.x1 - width) / 2, y},
                   item.chosen ? ui.theme.text : ui.theme.muted, words, room);
    };
    centered(ui.fonts.note, at.y, item.above);
    draw_dial(ui, {(r.x0 + r.x1) / 2, middle}, m.dial / 2 - ui.px(1), item.pair, item.part,
              strip.longest, color);
    centered(ui.fonts.mono_small, below,
             fitting_number(ui, item.pair.pair.angle, m.column - ui.px(4)));
    x += m.column;
  }
  return hovered;
}

// "pairs 8–15 of 32"
std::string range_words(const Ui& ui, std::string_view id, std::int64_t first, std::int64_t last,
                        std::size_t all) {
  return ui.tr(id, {{"first", std::to_string(first)},
                    {"last", std::to_string(last)},
                    {"n", std::to_string(all)}});
}

std::string names_of(const OpPair& p) {
  return std::to_string(p.first) + ", " + std::to_string(p.second);
}

// Those of the page that holds `chosen`, where `room` find room; pages are of about equal length.
std::vector<std::int64_t> page_of(std::size_t all, std::size_t chosen, std::size_t room) {
  const std::size_t pages = (all + room - 1) / room;
  return shown_columns(std::vector<double>(all), static_cast<std::int64_t>(chosen),
                       (all + pages - 1) / pages, false);
}

// The pairs of the row.
Strip pairs_strip(const Ui& ui, const Looked& l, std::size_t room) {
  Strip strip{
      {ui.tr("stage.pairs.features", {{"pair", ""}}), "", std::string(ui.tr("stage.pairs.angle"))}};
  const std::vector<std::int64_t> shown = page_of(l.pairs.size(), l.chosen, room);
  for (const std::int64_t i : shown) {
    const TurnedPair& p = l.pairs[static_cast<std::size_t>(i)];
    strip.add({"pair/" + std::to_string(i), names_of(p.pair), l.pick(l.cell.row, p.pair), p,
               l.part(l.cell.row), holds(p.pair, l.cell.column)});
  }
  strip.names[1] =
      range_words(ui, "stage.pairs.pairs", shown.front(), shown.back(), l.pairs.size());
  return strip;
}

// The chosen pair at every position.
Strip places_strip(const Ui& ui, const Looked& l, std::size_t room) {
  Strip strip{{ui.tr("stage.pairs.features", {{"pair", names_of(l.now().pair)}}), "",
               std::string(ui.tr("stage.pairs.angle"))}};
  const auto all = static_cast<std::size_t>(l.result().pane.rows);
  const auto shown = page_of(all, static_cast<std::size_t>(l.cell.row), room);
  for (const std::int64_t row : shown) {
    const TurnedPair p = open_pairs(l.trace, l.step, l.page, row)[l.chosen];
    strip.add({"pair/at/" + std::to_string(row), l.token(row), l.pick(row, p.pair), p, l.part(row),
               row == l.cell.row});
  }
  strip.names[1] = range_words(ui, "stage.pairs.positions", shown.front(), shown.back(), all);
  return strip;
}

// What the pair was, by how much it turned, what it became; before and after as strokes.
void draw_title(Ui& ui, const Looked& l, const Rect& r, Color color) {
  float right = r.x1;
  for (const bool after : {true, false}) {
    const std::string_view words = ui.tr(after ? "stage.pairs.after" : "stage.pairs.before");
    ui.text_right(ui.fonts.note, right, r.y0 + ui.px(2), ui.theme.muted, words);
    const float line = right - ui.measure(ui.fonts.note, words).x - ui.px(4), y = r.y0 + ui.px(9);
    draw_arrow(ui, {line - ui.px(20), y}, {line, y}, after ? color : faint(color), ui.px(1.75f));
    right = line - ui.px(32);
  }
  const auto number = [](double value) { return number_text(value, 3); };
  const TurnedPair& p = l.now();
  const bool turns = holds(p.pair, l.cell.column);
  const std::string words = ui.tr(turns ? "stage.pairs.title" : "stage.pairs.title.still",
                                  {{"token", l.token(l.cell.row)},
                                   {"t", std::to_string(l.cell.row)},
                                   {"f", std::to_string(l.cell.column)},
                                   {"a", number(p.before[0])},
                                   {"b", number(p.before[1])},
                                   {"angle", number_text(p.pair.angle, 4)},
                                   {"c", number(p.after[0])},
                                   {"d", number(p.after[1])}});
  ui.user_text(ui.fonts.control, r.min(), ui.theme.text, words, right - r.x0);
}

// The chosen pair alone, its axes named by its features.
void draw_large(Ui& ui, const Looked& l, const Rect& r, double longest, Color color) {
  const float radius = r.height() / 2 - ui.px(8);
  const ImVec2 center{r.x0 + radius + ui.px(2), r.y1 - radius};
  draw_dial(ui, center, radius, l.now(), l.part(l.cell.row), longest, color);
  const std::string first = "f " + std::to_string(l.now().pair.first),
                    second = "f " + std::to_string(l.now().pair.second);
  ui.text(ui.fonts.mono_small, {center.x - ui.measure(ui.fonts.mono_small, second).x / 2, r.y0},
          ui.theme.muted, second);
  ui.text(ui.fonts.mono_small, {center.x + radius + ui.px(4), center.y - ui.px(7)}, ui.theme.muted,
          first);
}

Looked look_at_pairs(const AppState& state, const Step& step, const StepPage& page,
                     ChosenCell cell) {
  Looked l{*state.derived.trace, step, page, cell};
  l.motion = shown_motion(state);
  if (l.motion && l.motion->phase == MotionPhase::kDone) l.motion.reset();
  // Rows are made too fast for looking at one pair after the other.
  if (l.motion) l.cell.column = page_link(l.trace, page, state.session.picked).column.value_or(0);
  l.pairs = open_pairs(l.trace, step, page, cell.row);
  for (std::size_t i = 0; i < l.pairs.size(); ++i) {
    if (holds(l.pairs[i].pair, l.cell.column)) l.chosen = i;
  }
  return l;
}

}  // namespace

DetailNeed pairs_need(const Ui& ui, const Pane& pane) {
  const Measures m = measures(ui, pane);
  // Numbers that turn are not seen in a matrix, however large its cells.
  return {0, 0, m.left + m.names + 4 * m.column, m.height(), 0.3f};
}

std::optional<CellPick> draw_pairs(const AppState& state, Ui& ui, const Rect& r, const Step& step,
                                   const StepPage& page, ChosenCell cell) {
  const Looked l = look_at_pairs(state, step, page, cell);
  if (l.pairs.empty()) return std::nullopt;
  const Color color = tensor_color(ui.theme, l.trace.program(), l.result().tensor);
  const Measures m = measures(ui, l.result().pane);
  draw_title(ui, l, r, color);
  const float left = r.x0 + m.left, top = r.y0 + m.title, second = top + m.strip() + m.gap;
  const auto all = static_cast<std::size_t>(l.result().pane.columns),
             still = all - 2 * l.pairs.size();
  const float note = still > 0 ? ui.px(96) : 0, room = r.x1 - left - m.names;
  const auto fit = [&](float width) {
    return static_cast<std::size_t>(std::max(1.0f, width / m.column));
  };
  const Strip row = pairs_strip(ui, l, fit(room - note));
  const Strip places = places_strip(ui, l, fit(room));
  draw_large(ui, l, {r.x0, top, left, second + m.strip()}, row.longest, color);
  auto hovered = draw_strip(ui, m, {left, top}, row, color);
  if (still > 0) {
    const float x = left + m.names + m.column * static_cast<float>(row.items.size()) + ui.px(8);
    ui.wrapped(
        ui.fonts.note, {x, top + m.label}, note - ui.px(8), ui.theme.muted,
        ui.tr("stage.pairs.still", {{"n", std::to_string(still)}, {"all", std::to_string(all)}}));
  }
  if (const auto over = draw_strip(ui, m, {left, second}, places, color)) hovered = over;
  return hovered;
}

}  // namespace headlight
