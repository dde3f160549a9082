#include "app/ui/heads/head_cell.h"

#include <algorithm>
#include <cmath>

#include "app/ui/heads/head_names.h"
#include "app/ui/heads/heads_lines.h"
#include "app/ui/matrix/cell_shape.h"
#include "app/ui/matrix/linked_hover.h"
#include "app/ui/matrix/pane_view.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/train/heads/measured_heads.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

const Program& program_of(const AppState& state) { return state.derived.trace->program(); }

const Step& step_at(const AppState& state, int place) {
  return program_of(state).steps[static_cast<std::size_t>(place)];
}

bool is_chosen(const AppState& state, const HeadCell& cell) {
  return cell.current && cell.head == state.session.head;
}

bool is_compared(const AppState& state, const HeadCell& cell) {
  return cell.current && state.session.compare && cell.head == state.session.other_head;
}

// Of the heads that are looked at "heads/3", of the others "heads/1.3".
std::string id_of(const AppState& state, const HeadCell& cell) {
  return "heads/" + (cell.current ? std::to_string(cell.head)
                                  : head_number(step_at(state, cell.row->pattern), cell.head));
}

// The Tab key goes through the heads that are looked at, arrow keys to all others.
FocusKind focus_kind(const HeadCell& cell) {
  return cell.current ? FocusKind::kGrid : FocusKind::kGridCell;
}

// What the scores are means of; null: they are of the shown sentence.
const MeasuredHeads* means_of(const AppState& state) {
  const bool wanted = state.session.measured && state.derived.means;
  return wanted ? state.derived.means->heads.get() : nullptr;
}

// Null until they are measured.
const HeadScores* scores_of(const AppState& state, const HeadCell& cell) {
  const auto row = static_cast<std::size_t>(cell.row - state.derived.grid.rows.data());
  const auto head = static_cast<std::size_t>(cell.head);
  const std::vector<std::vector<HeadScores>>* scores = nullptr;
  if (state.session.measured) {
    if (const MeasuredHeads* means = means_of(state)) scores = &means->scores;
  } else if (const auto& heads = state.derived.heads;
             heads && heads->serial == state.derived.trace->serial()) {
    scores = &heads->scores;
  }
  // Another model's may be there for a moment.
  return scores && row < scores->size() && head < (*scores)[row].size() ? &(*scores)[row][head]
                                                                        : nullptr;
}

Rect picture_of(const Ui& ui, const HeadCell& cell) {
  const float pad = ui.px(kHeadPad), width = cell.shape.picture_width;
  const float room = cell.rect.height() - (cell.shape.beside ? 2 * pad : 2 * pad + ui.px(16));
  const float x = std::round(cell.rect.x0 + pad);
  const float y =
      std::round(cell.rect.y0 + pad + std::max(0.0f, (room - cell.shape.picture_height) / 2));
  return {x, y, x + width, y + cell.shape.picture_height};
}

// Where the words stand.
Rect words_of(const Ui& ui, const HeadCell& cell) {
  const Rect picture = picture_of(ui, cell);
  if (cell.shape.beside)
    return {picture.x1 + ui.px(7), cell.rect.y0 + ui.px(2), cell.rect.x1 - ui.px(3),
            cell.rect.y1 - ui.px(2)};
  return {picture.x0, cell.rect.y1 - ui.px(18), cell.rect.x1 - ui.px(3), cell.rect.y1 - ui.px(2)};
}

// Which head it is, as a head mask names it.
MaskedHead place_of(const AppState& state, const HeadCell& cell) {
  const Step& step = step_at(state, cell.row->pattern);
  return {heads_of(step.stack, step.section), step.layer, cell.head};
}

// By the document, whose run may be under way.
bool is_off(const AppState& state, const HeadCell& cell) {
  return std::ranges::binary_search(state.document().config.masked_heads, place_of(state, cell));
}

// The button in a card: of the head that is looked at it switches that off and on, of another it
// compares the two, or ends that.
struct CardButton {
  Rect rect;
  std::string_view words;
};

