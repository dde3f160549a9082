#include "app/ui/stage/mixers/stage_mixers.h"

#include <algorithm>
#include <set>

#include "app/ui/matrix/place_words.h"
#include "core/base/number_text.h"
#include "core/graph/reach.h"
#include "core/ops/mixers/convolution.h"
#include "core/ops/mixers/gru.h"

namespace headlight {
namespace {

TensorId result_of(const StepPage& page) { return page.lines[0].back().tensor; }

Role role_of(const AppState& state, const StepPage& page) {
  return state.derived.trace->program().tensors[static_cast<std::size_t>(result_of(page))].role;
}

bool is_window(const AppState& state, const StepPage& page) {
  return role_of(state, page) == Role::kWindowSums;
}

float line_height(const Ui& ui) { return ui.px(21); }

// The call that makes the page's tensor, with its inputs of the run.
struct Made {
  std::vector<TensorView> in;
  TensorView out;
  const OpCall* call = nullptr;
  OpArgs args() const { return {in, out, call->params, nullptr}; }
  bool is_gated() const { return in[0].axes.back().name == "gate"; }
};

Made made_by(const Trace& trace, TensorId id) {
  const Program& program = trace.program();
  Made made;
  made.call = &program.calls[static_cast<std::size_t>(program.producer(id))];
  for (const TensorId input : made.call->in) made.in.push_back(trace.tensor(input));
  made.out = trace.tensor(id);
  return made;
}

// A number on the colour that it has among others of its kind.
void draw_number(Ui& ui, const Rect& box, const ColorScale& scale, double value) {
  const Color fill = color_at(scale, static_cast<float>(value));
  ImGui::GetWindowDrawList()->AddRectFilled(box.min(), box.max(), to_u32(fill), ui.px(2));
  ui.text(ui.fonts.mono, {box.x0 + ui.px(5), box.y0 + ui.px(1)}, ink_on(fill),
          signed_number(value, 3));
}

struct Columns {
  std::vector<std::string> names;
  float left, width;  // of the first number, of each
};

// One line of the unrolled layer; true when it was pressed.
bool draw_step(Ui& ui, const Made& made, const Columns& columns, const Rect& line,
               const std::string& id, const std::string& name, std::int64_t t, std::int64_t j,
               bool own) {
  if (own)
    ImGui::GetWindowDrawList()->AddRect(line.min(), line.max(), to_u32(ui.theme.text), ui.px(3));
  ui.user_text(own ? ui.fonts.strong : ui.fonts.control, {line.x0 + ui.px(24), line.y0 + ui.px(1)},
               ui.theme.text, name, columns.left - line.x0 - ui.px(28));
  const std::vector<std::int64_t> index = {0, t, j};
  std::vector<double> numbers;
  if (made.is_gated()) {
    const GruGates g = gru_gates(made.args(), index);
    numbers = {g.reset, g.update, g.candidate};
  }
  numbers.push_back(made.out.at(index));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float x = columns.left + static_cast<float>(i) * columns.width;
    const bool gate = made.is_gated() && i < 2;  // between 0 and 1; the others from −1 to 1
    draw_number(ui, {x, line.y0 + ui.px(1), x + columns.width - ui.px(4), line.y1 - ui.px(1)},
                gate ? ui.theme.weight_scale(1) : ui.theme.signed_scale(1), numbers[i]);
  }
  return ui.hot(id, line);
}

std::optional<CellPick> draw_unrolled(const AppState& state, Ui& ui, const Rect& r,
                                      const StepPage& page, ChosenCell cell) {
  const Trace& trace = *state.derived.trace;
  const Made made = made_by(trace, result_of(page));
  const std::int64_t steps = made.out.axes[1].size, j = cell.column;
  const bool back = made.call->params.reversed;
  float y = r.y0;
  y += ui.wrapped(ui.fonts.control, {r.x0, y}, r.width(), ui.theme.text,
                  ui.tr("stage.unrolled",
                        {{"j", std::to_string(j)}, {"n", count_text(steps)}, {"a", "1"}})) +
       ui.px(6);
  Columns columns{made.is_gated() ? std::vector<std::string>{"r", "z", "n", "s"}
                                  : std::vector<std::string>{"s"},
                  0, 0};
  columns.width =
      std::min(ui.px(62), (r.width() - ui.px(90)) / static_cast<float>(columns.names.size()));
  columns.left =
      std::max(r.x0 + ui.px(90), r.x1 - columns.width * static_cast<float>(columns.names.size()));
  columns.left = std::min(columns.left, r.x0 + ui.px(190));
  for (std::size_t i = 0; i < columns.names.size(); ++i)
    ui.text(ui.fonts.note, {columns.left + static_cast<float>(i) * columns.width + ui.px(5), y},
            ui.theme.muted, columns.names[i]);
  y += ui.px(17);
  const auto room = std::max<std::int64_t>(
      1, static_cast<std::int64_t>((r.y1 - y - ui.px(16)) / line_height(ui)));
  const std::int64_t own = back ? steps - 1 - cell.row : cell.row;
  const std::int64_t first =
      std::clamp<std::int64_t>(own - room / 2, 0, std::max<std::int64_t>(0, steps - room));
  if (first > 0)
    ui.text(ui.fonts.note, {r.x0, y - ui.px(17)}, ui.theme.muted,
            ui.tr("stage.more_before", {{"n", count_text(first)}}), columns.left - r.x0);
  std::optional<CellPick> hovered;
  for (std::int64_t i = first; i < std::min(steps, first + room); ++i) {
    const std::int64_t t = back ? steps - 1 - i : i;
    const Rect line{
        r.x0, y,
        std::min(r.x1, columns.left + columns.width * static_cast<float>(columns.names.size())),
        y + line_height(ui) - ui.px(2)};
    ui.text(ui.fonts.note, {r.x0 + ui.px(2), y + ui.px(2)}, ui.theme.muted,
            i == 0 ? "0 →" : "↓");  // from zeros, or from the state of the line above
    const CellPick pick{std::string(made.out.name), {0, t, j}};
    if (draw_step(ui, made, columns, line, "unrolled/" + std::to_string(t),
                  place_label(ui, trace, "position", t), t, j, t == cell.row))
      ui.push(PickCell{pick});
    if (line.contains(ImGui::GetMousePos())) hovered = pick;
    y += line_height(ui);
  }
  if (first + room < steps)
    ui.text(ui.fonts.note, {r.x0, y}, ui.theme.muted,
            ui.tr("stage.more", {{"n", count_text(steps - first - room)}}));
  return hovered;
}

// The rows that lie under the windows, from the chosen one down through the layers.
std::vector<std::set<std::int64_t>> heard_rows(const Config& c, int layer, std::int64_t row,
                                               std::int64_t tokens) {
  std::vector<std::set<std::int64_t>> all = {{row}};
  for (int l = layer; l >= 0; --l) {
    OpParams params;
    params.causal = c.mask.is_causal();
    params.dilation = layer_dilation(c, l);
    std::set<std::int64_t> next;
    for (const std::int64_t from : all.back()) {
      for (std::int64_t tap = 0; tap < c.kernel; ++tap) {
        const std::int64_t t = from + window_shift(tap, c.kernel, params);
        if (t >= 0 && t < tokens) next.insert(t);
      }
    }
    all.push_back(std::move(next));
  }
  return all;
}

std::optional<CellPick> draw_window(const AppState& state, Ui& ui, const Rect& r,
                                    const StepPage& page, ChosenCell cell) {
  const Trace& trace = *state.derived.trace;
  const Config& c = trace.config();
  const TensorId id = result_of(page);
  const int layer = trace.program().tensors[static_cast<std::size_t>(id)].place.layer;
  const std::int64_t tokens = trace.tensor(id).axes[1].size;
  const auto heard = heard_rows(c, layer, cell.row, tokens);
  float y = r.y0;
  y += ui.wrapped(ui.fonts.control, {r.x0, y}, r.width(), ui.theme.text,
                  ui.tr("stage.window", {{"word", place_label(ui, trace, "position", cell.row)},
                                         {"n", count_text(std::ssize(heard[1]))},
                                         {"all", count_text(std::ssize(heard.back()))},
                                         {"layers", std::to_string(layer + 1)}})) +
       ui.px(8);
  // As many words as have room, around the chosen one, more of them to its left.
  const float names = ui.px(76), least = ui.px(24);
  const auto shown =
      std::clamp<std::int64_t>(static_cast<std::int64_t>((r.width() - names) / least), 1, tokens);
  const std::int64_t first = std::clamp<std::int64_t>(cell.row - shown * 2 / 3, 0, tokens - shown);
  const float step = std::min((r.width() - names) / static_cast<float>(shown), ui.px(64));
  const float high = std::min(ui.px(34), (r.y1 - y - ui.px(24)) / static_cast<float>(heard.size()));
  if (high < ui.px(12)) return std::nullopt;
  const auto at = [&](std::size_t line, std::int64_t t) {
    return ImVec2{r.x0 + names + (static_cast<float>(t - first) + 0.5f) * step,
                  y + (static_cast<float>(line) + 0.5f) * high};
  };
  const auto seen = [&](std::int64_t t) { return t >= first && t < first + shown; };
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (std::size_t line = 0; line + 1 < heard.size(); ++line) {
    OpParams params;
    params.causal = c.mask.is_causal();
    params.dilation = layer_dilation(c, layer - static_cast<int>(line));
    for (const std::int64_t from : heard[line]) {
      for (std::int64_t tap = 0; tap < c.kernel; ++tap) {
        const std::int64_t t = from + window_shift(tap, c.kernel, params);
        if (seen(t) && seen(from))
          list->AddLine(at(line, from), at(line + 1, t), to_u32(ui.theme.line), ui.px(1.2f));
      }
    }
  }
  std::optional<CellPick> hovered;
  for (std::size_t line = 0; line < heard.size(); ++line) {
    const int l = layer - static_cast<int>(line);
    ui.text(ui.fonts.note, {r.x0, at(line, first).y - ui.px(8)}, ui.theme.muted,
            l < 0 ? std::string(ui.tr("reach.embeddings"))
                  : ui.tr("reach.after", {{"n", std::to_string(l)}}));
    for (std::int64_t t = first; t < first + shown; ++t) {
      const bool under = heard[line].contains(t);
      list->AddCircleFilled(at(line, t), ui.px(under ? 5.0f : 2.5f),
                            to_u32(under ? ui.theme.positive : ui.theme.line));
    }
  }
  const float base = y + static_cast<float>(heard.size()) * high;
  for (std::int64_t t = first; t < first + shown; ++t) {
    const Rect box{at(0, t).x - step / 2, y, at(0, t).x + step / 2, base + ui.px(18)};
    const CellPick pick{std::string(trace.tensor(id).name), {0, t, cell.column}};
    if (ui.hot("window/" + std::to_string(t), box)) ui.push(PickCell{pick});
    if (box.contains(ImGui::GetMousePos())) hovered = pick;
    ui.user_text(ui.fonts.note, {box.x0 + ui.px(1), base},
                 t == cell.row ? ui.theme.text : ui.theme.muted,
                 place_label(ui, trace, "position", t), step - ui.px(2));
  }
  return hovered;
}

}  // namespace

