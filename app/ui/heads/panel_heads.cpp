// All heads under the stage; two of a layer can be compared.
#include <algorithm>

#include "app/ui/frame/panel_frame.h"
#include "app/ui/frame/panels.h"
#include "app/ui/heads/heads_grid.h"
#include "app/ui/heads/heads_reach.h"
#include "app/ui/heads/unkept_pattern.h"
#include "app/ui/matrix/legend_view.h"
#include "app/ui/matrix/pane_view.h"
#include "app/ui/matrix/place_words.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"
#include "core/base/random.h"
#include "core/explain/steps.h"
#include "core/graph/step_names.h"
#include "core/train/heads/measured_heads.h"
#include "core/view/pane_layout.h"

namespace headlight {
// The step whose tensor the row shows: the current one where it has heads, the pattern otherwise.
const Step* heads_step(const AppState& state) {
  const Step* step = current_step(state);
  if (!step) return nullptr;
  const Trace& trace = *state.derived.trace;
  const Program& program = trace.program();
  // Foci are no heads: those are in layers. What a large run does not keep of each layer is not
  // computed again in all of them to be beside each other.
  const TensorSpec& shown = program.tensors[static_cast<std::size_t>(step->tensor)];
  const bool of_heads = step->layer >= 0 && program.look(step->tensor).find_dim("head") >= 0;
  if (of_heads && trace.keeps(shown.role)) return step;
  const TensorId id =
      program.find(pattern_of_layer(program, state.session.step, state.session.layer));
  return id < 0 ? nullptr : &program.steps[static_cast<std::size_t>(program.step_of(id))];
}

std::optional<MaskedHead> chosen_head(const AppState& state) {
  const Step* step = heads_step(state);
  if (!step) return std::nullopt;
  return MaskedHead{heads_of(step->stack, step->section), step->layer, state.session.head};
}

namespace {

// The matrix at the top of a card, in its proportions while it is not too long.
Rect card_picture(const Ui& ui, const Pane& pane, const Rect& card) {
  const float pad = ui.px(6), label = ui.px(21);
  Rect picture{card.x0 + pad, card.y0 + pad, card.x1 - pad, card.y1 - label};
  const float aspect =
      static_cast<float>(pane.columns) / static_cast<float>(std::max<std::int64_t>(pane.rows, 1));
  picture.x1 =
      picture.x0 + std::min(picture.width(), picture.height() * std::clamp(aspect, 0.5f, 1.6f));
  return picture;
}

float picture_gap(const Pane& pane, const Rect& picture) {
  const float cell = std::min(picture.width() / static_cast<float>(pane.columns),
                              picture.height() / static_cast<float>(pane.rows));
  return cell >= 6 ? 1.0f : 0.0f;
}

// First head minus second, where it changes most, and by how much.
void difference_card(const AppState& state, Ui& ui, const Step& step, const Rect& card) {
  const Session& session = state.session;
  const Derived& d = state.derived;
  const Trace& trace = *d.trace;
  PagePane pane = step_page(trace, step, session.head).lines[0].back();
  const std::int64_t columns = pane.pane.columns;
  if (d.difference.size() != static_cast<std::size_t>(pane.pane.rows * columns)) return;
  const Rect picture =
      card_picture(ui, pane.pane, {card.x0, card.y0, card.x0 + card.height(), card.y1});
  HeatmapQuad quad;
  quad.x0 = picture.x0;
  quad.y0 = picture.y0;
  quad.x1 = picture.x1;
  quad.y1 = picture.y1;
  quad.data = d.difference.data();
  quad.rows = pane.pane.rows;
  quad.columns = quad.row_stride = columns;
  quad.key = scatter(trace.serial() ^ scatter(d.difference_key));
  quad.unit = ui.scale;
  quad.gap = picture_gap(pane.pane, picture);
  quad.scale = ui.theme.signed_scale(d.difference_range.limit);
  ui.heatmaps.draw(ImGui::GetWindowDrawList(), quad);
  ui.drawn.add("heads/difference", picture.min(), picture.max());
  ImGui::GetWindowDrawList()->AddRect(picture.min(), picture.max(), to_u32(ui.theme.line));
  const float title_y = card.y1 - ui.px(19);
  const std::string title = ui.tr("heads.minus", {{"a", std::to_string(session.head)},
                                                  {"b", std::to_string(session.other_head)}});
  ui.text(ui.fonts.strong, {picture.x0, title_y}, ui.theme.text, title);
  ui.drawn.add("label/heads/minus", {picture.x0, title_y},
               {picture.x0 + ui.measure(ui.fonts.strong, title).x, card.y1});
  const float x = picture.x1 + ui.px(12), room = card.x1 - x;
  if (d.largest_change < 0 || room < ui.px(60)) return;
  const std::int64_t row = d.largest_change / columns, column = d.largest_change % columns;
  const float y = picture.y0;
  const std::string places = place_label(ui, trace, pane.pane.row_axis, row) + " → " +
                             place_label(ui, trace, pane.pane.column_axis, column);
  const std::string number =
      signed_number(d.difference[static_cast<std::size_t>(d.largest_change)], 2);
  // A low card has no third line above its title: the number stands behind the places.
  const bool low = y + ui.px(36) + font_size(ui.fonts.mono) > title_y;
  const float beside = low ? ui.measure(ui.fonts.mono, number).x + ui.px(8) : 0;
  const float places_room =
      std::min(ui.measure(ui.fonts.strong, places).x, std::max(room - beside, ui.px(20)));
  ui.text(ui.fonts.note, {x, y}, ui.theme.muted, ui.tr("heads.change"), room);
  ui.user_text(ui.fonts.strong, {x, y + ui.px(17)}, ui.theme.text, places, places_room);
  const ImVec2 at{low ? x + places_room + ui.px(8) : x, y + ui.px(low ? 18 : 36)};
  ui.text(ui.fonts.mono, at, ui.theme.text, number);
  ui.drawn.add("label/heads/change", at,
               {at.x + ui.measure(ui.fonts.mono, number).x, at.y + font_size(ui.fonts.mono)});
}

// What the scores are measured on when this is pressed.
std::string many_tip(const AppState& state, const Ui& ui) {
  const std::optional<HeadsMeans>& means = state.derived.means;
  const bool known = state.session.measured && means && means->heads && means->count > 0;
  if (!known) return std::string(ui.tr("heads.many_help"));
  const MeasuredHeads& heads = *means->heads;
  const std::size_t others = heads.sentences - heads.written;
  const std::string first = to_field_text(heads.first.substr(0, heads.first.find_first_of("\n")));
  return ui.tr(!heads.written ? "heads.many_of"
               : others       ? "heads.many_both"
                              : "heads.many_texts",
               {{"n", count_text(static_cast<std::int64_t>(others))},
                {"texts", count_text(static_cast<std::int64_t>(heads.written))},
                {"first", first}});
}

// The buttons at the right of the head line. Returns their left edge.
float head_line_buttons(const AppState& state, Ui& ui, const Rect& r, float right) {
  const float top = r.y0 + ui.px(6), height = ui.px(26);
  const std::string compare_label(ui.tr("heads.compare"));
  const float width = ui.measure(ui.fonts.control, compare_label).x + ui.px(22);
  const Rect compare{right - width, top, right, top + height};
  if (ui.button("heads/compare", compare_label, compare, state.session.compare,
                is_enabled(Command::kToggleCompare, state), ui.tr("heads.compare_help"))) {
    ui.push(DoCommand{Command::kToggleCompare});
  }
  const std::vector<std::string> labels = {std::string(ui.tr("heads.pictures")),
                                           std::string(ui.tr("heads.lines")),
                                           std::string(ui.tr("reach.title"))};
  constexpr std::string_view kIds[] = {"pictures", "lines", "reach"};
  const float x = compare.x0 - ui.px(14) - ui.segmented_width(labels);
  const int view = ui.segmented("heads/view", labels, static_cast<int>(state.session.heads_view),
                                {x, top}, height, kIds);
  if (view >= 0) ui.push(ChooseHeadsView{static_cast<HeadsView>(view)});
  const std::string many(ui.tr("heads.many"));
  const float many_width = ui.measure(ui.fonts.control, many).x + ui.px(22);
  const Rect measured{x - ui.px(14) - many_width, top, x - ui.px(14), top + height};
  if (ui.button("heads/measured", many, measured, state.session.measured,
                is_enabled(Command::kToggleMeasured, state), many_tip(state, ui)))
    ui.push(DoCommand{Command::kToggleMeasured});
  return measured.x0;
}

std::string means_hint(const Ui& ui, const std::string& what, const MeasuredHeads& heads) {
  const std::size_t others = heads.sentences - heads.written;
  const std::string_view id = heads.sentences == 0 ? "heads.hint_unknown"
                              : heads.written == 0 ? "heads.hint_many"
                              : others == 0        ? "heads.hint_texts"
                                                   : "heads.hint_both";
  return ui.tr(id, {{"what", what},
                    {"n", count_text(static_cast<std::int64_t>(others))},
                    {"texts", count_text(static_cast<std::int64_t>(heads.written))}});
}

// What is drawn, and what the badges are measured on.
std::string heads_hint(const AppState& state, const Ui& ui, const std::string& what) {
  const std::optional<HeadsMeans>& means = state.derived.means;
  if (!state.session.measured) return ui.tr("heads.hint", {{"what", what}});
  if (!means) return ui.tr("heads.hint_begins", {{"what", what}});
  if (!means->problem.empty()) return what + " · " + say(ui.language, means->problem);
  const std::string n = count_text(static_cast<std::int64_t>(means->count));
  if (means->heads) return means_hint(ui, what, *means->heads);
  const std::string done = count_text(static_cast<std::int64_t>(means->done));
  return ui.tr(means->count ? "heads.hint_measuring" : "heads.hint_begins",
               {{"what", what}, {"done", done}, {"n", n}});
}

}  // namespace

void panel_heads(const AppState& state, Ui& ui, const Rect& r, bool open) {
  ui.begin_panel("heads", r);
  const float y = r.y0 + ui.px(open ? 10 : 6);
  const Step* step = heads_step(state);
  const bool reaches = reach_is_shown(state);
  const std::string_view title =
      ui.tr(reaches && !shown_config(state).attends() ? "reach.title" : "heads.title");
  ui.text(ui.fonts.strong, {r.x0 + ui.px(18), y}, ui.theme.text, title);
  const Rect fold{r.x1 - ui.px(40), r.y0 + ui.px(3), r.x1 - ui.px(8), r.y0 + ui.px(open ? 33 : 27)};
  if (ui.hot("view/heads", open ? fold : Rect{r.x0, r.y0, r.x1, r.y1}))
    ui.push(DoCommand{Command::kToggleHeads});
  ui.text(ui.fonts.control, {fold.x0 + ui.px(10), y}, ui.theme.muted, open ? "▾" : "▲");
  if (open && !step && state.derived.trace && shown_config(state).layers == 0)
    ui.wrapped(ui.fonts.control, {r.x0 + ui.px(18), r.y0 + ui.px(40)}, r.width() - ui.px(36),
               ui.theme.muted, ui.tr("heads.no_layers"));
  const bool unkept = lacks_pattern(state);
  if (open && reaches && !step && !unkept) {
    const float x = r.x0 + ui.px(18) + ui.measure(ui.fonts.strong, title).x + ui.px(14);
    const std::string_view hint = ui.tr("reach.hint");
    if (ui.measure(ui.fonts.note, hint).x < fold.x0 - x)
      ui.text(ui.fonts.note, {x, y + ui.px(2)}, ui.theme.muted, hint);
    draw_reach(state, ui, {r.x0 + ui.px(14), r.y0 + ui.px(38), r.x1 - ui.px(14), r.y1 - ui.px(5)});
  }
  if (open && (step || unkept)) {
    maximize_button(state, ui, PanelId::kHeads, {fold.x0 - ui.px(22), fold.y0, fold.x0, fold.y1});
    const float buttons = head_line_buttons(state, ui, r, fold.x0 - ui.px(30));
    const float x = r.x0 + ui.px(18) + ui.measure(ui.fonts.strong, title).x + ui.px(14);
    std::string what(step ? step_title(ui.language, *step) : "");
    if (step &&
        step->backward) {  // what is drawn is what came in, not what the step is called after
      const Trace& trace = *state.derived.trace;
      const auto drawn =
          static_cast<std::size_t>(step_page(trace, *step, 0).lines[0].back().tensor);
      what += " · " + trace.program().tensors[drawn].symbol;
    }
    const std::string hint = reaches  ? std::string(ui.tr("reach.hint"))
                             : unkept ? std::string()
                                      : heads_hint(state, ui, what);
    const float room = buttons - x - ui.px(10);
    const std::string& shown = ui.measure(ui.fonts.note, hint).x < room ? hint : what;
    if (ui.measure(ui.fonts.note, shown).x < room)
      ui.text(ui.fonts.note, {x, y + ui.px(2)}, ui.theme.muted, shown);
    const float top = r.y0 + ui.px(36);
    Rect strip{r.x0 + ui.px(14), top, r.x1 - ui.px(14), r.y1 - ui.px(5)};
    const bool comparing = state.session.compare && !state.derived.difference.empty() && step;
    const float card = strip.height() + ui.px(140);
    if (comparing && strip.width() > card * 2) {
      strip.x1 -= card + ui.px(10);
      difference_card(state, ui, *step, {strip.x1 + ui.px(10), top, r.x1 - ui.px(14), strip.y1});
    }
    if (reaches) {
      draw_reach(state, ui, strip);
    } else if (unkept) {
      draw_unkept_pattern(state, ui, strip);
    } else {
      draw_heads_grid(state, ui, strip);
    }
  }
  ui.end_panel();
}

void panel_stage_heads(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("stage", r);
  const Step* step = heads_step(state);
  if (lacks_pattern(state)) {
    draw_unkept_pattern(state, ui, {r.x0 + ui.px(18), r.y0 + ui.px(12), r.x1 - ui.px(18), r.y1});
    ui.end_panel();
    return;
  }
  if (!step) {
    ui.text(ui.fonts.title, {r.x0 + ui.px(24), r.y0 + ui.px(16)}, ui.theme.text,
            ui.tr("heads.nothing"));
    ui.end_panel();
    return;
  }
  const Trace& trace = *state.derived.trace;
  const std::string_view title = step_title(ui.language, *step);
  ui.text(ui.fonts.title, {r.x0 + ui.px(24), r.y0 + ui.px(14)}, ui.theme.text, title);
  const std::string where =
      step->stack == Stack::kOnly
          ? ui.tr("heads.all", {{"n", std::to_string(std::max(step->layer, 0))}})
          : ui.tr("heads.title_of", {{"place", step_place(ui.language, *step)}});
  ui.text(ui.fonts.control,
          {r.x0 + ui.px(36) + ui.measure(ui.fonts.title, title).x, r.y0 + ui.px(23)},
          ui.theme.muted, where);
  draw_heads_of_row(state, ui,
                    {r.x0 + ui.px(24), r.y0 + ui.px(60), r.x1 - ui.px(116), r.y1 - ui.px(20)});
  const PagePane pane = step_page(trace, *step, 0).lines[0].back();
  draw_legend(ui, {r.x1 - ui.px(90), r.y0, r.x1, r.y1}, r.y0 + ui.px(70), ui.px(92),
              colors_of(ui, trace, pane),
              trace.program().tensors[static_cast<std::size_t>(pane.tensor)].symbol, false);
  ui.end_panel();
}

}  // namespace headlight