CardButton card_button(const AppState& state, const Ui& ui, const HeadCell& cell) {
  const Rect words = words_of(ui, cell);
  const bool low = !cell.shape.beside || words.height() < ui.px(64);
  const bool chosen = is_chosen(state, cell);
  if (low || !cell.current || (!chosen && program_of(state).config.head_count() < 2)) return {};
  const std::string_view word =
      ui.tr(chosen ? is_off(state, cell) ? "heads.switch_on" : "heads.switch_off"
            : is_compared(state, cell) ? "heads.compared"
                                       : "heads.compare_this");
  const bool roomy = words.width() >= ui.measure(ui.fonts.note, word).x;
  const std::string_view shown =
      roomy ? word : ui.tr(chosen ? "heads.switch_short" : "heads.compare_short");
  const float width = ui.measure(ui.fonts.note, shown).x;
  return {{words.x0 - ui.px(4), words.y1 - ui.px(20), words.x0 + width + ui.px(4), words.y1},
          shown};
}

// Opens the head: the same step of its layer.
void open_head(const AppState& state, Ui& ui, const HeadCell& cell) {
  const std::string& step =
      program_of(state)
          .tensors[static_cast<std::size_t>(step_at(state, cell.row->step).tensor)]
          .name;
  if (step != state.session.step) ui.push(GoToStep{step});
  ui.push(ChooseHead{cell.head});
  // Its id is that of the layer that is looked at now.
  if (!cell.current && ui.is_focused(id_of(state, cell)))
    ui.push(FocusOn{"heads/" + std::to_string(cell.head), FocusKind::kGrid, true, true, ""});
}

void press(const AppState& state, Ui& ui, const HeadCell& cell) {
  if (!ImGui::GetIO().KeyShift || is_chosen(state, cell)) return open_head(state, ui, cell);
  if (cell.current) ui.push(CompareHead{is_compared(state, cell) ? -1 : cell.head});
}

void ask_switch(const AppState& state, Ui& ui, const HeadCell& cell, const Rect& button) {
  bool over = false;
  if (ui.hot(id_of(state, cell) + "/switch", button, &over))
    ui.push(SwitchHead{place_of(state, cell)});
  if (over) ui.tooltip(ui.tr("command.heads/switch.help"));
}

void ask_card(const AppState& state, Ui& ui, const HeadCell& cell) {
  const CardButton button = card_button(state, ui, cell);
  if (button.words.empty()) return;
  if (is_chosen(state, cell)) return ask_switch(state, ui, cell, button.rect);
  const bool other = is_compared(state, cell);
  bool over = false;
  if (ui.hot(id_of(state, cell) + "/compare", button.rect, &over))
    ui.push(CompareHead{other ? -1 : cell.head});
  if (over)
    ui.tooltip(other ? std::string(ui.tr("heads.end_tip"))
                     : ui.tr("heads.compare_tip", {{"a", std::to_string(state.session.head)},
                                                   {"b", std::to_string(cell.head)}}));
}

// ---- words ----

// What a head does here, in text ids, and how surely.
struct HeadBadge {
  std::string_view label, brief;
  double value = 0;
};

std::span<const HeadClaim> claims_of(const AppState& state) {
  const std::string& ref = state.document().model;
  if (!state.derived.model || state.derived.model->ref != ref || !ref.starts_with(kBundledRef))
    return {};
  return bundled_recipe(ref.substr(kBundledRef.size())).claims;
}

bool is_about(const AppState& state, const HeadCell& cell, const HeadClaim& claim) {
  const TensorId pattern = step_at(state, cell.row->pattern).tensor;
  return claim.head == cell.head &&
         claim.step == program_of(state).tensors[static_cast<std::size_t>(pattern)].name;
}

// How much of its weight the head gives to what the claim says: of the sentence where it has the
// claim's words, or on average over the sentences of the claim's rule.
std::optional<double> claimed_weight(const AppState& state, const HeadClaim& claim) {
  const Trace& trace = *state.derived.trace;
  if (!state.session.measured)
    return speaks_of(claim, trace) ? std::optional(measured_weight(claim, trace)) : std::nullopt;
  const MeasuredHeads* means = means_of(state);
  const auto place = static_cast<std::size_t>(&claim - claims_of(state).data());
  return means && place < means->claims.size() ? means->claims[place] : std::nullopt;
}