bool shows_mixing(const AppState& state, const StepPage& page) {
  if (page.backward) return false;
  const Role role = role_of(state, page);
  return role == Role::kStates || role == Role::kStatesBack || role == Role::kWindowSums;
}

DetailNeed mixing_need(const AppState& state, const Ui& ui, const StepPage& page) {
  // What the page is about: the matrices beside it may be small.
  constexpr float kLeast = 0.25f;
  const Pane& pane = page.lines[0].back().pane;
  if (is_window(state, page)) return {ui.px(330), ui.px(170), ui.px(420), ui.px(170), kLeast};
  const auto lines = static_cast<float>(std::min<std::int64_t>(pane.rows, 12));
  const float height = lines * line_height(ui) + ui.px(90);
  const bool gated = page.lines[0].size() > 4;  // four numbers a line, not one
  return {ui.px(gated ? 340 : 230), std::min(height, ui.px(190)), ui.px(420),
          std::min(height, ui.px(220)), kLeast};
}

std::optional<CellPick> draw_mixing(const AppState& state, Ui& ui, const Rect& r,
                                    const StepPage& page, ChosenCell cell) {
  return is_window(state, page) ? draw_window(state, ui, r, page, cell)
                                : draw_unrolled(state, ui, r, page, cell);
}

}  // namespace headlight
