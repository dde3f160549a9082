// The lines view of attention: queries left, keys right, a line for each pair as strong as the
// weight, in a colour for each head.
#include <algorithm>
#include <cmath>
#include <optional>

#include "app/ui/heads/heads_lines.h"
#include "core/base/number_text.h"
#include "core/graph/step_names.h"

namespace headlight {

std::vector<int> shown_line_heads(const Session& session, int heads) {
  std::vector<int> shown;
  for (const int head : session.line_heads) {
    if (head >= 0 && head < heads) shown.push_back(head);
  }
  if (shown.empty()) shown.push_back(std::clamp(session.head, 0, std::max(heads - 1, 0)));
  return shown;
}

namespace {

RowRange within(RowRange range, std::int64_t count) {
  const std::int64_t first = std::clamp<std::int64_t>(range.first, 0, count);
  return {first, std::clamp<std::int64_t>(range.end, first, count)};
}

}  // namespace

std::vector<AttentionLine> attention_lines(const float* pattern, std::int64_t queries,
                                           std::int64_t keys, const std::vector<int>& heads,
                                           RowRange shown, std::size_t most) {
  std::vector<AttentionLine> lines;
  const RowRange rows = within(shown, queries), columns = within(shown, keys);
  for (const int head : heads) {
    for (std::int64_t i = 0; i < queries; ++i) {
      const float* row = pattern + (head * queries + i) * keys;
      const bool query_shown = i >= rows.first && i < rows.end;
      const RowRange in_sight = query_shown ? RowRange{0, keys} : columns;
      for (std::int64_t j = in_sight.first; j < in_sight.end; ++j) {
        if (row[j] >= kMinLine) lines.push_back({head, i, j, row[j]});
      }
    }
  }
  const auto weaker = [](const AttentionLine& a, const AttentionLine& b) {
    return a.weight < b.weight;
  };
  if (lines.size() > most) {
    const auto cut = lines.end() - static_cast<std::ptrdiff_t>(most);
    std::nth_element(lines.begin(), cut, lines.end(), weaker);
    lines.erase(lines.begin(), cut);
  }
  std::sort(lines.begin(), lines.end(), weaker);  // the strongest on top
  return lines;
}

namespace {

constexpr float kRow = 26, kSmallRow = 17;
constexpr std::size_t kMaxLines = 3000;

// Where tokens and lines stand.
struct Columns {
  Rect area;
  float left = 0, right = 0;  // the ends of the lines
  float top = 0, row = 0;
  float tokens = 0;  // room for the tokens beside the ends
  Axis queries, keys;
  float y(std::int64_t i) const { return top + (static_cast<float>(i) + 0.5f) * row; }
  std::int64_t row_at(float y) const {
    return static_cast<std::int64_t>(std::floor((y - top) / row));
  }
};

// What the mouse is on: a token of one side, or a line.
struct Pointed {
  std::optional<std::int64_t> query, key;
  std::optional<AttentionLine> line;
};

bool belongs(const Pointed& at, const AttentionLine& line) {
  if (at.query) return line.query == *at.query;
  if (at.key) return line.key == *at.key;
  return true;
}

float distance(ImVec2 p, ImVec2 a, ImVec2 b) {
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float t =
      std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy), 0.0f, 1.0f);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

// The chips that choose whose lines are drawn. Returns the height.
float draw_head_chips(const AppState& state, Ui& ui, const Rect& area,
                      const std::vector<int>& shown) {
  const int heads = state.derived.trace->config().head_count();
  const float height = ui.px(24), gap = ui.px(4);
  float x = area.x0, y = area.y0;
  const std::string_view title = ui.tr("lines.heads");
  ui.text(ui.fonts.note, {x, y + ui.px(5)}, ui.theme.muted, title);
  const float indent = ui.measure(ui.fonts.note, title).x + ui.px(8);
  x += indent;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (int head = 0; head < heads; ++head) {
    const std::string label = std::to_string(head);
    const float width = ui.measure(ui.fonts.control, label).x + ui.px(28);
    if (x + width > area.x1) {
      x = area.x0 + indent;
      y += height + gap;
    }
    const Rect chip{x, y, x + width, y + height};
    const bool on = std::find(shown.begin(), shown.end(), head) != shown.end();
    bool over = false;
    if (ui.hot("lines/head/" + label, chip, &over)) ui.push(ToggleLineHead{head});
    const Color color = head_color(ui.theme, head, heads);
    if (over) list->AddRectFilled(chip.min(), chip.max(), to_u32(ui.theme.selection), ui.px(6));
    list->AddRect(chip.min(), chip.max(), to_u32(on ? color : ui.theme.line), ui.px(6), 0,
                  on ? ui.px(1.5f) : 1);
    const ImVec2 dot = {x + ui.px(11), y + height / 2};
    if (on) {
      list->AddCircleFilled(dot, ui.px(4.5f), to_u32(color));
    } else {
      list->AddCircle(dot, ui.px(4), to_u32(color), 0, ui.px(1.5f));
    }
    ui.text(on ? ui.fonts.strong : ui.fonts.control, {x + ui.px(20), y + ui.px(4)},
            on ? ui.theme.text : ui.theme.muted, label);
    if (over) ui.tooltip(ui.tr(on ? "lines.head_on" : "lines.head_off", {{"n", label}}));
    x += width + gap;
  }
  return y + height - area.y0;
}

Pointed pointed_at(const Columns& c, const std::vector<AttentionLine>& lines, bool inside,
                   float reach) {
  Pointed at;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!inside || !c.area.contains(mouse)) return at;
  const std::int64_t row = c.row_at(mouse.y);
  if (mouse.x < c.left) {
    if (row >= 0 && row < c.queries.size) at.query = row;
  } else if (mouse.x > c.right) {
    if (row >= 0 && row < c.keys.size) at.key = row;
  } else {
    float best = reach;
    for (const AttentionLine& line : lines) {
      const float d = distance(mouse, {c.left, c.y(line.query)}, {c.right, c.y(line.key)});
      if (d > best) continue;
      best = d;
      at.line = line;
    }
  }
  return at;
}