// What the model's recipe says of the head, where the weight is as large as is claimed of it on
// the sentences that it was measured on.
std::optional<HeadBadge> claimed_badge(const AppState& state, const HeadCell& cell) {
  for (const HeadClaim& claim : claims_of(state)) {
    if (claim.badge.empty() || !is_about(state, cell, claim)) continue;
    const std::optional<double> weight = claimed_weight(state, claim);
    const double least = claim.patterns.empty() ? claim.least : claim.mean;
    if (weight && *weight >= least) return HeadBadge{claim.badge, claim.badge, *weight};
  }
  return std::nullopt;
}

// The head's own of the recipe, else the best of those that any model's heads may earn.
std::optional<HeadBadge> badge_of(const AppState& state, const HeadCell& cell) {
  if (const auto claimed = claimed_badge(state, cell)) return claimed;
  const HeadScores* scores = scores_of(state, cell);
  const std::optional<Badge> badge = scores ? best_badge(*scores) : std::nullopt;
  if (!badge) return std::nullopt;
  const BadgeInfo& info = badge_info(*badge);
  return HeadBadge{info.label, info.brief, (*scores)[*badge].value};
}

// The name of a badge at the length that fits; empty where none does.
std::string badge_words(const Ui& ui, const HeadBadge& badge, float room) {
  const std::string_view brief = ui.tr(badge.brief);
  const std::string letter(brief.substr(0, code_point_at(brief, 0).size));
  for (const std::string_view words : {ui.tr(badge.label), brief, std::string_view(letter)}) {
    if (ui.measure(ui.fonts.note, words).x + ui.px(12) <= room) return std::string(words);
  }
  return "";
}

void badge_pill(const AppState& state, Ui& ui, const HeadCell& cell, const HeadBadge& badge,
                ImVec2 at, float room, bool right) {
  const std::string words = badge_words(ui, badge, room);
  if (words.empty()) return;
  const float width = ui.measure(ui.fonts.note, words).x + ui.px(12);
  const float x = right ? at.x + room - width : at.x;
  const Rect pill{x, at.y, x + width, at.y + ui.px(16)};
  const bool chosen = is_chosen(state, cell);
  ImGui::GetWindowDrawList()->AddRectFilled(
      pill.min(), pill.max(),
      to_u32(chosen ? ui.theme.pattern : mix(ui.theme.surface, ui.theme.pattern, 0.16f)), ui.px(8));
  ui.text(ui.fonts.note, {x + ui.px(6), at.y + ui.px(1)},
          chosen ? ui.theme.surface : ui.theme.pattern, words);
  ui.drawn.add("label/" + id_of(state, cell) + "/badge", pill.min(), pill.max());
}

void draw_words(const AppState& state, Ui& ui, const HeadCell& cell) {
  const bool off = is_off(state, cell);
  const std::optional<HeadBadge> badge = off ? std::nullopt : badge_of(state, cell);
  const Rect r = words_of(ui, cell);
  float x = r.x0;
  const int heads = program_of(state).config.head_count();
  const std::vector<int> line_heads = cell.current && lines_are_shown(state)
                                          ? shown_line_heads(state.session, heads)
                                          : std::vector<int>{};
  if (std::find(line_heads.begin(), line_heads.end(), cell.head) != line_heads.end()) {
    ImGui::GetWindowDrawList()->AddCircleFilled({x + ui.px(3), r.y0 + ui.px(9)}, ui.px(3.5f),
                                                to_u32(head_color(ui.theme, cell.head, heads)));
    x += ui.px(10);
  }
  const std::string number = head_number(step_at(state, cell.row->pattern), cell.head);
  const bool beside = cell.shape.beside;
  const bool small = !beside && r.width() < ui.px(110);
  ImFont* font = small ? ui.fonts.note : ui.fonts.strong;
  ui.text(font, {x, r.y0 + ui.px(small ? 2 : 0)}, ui.theme.text, number);
  x += ui.measure(font, number).x + ui.px(6);
  if (off && x + ui.measure(ui.fonts.note, ui.tr("heads.off")).x <= r.x1)
    ui.text(ui.fonts.note, {x, r.y0 + ui.px(2)}, ui.theme.muted, ui.tr("heads.off"));
  if (!badge) return;
  const std::string score = cell_number(badge->value, kShareCell);
  const float width = ui.measure(ui.fonts.mono_small, score).x;
  if (!small && x + width <= r.x1) {
    ui.text(ui.fonts.mono_small, {x, r.y0 + ui.px(2)}, ui.theme.muted, score);
    x += width + ui.px(6);
  }
  if (!beside) return badge_pill(state, ui, cell, *badge, {x, r.y0}, r.x1 - x, true);
  badge_pill(state, ui, cell, *badge, {r.x0, r.y0 + ui.px(18)}, r.width(), false);
}

