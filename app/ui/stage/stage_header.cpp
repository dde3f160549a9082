// The stage's header: the step's title, formula, words and shapes.
#include <algorithm>

#include "app/ui/experts/stage_experts.h"
#include "app/ui/kit/rich_text.h"
#include "app/ui/labs/labs_view.h"
#include "app/ui/matrix/place_words.h"
#include "app/ui/stage/stage_view.h"
#include "core/explain/steps.h"
#include "core/view/pane_layout.h"

namespace headlight {
namespace {

std::string where_text(const AppState& state, const Ui& ui, const Step& step,
                       const StepPage& page) {
  std::string text = step_place(ui.language, step);
  bool per_head = false;
  for (const auto& line : page.lines) {
    for (const PagePane& p : line) {
      const TensorView t = state.derived.trace->tensor(p.tensor);
      per_head |= t.find_dim("head") >= 0 && p.pane.role != PaneRole::kRowVector;
    }
  }
  const Program& program = state.derived.trace->program();
  constexpr Role kOfAllHeads[] = {Role::kAllQueries, Role::kAllKeys, Role::kAllValues,
                                  Role::kConcat, Role::kSublayerOutput};
  const bool all_heads =
      std::ranges::any_of(kOfAllHeads, [&](Role role) { return program.makes(step, role); });
  per_head &= !all_heads && step.layer >= 0;  // foci are no heads
  if (per_head) {
    text += " · " + ui.tr("stage.head", {{"n", std::to_string(state.session.head)}});
  }
  const TensorView made = state.derived.trace->tensor(step.tensor);
  if (made.axes.size() == 4 && made.axes[1].name == "expert")
    text += " · " + ui.tr("stage.expert", {{"n", std::to_string(shown_part(state))}});
  const std::int64_t heads = program.config.head_count();
  if (page.kv_heads > 0 && page.lines.size() == 1 && !all_heads) {
    const std::int64_t head = state.session.head * page.kv_heads / heads;
    text += " · " + ui.tr("stage.kv_head", {{"n", std::to_string(head)}});
  }
  if (step.backward) text += (text.empty() ? "" : " · ") + std::string(ui.tr("stage.backward"));
  return text;
}

struct Shapes {
  Words words;
  int count = 1;  // alike ones side by side
  bool turned = false;
};

// The shapes of a line's tensors, those before the arrow first. Of many, neighbours that are alike
// are counted: the heads of a concatenation, the outputs of the experts.
std::vector<Shapes> grouped_shapes(const Ui& ui, const Trace& trace, const StepPage& page,
                                   bool named) {
  const auto& line = page.lines[0];
  const auto is_last = [&](const PagePane& p) {
    return page.backward ? !is_made(page, trace.program(), p) : &p == &line.back();
  };
  const bool counts = line.size() > 5;
  const auto same = [](const Word& a, const Word& b) { return a.text == b.text; };
  std::vector<Shapes> groups;
  for (const bool last : {false, true}) {
    for (const PagePane& p : line) {
      if (is_last(p) != last || p.pane.role == PaneRole::kRowVector) continue;
      const Words shape = shape_words(ui, trace, p, named);
      const bool again = counts && !groups.empty() && groups.back().turned == last &&
                         std::ranges::equal(groups.back().words, shape, same);
      if (again)
        ++groups.back().count;
      else
        groups.push_back({shape, 1, last});
    }
  }
  return groups;
}

// "(T 11 × d_model 64) · (d_model 64 × d_head 16) → (T 11 × d_head 16)"
// and backwards "(T 11 × T 11), (T 11 × d_head 16) ← (T 11 × d_head 16)": what is passed on, which
// no operator joins, then what it comes from. Of many "(T 11 × E 4), 4 × (T 11 × d_model 64) → …".
Words shapes_of(const Ui& ui, const Trace& trace, const StepPage& page, bool named) {
  Words words;
  if (page.lines.empty()) return words;
  std::string_view sign = page.layout == Layout::kProduct ? "·" : page.sign;
  if (page.backward || sign.empty() || page.lines[0].size() > 5) sign = ",";
  bool past = false;
  for (const Shapes& shapes : grouped_shapes(ui, trace, page, named)) {
    const bool turns = shapes.turned && !past;
    if (!words.empty()) {
      const std::string between = past || sign == "," ? ", " : " " + std::string(sign) + " ";
      words.push_back({!turns ? between : page.backward ? " ← " : " → ", ui.theme.muted});
    }
    past |= turns;
    if (shapes.count > 1) {
      words.push_back({std::to_string(shapes.count), size_color(ui.theme, SizeKind::kHeads)});
      words.push_back({" × ", ui.theme.muted});
    }
    words.insert(words.end(), shapes.words.begin(), shapes.words.end());
  }
  return words;
}

// Of the chosen cell, or more than there are: the last.
std::int64_t query_row(const AppState& state, const StepPage& page) {
  return page_link(*state.derived.trace, page, state.session.picked).row.value_or(INT64_MAX);
}

}  // namespace

bool is_low_stage(const Ui& ui, const Rect& r) { return r.height() < ui.px(200); }

float playback_height(const Ui& ui, const Rect& r) { return ui.px(is_low_stage(ui, r) ? 32 : 40); }

Rect stage_picture(const Ui& ui, const Rect& r, float top) {
  const float under = playback_height(ui, r) + ui.px(is_low_stage(ui, r) ? 2 : 6);
  return {r.x0 + ui.px(24), top, r.x1 - ui.px(12), r.y1 - under};
}

namespace {

// On a low stage the numbers come first: the words give way where the cells, small as they are,
// would be larger without them. The Words tab says the same at length.
bool words_leave_room(const Ui& ui, const Trace& trace, const StepPage& page, const Rect& r,
                      float with, float without) {
  if (page.lines.empty()) return true;
  const StageMeasures m = stage_measures(ui, trace, page);
  const auto cell = [&](float top) {
    return place_page(page, stage_picture(ui, r, top), m, ui.scale).panes.back().cell_h;
  };
  const float now = cell(with);
  // Cells are whole pixels: one may be lost to rounding alone, and then an empty band would stand
  // where the words were.
  const float lost = now >= 3 && r.height() >= ui.px(400) ? 1.0f : 0.0f;
  return now >= ui.px(9) || now + lost >= 0.8f * cell(without);
}

}  // namespace

namespace {

// Of random weights, behind the title: that they have learned nothing; a click leads to models that
// have. The longer words where they find room before `right`, `x` moves behind them; false where
// not even the shorter find room.
bool random_words(const AppState& state, Ui& ui, float& x, float y, float right) {
  if (state.derived.model || !state.document().model.empty()) return true;
  for (const std::string_view id : {"stage.random", "stage.random.brief"}) {
    const std::string_view words = ui.tr(id);
    const ImVec2 size = ui.measure(ui.fonts.control, words);
    if (x + size.x + ui.px(20) > right) continue;
    const Rect r{x, y - ui.px(4), x + size.x + ui.px(16), y + size.y + ui.px(4)};
    bool over = false;
    if (ui.hot("stage/random", r, &over)) ui.push(DoCommand{Command::kToggleModel});
    ui.text(ui.fonts.control, {x + ui.px(8), y}, over ? ui.theme.text : ui.theme.k, words);
    ImGui::GetWindowDrawList()->AddRect(r.min(), r.max(), to_u32(over ? ui.theme.text : ui.theme.k),
                                        ui.px(6));
    if (over) ui.tooltip(ui.tr("stage.random.help"));
    x = r.x1 + ui.px(8);
    return true;
  }
  return false;
}

}  // namespace

float draw_stage_header(const AppState& state, Ui& ui, const Rect& r, const Step& step,
                        const StepPage& page) {
  const Trace& trace = *state.derived.trace;
  const StepText text = step_text(ui.language, trace.program(), step);
  const float x = r.x0 + ui.px(24);
  const bool low = is_low_stage(ui, r);
  float y = r.y0 + ui.px(low ? 5 : 14);
  ui.text(ui.fonts.title, {x, y}, ui.theme.text, text.title);
  const float title_width = ui.measure(ui.fonts.title, text.title).x;
  const std::string where = where_text(state, ui, step, page);
  ui.text(ui.fonts.control, {x + title_width + ui.px(12), y + ui.px(9)}, ui.theme.muted, where);
  const float formula_width = ui.formula({0, 0}, text.formula, false);
  float left_end = x + title_width + ui.px(24) + ui.measure(ui.fonts.control, where).x;
  const bool wide = r.width() > ui.px(760);
  Words shapes = shapes_of(ui, trace, page, true);
  float shapes_width = measure_words(ui, ui.fonts.mono, shapes);
  if (!wide || shapes_width > 0.5f * r.width()) {
    shapes = shapes_of(ui, trace, page, false);
    shapes_width = measure_words(ui, ui.fonts.mono, shapes);
  }
  const float right = r.x1 - ui.px(34);  // beside the button for the whole window
  const float right_width = wide ? std::max(formula_width, shapes_width) : formula_width;
  const float fx = right - right_width;
  const bool beside = fx > left_end;  // the formula stands behind the title
  if (beside) ui.formula({fx, y + ui.px(2)}, text.formula);
  const bool said = random_words(state, ui, left_end, y + ui.px(9), beside ? fx : right);
  left_end = lab_links(ui, {left_end, y + ui.px(9)}, beside ? fx - ui.px(12) : right,
                       labs_of_step(trace, step), "lab/link/stage");
  // On a narrow stage the shapes stand before the formula, where there is room.
  if (!wide && fx - ui.px(20) - shapes_width > left_end)
    draw_words(ui, ui.fonts.mono, {fx - ui.px(20) - shapes_width, y + ui.px(8)}, shapes);
  y += ui.px(low ? 29 : 34);
  // A formula longer than what the title leaves has a line of its own.
  const bool own_line = !beside && formula_width <= right - x && r.height() >= ui.px(400);
  const float shapes_x = own_line ? right - shapes_width : fx;
  if (own_line) {
    ui.formula({x, y}, text.formula);
    if (!wide && x + formula_width + ui.px(20) <= shapes_x)
      draw_words(ui, ui.fonts.mono, {shapes_x, y + ui.px(6)}, shapes);
    y += ui.px(28);
  }
  if (r.height() < ui.px(240)) return y;  // on a low stage the numbers come first
  if (wide) draw_words(ui, ui.fonts.mono, {shapes_x, y + ui.px(2)}, shapes);
  const float words_width =
      std::min(wide ? shapes_x - x - ui.px(24) : r.width() - ui.px(48), ui.px(640));
  const float notes_width = wide ? words_width : r.width() - ui.px(48);
  const bool brief = notes_width < ui.px(420) || r.height() < ui.px(320);
  std::vector<StageNote> notes = stage_notes(state, ui, step, page, brief);
  if (!said && !brief) notes.push_back({std::string(ui.tr("stage.random.brief"))});
  const float under = stage_notes_height(ui, notes_width, notes) + ui.px(6);
  const std::string words = to_field_text(
      step_sentence(ui.language, trace, step, shown_part(state), query_row(state, page)));
  const float words_height = ui.wrapped_height(ui.fonts.body, words_width, words);
  if (words_leave_room(ui, trace, page, r, y + words_height + under, y + under))
    y += ui.wrapped(ui.fonts.body, {x, y}, words_width, ui.theme.text, words);
  y += draw_stage_notes(ui, {x, y}, notes_width, notes);
  return y + ui.px(6);
}

}  // namespace headlight
