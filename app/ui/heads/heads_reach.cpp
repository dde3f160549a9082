#include "app/ui/heads/heads_reach.h"

#include <algorithm>

#include "app/ui/matrix/place_words.h"
#include "core/base/number_text.h"
#include "core/base/random.h"
#include "core/explain/arithmetic.h"
#include "core/graph/reach.h"

namespace headlight {
namespace {

// The last tensor of the last layer that has a row for each token.
TensorId last_stream(const Program& program) {
  TensorId found = -1;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    const bool stream = spec.role == Role::kResidual && spec.place.stack != Stack::kEncoder;
    if (stream && spec.place.layer >= 0 && !program.is_gradient(static_cast<TensorId>(i)))
      found = static_cast<TensorId>(i);
  }
  return found;
}

bool has_reach(const Program& program, TensorId id) {
  if (id < 0 || program.is_gradient(id) || program.producer(id) < 0) return false;
  const TensorSpec& spec = program.tensors[static_cast<std::size_t>(id)];
  if (spec.place.stack == Stack::kEncoder) return false;
  const bool inside = spec.place.layer >= 0 || spec.place.section == Section::kPrediction;
  return inside && std::ranges::any_of(spec.axes, [](const Axis& axis) {
           return axis.name == "position" || axis.name == "query";
         });
}

// How many layers have mixed the words below the cell. Its own layer has where another word's row,
// as it comes into the layer, acts on the cell; in the first layer that must be this word's.
int mixing_layers(const Program& program, const Reach& reach, std::int64_t from) {
  const int own = program.tensors[static_cast<std::size_t>(reach.tensor)].place.layer;
  if (own < 0) return program.config.layers;
  const std::vector<float>& incoming = reach.rows.back().norms;
  bool mixes = false;
  for (std::int64_t t = 0; t < std::ssize(incoming); ++t) {
    const bool counts = own > 0 || t == from || from == reach.token;
    mixes |= counts && t != reach.token && incoming[static_cast<std::size_t>(t)] != 0;
  }
  return own + (mixes ? 1 : 0);
}

// "Between “cat” and “it”: 3 steps one after the other."
std::string path_words(const AppState& state, const Ui& ui, const Reach& reach, std::int64_t from) {
  const Trace& trace = *state.derived.trace;
  const std::int64_t to = reach.token;
  Config c = trace.config();
  c.layers = mixing_layers(trace.program(), reach, from);
  const auto path = path_length(c, trace.length(), to, from);
  const std::string_view id = !path && to == from ? "reach.path.own"
                              : !path             ? "reach.path.none"
                              : *path == 1        ? "reach.path.one"
                                                  : "reach.path";
  return ui.tr(id, {{"from", place_label(ui, trace, "position", from)},
                    {"to", place_label(ui, trace, "position", to)},
                    {"n", std::to_string(path.value_or(0))}});
}

struct ReachPicture {
  Rect area;
  std::int64_t rows, columns;
  float cell_width() const { return area.width() / static_cast<float>(columns); }
  float cell_height() const { return area.height() / static_cast<float>(rows); }
};

void draw_row_names(Ui& ui, const Reach& reach, const ReachPicture& p, float left) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    // The embeddings stand at the bottom, as the words below them.
    const ReachRow& row = reach.rows[static_cast<std::size_t>(p.rows - 1 - r)];
    const std::string name = row.after < 0
                                 ? std::string(ui.tr("reach.embeddings"))
                                 : ui.tr("reach.after", {{"n", std::to_string(row.after)}});
    const float y = p.area.y0 + (static_cast<float>(r) + 0.5f) * p.cell_height() - ui.px(8);
    ui.text(ui.fonts.note, {left, y}, ui.theme.muted, name);
  }
}

// As many words as there is room for.
void draw_words(const AppState& state, Ui& ui, const Reach& reach, const ReachPicture& p) {
  const Trace& trace = *state.derived.trace;
  float free = p.area.x0;
  for (std::int64_t t = 0; t < p.columns; ++t) {
    const std::string word = place_label(ui, trace, "position", t);
    const float x = p.area.x0 + static_cast<float>(t) * p.cell_width();
    const float width = std::min(ui.measure(ui.fonts.note, word).x, p.cell_width() * 2);
    if (x < free) continue;
    ui.user_text(ui.fonts.note, {x, p.area.y1 + ui.px(3)},
                 t == reach.token ? ui.theme.text : ui.theme.muted, word,
                 std::max(p.cell_width() - ui.px(3), ui.px(18)));
    free = x + std::min(width, std::max(p.cell_width(), ui.px(21)));
  }
}

struct ReachCell {
  std::int64_t row = 0, word = 0;
};

// The cell that is pointed at; else the embedding of the word that was clicked, or of the first.
ReachCell looked_at(const AppState& state, Ui& ui, const ReachPicture& p) {
  const auto place = [](float at, float size, std::int64_t count) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(at / size), 0, count - 1);
  };
  const std::int64_t kept = state.session.reach_word;
  if (kept >= 0 && kept < p.columns) {
    const float x = p.area.x0 + static_cast<float>(kept) * p.cell_width();
    ImGui::GetWindowDrawList()->AddRect({x, p.area.y0}, {x + p.cell_width(), p.area.y1},
                                        to_u32(ui.theme.text), 0, 0, ui.px(2));
  }
  const ImVec2 mouse = ImGui::GetMousePos();
  const bool clicked = ui.hot("reach/cell", p.area);
  if (!p.area.contains(mouse)) return {p.rows - 1, kept >= 0 && kept < p.columns ? kept : 0};
  const ReachCell cell{place(mouse.y - p.area.y0, p.cell_height(), p.rows),
                       place(mouse.x - p.area.x0, p.cell_width(), p.columns)};
  if (clicked) ui.push(ChooseReachWord{cell.word});
  return cell;
}