// The badge that it comes nearest to.
const BadgeInfo* nearest_badge(const HeadScores& scores) {
  const BadgeInfo* best = nullptr;
  for (const BadgeInfo& info : badges()) {
    if (scores[info.badge].rows < kBadgeRows) continue;
    const auto share = [&](const BadgeInfo& b) { return scores[b.badge].value / b.threshold; };
    if (!best || share(info) > share(*best)) best = &info;
  }
  return best;
}

// "24 texts that the model wrote", "200 sentences".
std::string measured_on(const Ui& ui, const MeasuredHeads& means) {
  const std::size_t count = means.written ? means.written : means.sentences;
  return ui.tr(means.written ? "heads.of_texts" : "heads.of_sentences",
               {{"n", count_text(static_cast<std::int64_t>(count))}});
}

std::string badge_tip(const AppState& state, const Ui& ui, const HeadCell& cell) {
  const HeadScores* scores = scores_of(state, cell);
  if (!scores) return "";
  const MeasuredHeads* means = means_of(state);
  const std::string head = head_number(step_at(state, cell.row->pattern), cell.head);
  if (const auto own = claimed_badge(state, cell))
    return ui.tr(means ? "heads.tip_claimed_many" : "heads.tip_claimed",
                 {{"head", head},
                  {"badge", std::string(ui.tr(own->label))},
                  {"score", number_text(own->value, 3)}});
  const std::optional<Badge> badge = best_badge(*scores);
  const BadgeInfo* info = badge ? &badge_info(*badge) : nearest_badge(*scores);
  if (!info)
    return ui.tr(means ? "heads.tip_short_many" : "heads.tip_short",
                 {{"head", head}, {"least", std::to_string(kBadgeRows)}});
  const HeadScore& score = (*scores)[info->badge];
  constexpr std::string_view kTips[2][2] = {{"heads.tip_none", "heads.tip_badge"},
                                            {"heads.tip_none_many", "heads.tip_badge_many"}};
  return ui.tr(kTips[means != nullptr][badge.has_value()],
               {{"head", head},
                {"where", means ? measured_on(ui, *means) : ""},
                {"kind", std::string(ui.tr(info->label))},
                {"score", number_text(score.value, 3)},
                {"rows", count_text(score.rows)},
                {"least", number_text(info->threshold, 2)},
                {"help", std::string(ui.tr(info->help))}});
}

// What the head of a model that comes with the program does on sentences of its own.
std::string claims_tip(const AppState& state, const Ui& ui, const HeadCell& cell) {
  std::string tip;
  for (const HeadClaim& claim : claims_of(state)) {
    if (!is_about(state, cell, claim)) continue;
    const std::optional<double> mean =
        means_of(state) ? claimed_weight(state, claim) : std::optional<double>();
    if (mean)
      tip += "\n" + ui.tr("heads.tip_rule", {{"badge", std::string(ui.tr(claim.badge))},
                                             {"mean", number_text(*mean, 2)},
                                             {"least", number_text(claim.mean, 2)}});
    tip += "\n" + ui.tr("claim.on", {{"sentence", claim.sentence}}) + "\n" +
           claim_text(ui.language, claim);
  }
  return tip;
}

std::string head_tip(const AppState& state, const Ui& ui, const HeadCell& cell) {
  std::string tip = badge_tip(state, ui, cell) + claims_tip(state, ui, cell);
  if (is_chosen(state, cell)) return tip;
  if (!tip.empty()) tip += "\n";
  if (!cell.current) return tip + std::string(ui.tr("heads.tip_elsewhere"));
  if (program_of(state).config.head_count() < 2) return tip + std::string(ui.tr("heads.tip"));
  return tip + ui.tr("heads.tip_compare", {{"n", std::to_string(state.session.head)}});
}

}  // namespace