bool same_line(const AttentionLine& a, const AttentionLine& b) {
  return a.head == b.head && a.query == b.query && a.key == b.key;
}

void draw_strokes(Ui& ui, const Columns& c, const std::vector<AttentionLine>& lines,
                  const Pointed& at, const std::optional<AttentionLine>& picked, int heads) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto stroke = [&](const AttentionLine& line, Color color, float alpha, float width) {
    list->AddLine({c.left, c.y(line.query)}, {c.right, c.y(line.key)}, to_u32(faded(color, alpha)),
                  width);
  };
  for (const AttentionLine& line : lines) {
    if (!belongs(at, line)) continue;
    const Color color = head_color(ui.theme, line.head, heads);
    const float strength = std::pow(std::min(line.weight, 1.0f), 0.75f);  // as heatmaps have it
    stroke(line, color, std::max(strength, 0.05f), ui.px(0.75f + 3.25f * line.weight));
  }
  const auto emphasise = [&](const AttentionLine& line) {
    const Color color = head_color(ui.theme, line.head, heads);
    stroke(line, color, 1, ui.px(1.5f + 3.0f * line.weight));
    for (const ImVec2 end : {ImVec2(c.left, c.y(line.query)), ImVec2(c.right, c.y(line.key))}) {
      list->AddCircleFilled(end, ui.px(3.5f), to_u32(color));
    }
  };
  if (picked && belongs(at, *picked)) emphasise(*picked);
  if (at.line) emphasise(*at.line);
}

// The tokens of one side, in sight.
void draw_token_column(const AppState& state, Ui& ui, const Columns& c, RowRange shown,
                       bool queries, const std::optional<std::int64_t>& lit) {
  const Trace& trace = *state.derived.trace;
  ImFont* font = c.row >= ui.px(22) ? ui.fonts.body : ui.fonts.note;
  const float room = c.tokens;
  const Axis& axis = queries ? c.queries : c.keys;
  for (std::int64_t i = shown.first; i < std::min(shown.end, axis.size); ++i) {
    const std::string label = token_label(trace.tick(axis.name, i));
    ImFont* own = lit == i ? ui.fonts.strong : font;
    const Color color = lit == i ? (queries ? ui.theme.q : ui.theme.k) : ui.theme.text;
    const float width = std::min(room, ui.measure(own, label).x);
    const float y = c.y(i) - font_size(own) * 0.55f;
    const float x = queries ? c.left - ui.px(10) - width : c.right + ui.px(10);
    ui.user_text(own, {x, y}, color, label, room);
    const Rect hit =
        queries ? Rect{x - ui.px(4), c.y(i) - c.row / 2, c.left, c.y(i) + c.row / 2}
                : Rect{c.right, c.y(i) - c.row / 2, x + width + ui.px(4), c.y(i) + c.row / 2};
    if (hit.y1 <= c.area.y1 + 0.5f && hit.y0 >= c.area.y0 - 0.5f) {
      ui.drawn.add((queries ? "lines/query/" : "lines/key/") + std::to_string(i), hit.min(),
                   hit.max());
    }
  }
}