// What the cell that is looked at says, the most telling first. Of a sentence that has no room
// below the others nothing is drawn: it stands in the tooltip.
void draw_sentences(const AppState& state, Ui& ui, const Reach& reach, ReachCell at, float most,
                    const Rect& r) {
  const Trace& trace = *state.derived.trace;
  const std::int64_t columns = std::ssize(reach.rows[0].norms);
  const float value =
      state.derived.reach_cells[static_cast<std::size_t>(at.row * columns + at.word)];
  const std::string sentences[] = {
      ui.tr("reach.cell", {{"cell", cell_title(trace, {reach.tensor, reach.index})},
                           {"word", place_label(ui, trace, "position", at.word)},
                           {"value", fine_number(value)}}),
      path_words(state, ui, reach, at.word), ui.tr("reach.legend", {{"most", fine_number(most)}}),
      std::string(ui.tr("reach.keep"))};
  float y = r.y0;
  std::string rest;
  for (const std::string& sentence : sentences) {
    const bool first = &sentence == sentences;
    const float height = ui.wrapped_height(ui.fonts.note, r.width(), sentence);
    if (!rest.empty() || y + height > r.y1) {
      rest += (rest.empty() ? "" : "\n") + sentence;
      continue;
    }
    y += ui.wrapped(ui.fonts.note, {r.x0, y}, r.width(), first ? ui.theme.text : ui.theme.muted,
                    sentence) +
         ui.px(2);
  }
  if (!rest.empty() && ImGui::IsMouseHoveringRect(r.min(), r.max()) && ImGui::IsWindowHovered())
    ui.tooltip(rest);
}

}  // namespace

bool reach_is_shown(const AppState& state) {
  if (!state.derived.trace || shown_config(state).layers == 0) return false;
  return state.session.heads_view == HeadsView::kReach || !shown_config(state).attends();
}

CellRef reach_cell(const AppState& state) {
  const Trace& trace = *state.derived.trace;
  const Program& program = trace.program();
  if (const auto& picked = state.session.picked) {
    const TensorId id = program.find(picked->tensor);
    if (has_reach(program, id) && picked->index.size() == trace.tensor(id).axes.size())
      return {id, picked->index};
  }
  const TensorId last = last_stream(program);
  return last < 0 ? CellRef{} : CellRef{last, {0, trace.length() - 1, 0}};
}

void draw_reach(const AppState& state, Ui& ui, const Rect& r) {
  const auto& reach = state.derived.reach;
  if (!reach || reach->serial != state.derived.trace->serial() || reach->rows.empty()) {
    ui.wrapped(ui.fonts.control, {r.x0 + ui.px(6), r.y0 + ui.px(6)}, r.width() - ui.px(12),
               ui.theme.muted, ui.tr(state.derived.reaching ? "reach.begins" : "reach.none"));
    return;
  }
  const float names = ui.px(92), legend = ui.px(190);
  ReachPicture p{{r.x0 + names, r.y0 + ui.px(2), r.x1 - legend, r.y1 - ui.px(24)},
                 static_cast<std::int64_t>(reach->rows.size()),
                 static_cast<std::int64_t>(reach->rows[0].norms.size())};
  if (p.area.width() < ui.px(60) || p.area.height() < ui.px(12)) return;
  p.area.y1 = std::min(p.area.y1, p.area.y0 + ui.px(34) * static_cast<float>(p.rows));
  p.area.x1 = std::min(p.area.x1, p.area.x0 + ui.px(96) * static_cast<float>(p.columns));
  HeatmapQuad quad;
  quad.x0 = p.area.x0;
  quad.y0 = p.area.y0;
  quad.x1 = p.area.x1;
  quad.y1 = p.area.y1;
  quad.data = state.derived.reach_cells.data();
  quad.rows = p.rows;
  quad.columns = quad.row_stride = p.columns;
  quad.key = scatter(state.derived.reach_key ^ scatter(hash_text("reach")));
  quad.unit = ui.scale;
  quad.gap = std::min(p.cell_width(), p.cell_height()) >= 6 ? 1.0f : 0.0f;
  const float most = std::ranges::max(state.derived.reach_cells);
  quad.scale = ui.theme.weight_scale(most > 0 ? most : 1.0f);
  ui.heatmaps.draw(ImGui::GetWindowDrawList(), quad);
  ui.drawn.add("reach/picture", p.area.min(), p.area.max());
  draw_row_names(ui, *reach, p, r.x0 + ui.px(4));
  draw_words(state, ui, *reach, p);

  draw_sentences(state, ui, *reach, looked_at(state, ui, p), most,
                 {p.area.x1 + ui.px(14), r.y0, r.x1, r.y1});
}

}  // namespace headlight