ImVec2 whole_cells(float width, float height, std::int64_t rows, std::int64_t columns) {
  const auto down = static_cast<float>(std::max<std::int64_t>(rows, 1));
  const auto across = static_cast<float>(std::max<std::int64_t>(columns, 1));
  const float cell = std::floor(std::min(width / across, height / down));
  const float most = cell * longest_cell(rows, columns);
  if (cell >= 1) {
    return {std::floor(std::min(width / across, most)) * across,
            std::floor(std::min(height / down, most)) * down};
  }
  // More cells than pixels: in its proportions while it is not too long.
  const float aspect = std::clamp(across / down, 0.5f, 1.6f);
  const float high = std::min(height, width / aspect);
  return {std::floor(high * aspect), std::floor(high)};
}

void focus_head(const AppState& state, Ui& ui, const HeadCell& cell) {
  if (!cell.current && !state.session.focus.visible) return;
  if (ui.focusable(id_of(state, cell), cell.rect, focus_kind(cell))) press(state, ui, cell);
}

void draw_head_back(const AppState& state, Ui& ui, HeadCell& cell) {
  ask_card(state, ui, cell);  // takes the mouse from the cell
  if (ui.hot(id_of(state, cell), cell.rect, &cell.over, true, focus_kind(cell)))
    press(state, ui, cell);
  if (cell.over || is_compared(state, cell))
    ImGui::GetWindowDrawList()->AddRectFilled(cell.rect.min(), cell.rect.max(),
                                              to_u32(ui.theme.selection), ui.px(6));
}

HeatmapQuad head_picture(const AppState& state, const Ui& ui, const HeadCell& cell) {
  const PagePane& pane = cell.row->pictures[static_cast<std::size_t>(cell.head)];
  const Rect r = picture_of(ui, cell);
  const float side = std::min(r.width() / static_cast<float>(pane.pane.columns),
                              r.height() / static_cast<float>(pane.pane.rows));
  return heatmap_quad(ui, *state.derived.trace, pane, r, side >= 6 ? 1.0f : 0.0f);
}

void draw_head_front(const AppState& state, Ui& ui, const HeadCell& cell) {
  const PagePane& pane = cell.row->pictures[static_cast<std::size_t>(cell.head)];
  const Rect picture = picture_of(ui, cell);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRect({picture.x0 - 1, picture.y0 - 1}, {picture.x1 + 1, picture.y1 + 1},
                to_u32(ui.theme.line));
  if (is_off(state, cell)) {
    Color veil = ui.theme.surface;
    veil.a = 0.7f;
    list->AddRectFilled(picture.min(), picture.max(), to_u32(veil));
    list->AddLine({picture.x0, picture.y1}, {picture.x1, picture.y0}, to_u32(ui.theme.muted),
                  ui.px(1.5f));
  }
  if (is_chosen(state, cell))
    list->AddRect(cell.rect.min(), cell.rect.max(), to_u32(ui.theme.text), ui.px(6), 0, ui.px(2));
  if (cell.over) hover_picture(state, ui, pane, picture);
  mark_hovered_place(state, ui, pane, picture);
  draw_words(state, ui, cell);
  if (cell.over && !picture.contains(ImGui::GetIO().MousePos))
    ui.tooltip(head_tip(state, ui, cell));
  const CardButton button = card_button(state, ui, cell);
  if (button.words.empty()) return;
  const bool lit = is_compared(state, cell) || button.rect.contains(ImGui::GetIO().MousePos);
  ui.text(ui.fonts.note, {button.rect.x0 + ui.px(4), button.rect.y0 + ui.px(3)},
          lit ? ui.theme.text : ui.theme.muted, button.words);
}

void draw_heads(const AppState& state, Ui& ui, std::vector<HeadCell>& cells) {
  std::vector<HeatmapQuad> pictures;
  pictures.reserve(cells.size());
  for (HeadCell& cell : cells) {
    cell.seen ? draw_head_back(state, ui, cell) : focus_head(state, ui, cell);
    pictures.push_back(head_picture(state, ui, cell));
  }
  ui.heatmaps.draw_all(ImGui::GetWindowDrawList(), pictures);
  for (const HeadCell& cell : cells) {
    if (cell.seen) draw_head_front(state, ui, cell);
  }
}

}  // namespace headlight