// The weights of the token under the mouse, beside the tokens that its lines lead to.
void draw_weights(Ui& ui, const Columns& c, const std::vector<AttentionLine>& lines,
                  const Pointed& at, const std::vector<int>& shown_heads, int heads) {
  if (!at.query && !at.key && !at.line) return;
  const float column = ui.px(46), tokens = c.tokens + ui.px(20);
  const float room = (at.key ? c.left - c.area.x0 : c.area.x1 - c.right) - tokens;
  const auto columns =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::max(0.0f, room / column)));
  for (const AttentionLine& line : lines) {
    if (at.line ? !same_line(*at.line, line) : !belongs(at, line)) continue;
    const auto place = static_cast<std::size_t>(
        std::find(shown_heads.begin(), shown_heads.end(), line.head) - shown_heads.begin());
    if (place >= columns) continue;
    const std::string number = number_text(line.weight, 2);
    const float offset = tokens + static_cast<float>(place) * column;
    const float y = c.y(at.key ? line.query : line.key) - font_size(ui.fonts.mono_small) * 0.55f;
    const Color color = head_color(ui.theme, line.head, heads);
    if (at.key) {
      ui.text_right(ui.fonts.mono_small, c.left - offset, y, color, number);
    } else {
      ui.text(ui.fonts.mono_small, {c.right + offset, y}, color, number);
    }
  }
}

void act(const AppState& state, Ui& ui, const Columns& c, const Pointed& at,
         const std::vector<AttentionLine>& lines, const std::string& tensor, bool clicked) {
  // A token stands for the strongest of its lines.
  std::optional<AttentionLine> line = at.line;
  if (at.query || at.key) {
    for (const AttentionLine& l : lines) {
      if (belongs(at, l)) line = l;
    }
  }
  std::optional<CellPick> hovered;
  if (line) hovered = CellPick{tensor, {0, line->head, line->query, line->key}};
  if (hovered) ui.hovered_cell = hovered;
  if (clicked && hovered) ui.push(PickCell{*hovered});
  if (!at.line) return;
  const Trace& trace = *state.derived.trace;
  ui.tooltip(ui.tr("lines.tip", {{"head", std::to_string(line->head)},
                                 {"query", token_label(trace.name(c.queries.name, line->query))},
                                 {"key", token_label(trace.name(c.keys.name, line->key))},
                                 {"weight", exact_number(line->weight)}}));
}

std::optional<AttentionLine> picked_line(const AppState& state, const std::string& tensor,
                                         const std::vector<int>& shown) {
  const auto& pick = state.session.picked;
  if (!pick || pick->tensor != tensor || pick->index.size() != 4) return std::nullopt;
  const int head = static_cast<int>(pick->index[1]);
  if (std::find(shown.begin(), shown.end(), head) == shown.end()) return std::nullopt;
  const TensorView t = state.derived.trace->tensor(tensor);
  return AttentionLine{head, pick->index[2], pick->index[3], t.at(pick->index)};
}

}  // namespace

void draw_lines(const AppState& state, Ui& ui, const Rect& area) {
  const Trace& trace = *state.derived.trace;
  const std::string tensor = lines_tensor(state);
  const TensorView pattern = trace.find(tensor);
  const int heads = trace.config().head_count();
  if (pattern.axes.size() != 4) return;
  const std::vector<int> shown_heads = shown_line_heads(state.session, heads);
  float y = area.y0 + ui.px(4);
  y += draw_head_chips(state, ui, {area.x0, y, area.x1 - ui.px(12), area.y1}, shown_heads) +
       ui.px(6);

  // In a low place the lines come first.
  const bool low = area.y1 - y < ui.px(100);
  const float note = low ? 0 : ui.px(20), titles = low ? 0 : ui.px(18);
  Columns c;
  c.queries = pattern.axes[2], c.keys = pattern.axes[3];
  const std::int64_t n = std::max(c.queries.size, c.keys.size);
  c.area = {area.x0, y + titles, area.x1, area.y1 - note};
  const float fit = c.area.height() / static_cast<float>(n);
  const float roomy = std::clamp(c.area.height() / ui.px(400), 1.0f, 1.6f);
  c.row = std::clamp(fit, ui.px(kSmallRow), ui.px(kRow) * roomy);
  const float middle = (area.x0 + area.x1) / 2;
  const float span = std::clamp(area.width() * 0.36f, ui.px(80), ui.px(420));
  c.left = std::round(middle - span / 2);
  c.right = std::round(middle + span / 2);
  if (!low) {
    ui.text_right(ui.fonts.strong, c.left - ui.px(10), y, ui.theme.q, ui.tr("lines.queries"));
    ui.text(ui.fonts.strong, {c.right + ui.px(10), y}, ui.theme.k, ui.tr("lines.keys"));
  }

  if (c.area.height() < 1) return;  // the chips took all
  ImGui::SetCursorScreenPos(c.area.min());
  begin_child("lines", {c.area.width(), c.area.height()}, ImGuiWindowFlags_NoBackground);
  c.top = c.area.y0 - ImGui::GetScrollY();
  const RowRange shown{std::max<std::int64_t>(0, c.row_at(c.area.y0)),
                       std::min(n, c.row_at(c.area.y1) + 1)};
  c.tokens = ui.px(40);
  for (std::int64_t i = shown.first; i < shown.end; ++i) {
    for (const Axis& axis : {c.queries, c.keys}) {
      if (i >= axis.size) continue;
      const float width = ui.measure(ui.fonts.strong, token_label(trace.tick(axis.name, i))).x;
      c.tokens = std::min(std::max(c.tokens, width + ui.px(4)), ui.px(130));
    }
  }
  const std::vector<AttentionLine> lines =
      attention_lines(pattern.data, c.queries.size, c.keys.size, shown_heads, shown, kMaxLines);
  bool over = false;
  const bool clicked =
      ui.hot("lines/area", {c.area.x0, c.area.y0, c.area.x1 - ui.px(14), c.area.y1}, &over);
  const Pointed at = pointed_at(c, lines, over || clicked, ui.px(5));
  const std::optional<AttentionLine> picked = picked_line(state, tensor, shown_heads);
  draw_strokes(ui, c, lines, at, picked, heads);
  const auto lit = [&](bool queries) -> std::optional<std::int64_t> {
    if (at.line) return queries ? at.line->query : at.line->key;
    if (at.query || at.key) return queries ? at.query : at.key;
    if (picked) return queries ? picked->query : picked->key;
    return std::nullopt;
  };
  draw_token_column(state, ui, c, shown, true, lit(true));
  draw_token_column(state, ui, c, shown, false, lit(false));
  draw_weights(ui, c, lines, at, shown_heads, heads);
  act(state, ui, c, at, lines, tensor, clicked);
  const bool scrolls = c.row * static_cast<float>(n) > c.area.height() + 1;
  if (scrolls) {
    ImGui::SetCursorScreenPos({c.area.x0, c.top + c.row * static_cast<float>(n)});
    ImGui::Dummy({1, 1});
  }
  ImGui::EndChild();

  if (low) return;
  std::string words(ui.tr("lines.threshold"));
  const auto add = [&](const std::string& more) {
    if (ui.measure(ui.fonts.note, words + " " + more).x <= area.width()) words += " " + more;
  };
  if (scrolls) add(std::string(ui.tr("lines.in_sight")));
  if (lines.size() == kMaxLines)
    add(ui.tr("lines.most", {{"n", count_text(static_cast<long long>(kMaxLines))}}));
  ui.text(ui.fonts.note, {area.x0, area.y1 - note + ui.px(4)}, ui.theme.muted, words);
}

std::string lines_tensor(const AppState& state) {
  if (!state.derived.trace) return "";
  return shown_pattern(state.derived.trace->program(), state.session.step, state.session.layer);
}

bool lines_are_shown(const AppState& state) {
  return state.session.heads_view == HeadsView::kLines && state.derived.trace &&
         state.session.step == lines_tensor(state);
}

}  // namespace headlight
