// The page of the tokens: the sentence with the tokenizer's cuts, and the tokens as chips that can
// be put into another order and marked as padding.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/line_text.h"
#include "app/ui/stage/stage_motion.h"
#include "app/ui/stage/stage_view.h"
#include "core/base/utf8.h"
#include "core/run/model_input.h"

namespace headlight {
namespace {

constexpr float kChipHeight = 46, kChipGap = 8, kRowGap = 10, kLongestLabel = 220;
// From here on all chips are equally wide, so that only those in sight need be measured.
constexpr std::int64_t kManyTokens = 256;
constexpr int kCutLines = 3;  // at most

std::string chip_id(std::int64_t t) { return "token/" + std::to_string(t); }

// The row of tokens that the page shows: the sentence's or, of an encoder-decoder, one side's.
struct TokenRow {
  std::string_view name;  // of the tensor of its ids
  const std::vector<std::string>& tokens;
  const std::vector<int>& ids;
  bool source = false;
  // What of the sentence the tokens stand for; nothing where the model wrote them.
  std::string_view text;
  std::int64_t first = 0;  // the first that can be moved: before it stands [BOS] or [CLS]
  bool written = false;    // by the model, not by the person
  // Which sentence each token stands in, of a model with segments; and how many tokens at the end
  // nobody wrote: the [SEP] that closes a pair.
  std::span<const int> segments = {};
  std::int64_t behind = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t last() const { return size() - 1 - behind; }
  bool can_move(std::int64_t t) const {
    return !written && t >= first && t <= last() && last() > first;
  }
  bool is_read(std::int64_t t) const { return t >= first && t <= last(); }
};

TokenRow shown_row(const AppState& state) {
  const Trace& trace = *state.derived.trace;
  const RunInput& input = trace.input();
  const std::string& sentence = state.document().sentence;
  const Step* step = current_step(state);
  const std::string_view name = trace.tensor(step->tensor).name;
  if (step->stack == Stack::kOnly) {
    const RowFrame frame = row_frame(state.derived.model.get(), state.document());
    const int first = static_cast<int>(frame.before.size());
    const std::vector<PlacedToken>& placed = state.derived.tokens.tokens;
    const bool closed = state.document().ids.empty() &&
                        std::ssize(placed) == std::ssize(input.tokens) &&
                        std::ssize(placed) > first && placed.back().begin == placed.back().end;
    return {name,  input.tokens, input.ids,         false,         sentence,
            first, false,        input.segment_ids, closed ? 1 : 0};
  }
  const SourceAndTarget pair = split_pair(sentence);
  if (step->stack == Stack::kEncoder)
    return {name, input.source_tokens, input.source_ids, true, pair.source};
  return {name, input.tokens, input.ids, false, pair.target.value_or(""), 1, !pair.target};
}

const std::vector<int>& padding_of(const MaskSpec& mask, const TokenRow& row) {
  return row.source ? mask.source_padding : mask.padding;
}

// Does a click on a token mark it? The sentence's own padding needs the padding mask to act; a
// source has no other mask.
bool marks_padding(const AppState& state, const TokenRow& row) {
  const MaskSpec& mask = state.document().config.mask;
  return mask.kind == MaskKind::kPadding || (row.source && !mask.source_padding.empty());
}

bool is_padding(const AppState& state, const TokenRow& row, std::int64_t t) {
  const MaskSpec& mask = state.document().config.mask;
  const std::vector<int>& padding = padding_of(mask, row);
  return (row.source || mask.kind == MaskKind::kPadding) &&
         std::binary_search(padding.begin(), padding.end(), static_cast<int>(t));
}

// [CLS] stands for all of the sentence.
bool can_be_padding(const AppState& state, std::int64_t t) {
  const RowFrame frame = row_frame(state.derived.model.get(), state.document());
  return t >= std::ssize(frame.before);
}

// Marks the token or takes its mark away; another mask becomes the padding mask first.
void toggle_padding(const AppState& state, Ui& ui, const TokenRow& row, std::int64_t t) {
  if (!can_be_padding(state, t)) return;
  MaskSpec next = state.document().config.mask;
  const int place = static_cast<int>(t);
  const bool marked = is_padding(state, row, t);
  if (!row.source) {
    if (next.kind != MaskKind::kPadding) next.causal = next.is_causal();
    next.kind = MaskKind::kPadding;
  }
  std::vector<int>& padding = row.source ? next.source_padding : next.padding;
  std::erase(padding, place);
  if (!marked) padding.push_back(place);
  ui.push(DoEdit{SetMask{next}, ""});
}

void move_to(Ui& ui, const TokenRow& row, std::int64_t from, std::int64_t to) {
  to = std::clamp(to, row.first, row.last());
  if (from == to || !row.can_move(from)) return;
  ui.push(DoEdit{MoveToken{static_cast<int>(from), static_cast<int>(to), row.source}, ""});
}

// Does the trace show the tokens of the sentence as it stands now?
bool up_to_date(const AppState& state) {
  return !state.derived.computing && state.derived.problem.empty();
}

CellPick token_cell(const TokenRow& row, std::int64_t t) { return {std::string(row.name), {0, t}}; }

std::optional<std::int64_t> hovered_token(const AppState& state, const TokenRow& row) {
  const auto& cell = state.session.hovered;
  if (!cell || cell->tensor != row.name || cell->index.size() != 2) return std::nullopt;
  return cell->index[1];
}

// ---- the sentence with its cuts ----

// The text before token `t` that belongs to no token, and where the token ends.
struct Cut {
  std::string_view dropped;
  std::size_t end = 0;
};

Cut cut_of(const AppState& state, const TokenRow& row, std::string_view token, std::size_t from) {
  if (state.document().tokenizer == TokenizerKind::kBytes) return {{}, from + 1};
  const std::size_t at = row.text.find(token, from);
  if (at == std::string::npos) return {{}, from};
  return {row.text.substr(from, at - from), at + token.size()};
}

// Each token underlined, a bar at each cut, the spaces between them visible. Returns the height.
float draw_cuts(const AppState& state, Ui& ui, const TokenRow& row, const Rect& area) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImFont* font = ui.fonts.sentence;
  const float line = ui.px(32), bar = ui.px(7), space = ui.measure(font, "␣").x;
  const std::optional<std::int64_t> hovered = hovered_token(state, row);
  float x = area.x0, y = area.y0;
  int lines = 1;
  const int most =
      std::clamp(static_cast<int>((area.height() - ui.px(kChipHeight + 16)) / line), 1, kCutLines);
  std::size_t from = 0;
  for (std::int64_t t = 0; t < row.size(); ++t) {
    const std::string& token = row.tokens[static_cast<std::size_t>(t)];
    const Cut cut = row.is_read(t) ? cut_of(state, row, token, from) : Cut{{}, from};
    from = cut.end;
    const std::string label = token_label(token);
    const float room = area.width() * 0.5f;
    const float width = std::min(ui.measure(font, label).x, room);
    const float before = t == 0 ? 0 : bar + (cut.dropped.empty() ? 0 : space + bar);
    const float reserve = ui.px(lines == most ? 120 : 10);  // for what the last line ends with
    if (x + before + width + reserve > area.x1 && x > area.x0) {
      if (lines++ == most) {
        const std::string more = ui.tr("tokens.more", {{"n", std::to_string(row.size() - t)}});
        ui.text(ui.fonts.note, {x + ui.px(10), y + ui.px(6)}, ui.theme.muted, more);
        break;
      }
      x = area.x0;
      y += line;
    } else if (t > 0) {
      const auto mark = [&](float at) {
        list->AddLine({at, y + ui.px(1)}, {at, y + ui.px(25)}, to_u32(ui.theme.muted), ui.px(1));
      };
      mark(std::round(x + bar / 2));
      if (!cut.dropped.empty()) {
        ui.text(font, {x + bar, y}, faded(ui.theme.muted, 0.6f), "␣");
        mark(std::round(x + bar * 1.5f + space));
      }
      x += before;
    }
    const bool lit = hovered == t;
    ui.user_text(font, {x, y}, is_padding(state, row, t) ? ui.theme.muted : ui.theme.text, label,
                 room);
    list->AddRectFilled({x, y + ui.px(24)}, {x + width, y + ui.px(lit ? 27 : 25.5f)},
                        to_u32(lit ? ui.theme.text : ui.theme.line));
    ui.drawn.add("cut/" + std::to_string(t), {x, y}, {x + width, y + line});
    x += width;
  }
  return y + line - area.y0;
}

// ---- the chips ----

bool second_sentence(const TokenRow& row, std::int64_t t) {
  return t < std::ssize(row.segments) && row.segments[static_cast<std::size_t>(t)] > 0;
}

// Where each chip stands, scrolled; rows from the top down.
std::vector<Rect> place_chips(Ui& ui, const TokenRow& row, const Rect& area, float top) {
  std::vector<Rect> chips;
  chips.reserve(row.tokens.size());
  const bool equal = row.size() > kManyTokens;
  const float height = ui.px(kChipHeight);
  float x = area.x0, y = top;
  for (const std::string& token : row.tokens) {
    float width = ui.px(104);
    if (!equal) {
      const std::string label = token_label(token);
      width = std::clamp(ui.measure(ui.fonts.sentence, label).x + ui.px(24), ui.px(44),
                         ui.px(kLongestLabel + 24));
    }
    if (x + width > area.x1 && x > area.x0) {
      x = area.x0;
      y += height + ui.px(kRowGap);
    }
    chips.push_back({x, y, x + width, y + height});
    x += width + ui.px(kChipGap);
  }
  return chips;
}

// Before which chip the mouse is: chips.size() behind the last one.
std::size_t slot_at(const std::vector<Rect>& chips, ImVec2 mouse, float row_gap) {
  for (std::size_t i = 0; i < chips.size(); ++i) {
    const bool last_of_row = i + 1 == chips.size() || chips[i + 1].y0 > chips[i].y0;
    if (mouse.y > chips[i].y1 + row_gap / 2) continue;  // a row further down
    if (mouse.x < (chips[i].x0 + chips[i].x1) / 2) return i;
    if (last_of_row) return i + 1;
  }
  return chips.size();
}

void draw_chip(const AppState& state, Ui& ui, const TokenRow& row, std::int64_t t, const Rect& chip,
               bool over, bool lifted) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool chosen = state.session.picked == token_cell(row, t);
  const bool pad = is_padding(state, row, t), lit = over || hovered_token(state, row) == t;
  const std::string label = token_label(row.tokens[static_cast<std::size_t>(t)]);
  const std::string id = std::to_string(row.ids[static_cast<std::size_t>(t)]);
  const float alpha = lifted ? 0.35f : 1.0f;
  list->AddRectFilled(chip.min(), chip.max(),
                      to_u32(faded(lit ? ui.theme.selection : ui.theme.surface, alpha)), ui.px(6));
  const Color edge = chosen ? ui.theme.text : lit ? ui.theme.muted : ui.theme.line;
  list->AddRect(chip.min(), chip.max(), to_u32(faded(edge, alpha)), ui.px(6), 0,
                chosen ? ui.px(2) : 1);
  const Color ink = faded(pad ? ui.theme.muted : ui.theme.text, alpha);
  const float x = chip.x0 + ui.px(12), room = chip.width() - ui.px(20);
  ui.user_text(ui.fonts.sentence, {x, chip.y0 + ui.px(4)}, ink, label, room);
  if (pad) {
    const float y = chip.y0 + ui.px(15);
    const float width = std::min(room, ui.measure(ui.fonts.sentence, label).x);
    list->AddLine({x - ui.px(2), y}, {x + width + ui.px(2), y}, to_u32(ink), ui.px(1.5f));
  }
  if (second_sentence(row, t)) {
    const float bar = ui.px(3), inset = ui.px(8);
    const ImVec2 from{chip.x0 + inset, chip.y1 - bar}, to{chip.x1 - inset, chip.y1};
    list->AddRectFilled(from, to, to_u32(faded(ui.theme.text, alpha)), ui.px(1));
    ui.drawn.add("token/segment/" + std::to_string(t), from, to, false);
  }
  const std::string under = pad ? id + " " + std::string(ui.tr("tokens.pad")) : id;
  ui.text(ui.fonts.mono_small, {x, chip.y0 + ui.px(28)}, faded(ui.theme.muted, alpha), under);
}

void draw_menu(const AppState& state, Ui& ui, const TokenRow& row) {
  // The chips' window knows which one; the menu is a window of its own.
  const auto t = std::min<std::int64_t>(ImGui::GetStateStorage()->GetInt(ImGui::GetID("token")),
                                        row.size() - 1);
  if (!ImGui::BeginPopup("popup/token")) return;
  const bool acts = row.source || state.document().config.mask.kind == MaskKind::kPadding;
  const auto item = [&](const char* id, std::string_view label, bool enabled) {
    return ui.menu_item(id, label, {}, false, enabled);
  };
  const std::string_view mark = is_padding(state, row, t) ? "tokens.unmark"
                                : acts                    ? "tokens.mark"
                                                          : "tokens.mark_and_switch";
  if (item("token_menu/padding", ui.tr(mark), can_be_padding(state, t)))
    toggle_padding(state, ui, row, t);
  const bool can = up_to_date(state) && row.can_move(t);
  const bool left = can && t > row.first, right = can && t < row.last();
  if (item("token_menu/left", ui.tr("tokens.left"), left)) move_to(ui, row, t, t - 1);
  if (item("token_menu/right", ui.tr("tokens.right"), right)) move_to(ui, row, t, t + 1);
  if (item("token_menu/first", ui.tr("tokens.first"), left)) move_to(ui, row, t, row.first);
  if (item("token_menu/last", ui.tr("tokens.last"), right)) move_to(ui, row, t, row.last());
  ImGui::EndPopup();
}

// Ctrl+← and Ctrl+→ move the focused chip. Returns where to, for the focus to go with it.
std::optional<std::int64_t> move_by_key(const AppState& state, Ui& ui, const TokenRow& row,
                                        std::int64_t t) {
  if (state.session.focus.id != chip_id(t) || !ImGui::GetIO().KeyCtrl) return std::nullopt;
  const int direction = key_pressed(ImGuiKey_RightArrow)  ? 1
                        : key_pressed(ImGuiKey_LeftArrow) ? -1
                                                          : 0;
  if (direction == 0) return std::nullopt;
  const std::int64_t to = t + direction;
  if (to < row.first || to > row.last() || !row.can_move(t) || !up_to_date(state))
    return std::nullopt;
  move_to(ui, row, t, to);
  return to;
}

// The chip in the hand follows the mouse; a bar shows where it would go. Drops it when let go.
void drag_chip(const AppState& state, Ui& ui, const TokenRow& row, const Rect& area,
               const std::vector<Rect>& chips, std::int64_t t, bool let_go) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const std::size_t slot = slot_at(chips, mouse, ui.px(kRowGap));
  const auto from = static_cast<std::size_t>(t);
  if (let_go) {
    const auto to = static_cast<std::int64_t>(slot > from ? slot - 1 : slot);
    if (area.contains(mouse) && up_to_date(state)) move_to(ui, row, t, to);
    return;
  }
  if (mouse.y > area.y1 - ui.px(20)) ImGui::SetScrollY(ImGui::GetScrollY() + ui.px(6));
  if (mouse.y < area.y0 + ui.px(20)) ImGui::SetScrollY(ImGui::GetScrollY() - ui.px(6));
  const bool at_end = slot == chips.size() || (slot > 0 && chips[slot].y0 > chips[slot - 1].y0 &&
                                               mouse.y < chips[slot].y0 - ui.px(kRowGap) / 2);
  const Rect& beside = chips[at_end ? slot - 1 : slot];
  const float x = at_end ? beside.x1 + ui.px(kChipGap) / 2 : beside.x0 - ui.px(kChipGap) / 2;
  ImGui::GetWindowDrawList()->AddRectFilled(
      {x - ui.px(1.5f), beside.y0}, {x + ui.px(1.5f), beside.y1}, to_u32(ui.theme.text), ui.px(2));
  const Rect& home = chips[from];
  const ImVec2 at = {mouse.x - home.width() / 2, mouse.y - home.height() / 2};
  draw_chip(state, ui, row, t, {at.x, at.y, at.x + home.width(), at.y + home.height()}, true,
            false);
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
}

void draw_chips(const AppState& state, Ui& ui, const TokenRow& row, const Rect& area) {
  const bool padding = marks_padding(state, row);
  ImGui::SetCursorScreenPos(area.min());
  ui.drawn.add("panel/tokens", area.min(), area.max());
  begin_child("tokens", {area.width(), area.height()}, ImGuiWindowFlags_NoBackground);
  const std::vector<Rect> chips =
      place_chips(ui, row, {area.x0, area.y0, area.x1 - ui.px(12), area.y1},
                  area.y0 - ImGui::GetScrollY() + ui.px(2));
  const float far_enough = ui.px(6) * ui.px(6);
  const bool was_dragged = ImGui::GetIO().MouseDragMaxDistanceSqr[0] > far_enough;
  std::optional<std::int64_t> over_token, dragged, focus;
  bool let_go = false;
  // While the step is played they come one after another.
  const std::optional<Motion> motion = shown_motion(state);
  const std::int64_t shown = motion ? motion->cells_done : row.size();
  for (std::int64_t t = 0; t < row.size(); ++t) {
    const Rect& chip = chips[static_cast<std::size_t>(t)];
    if (chip.y1 < area.y0 || chip.y0 > area.y1 || t >= shown) {
      ui.focusable(chip_id(t), chip);
      continue;
    }
    bool over = false;
    const bool pressed = ui.hot(chip_id(t), chip, &over);
    const bool held = ImGui::IsItemActive() && ImGui::IsMouseDown(0);
    const bool dropped = ImGui::IsItemDeactivated() && ImGui::IsMouseReleased(0);
    if ((held || dropped) && was_dragged && row.can_move(t)) {
      dragged = t;
      let_go = dropped;
    } else if (pressed) {
      if (padding) toggle_padding(state, ui, row, t);
      ui.push(PickCell{token_cell(row, t)});
    }
    if (const auto to = move_by_key(state, ui, row, t)) focus = to;
    if (over && ImGui::IsMouseClicked(1)) {
      ImGui::GetStateStorage()->SetInt(ImGui::GetID("token"), static_cast<int>(t));
      ImGui::OpenPopup("popup/token");
    }
    if (over) over_token = t;
    draw_chip(state, ui, row, t, chip, over, dragged == t && !let_go);
    if (over && !dragged) {
      std::string tip = ui.tr(
          padding ? "tokens.tip_padding" : "tokens.tip",
          {{"n", std::to_string(t)}, {"id", std::to_string(row.ids[static_cast<std::size_t>(t)])}});
      if (!row.segments.empty())
        tip += "\n" + ui.tr("tokens.segment", {{"n", second_sentence(row, t) ? "1" : "0"}});
      ui.tooltip(tip);
    }
  }
  const bool ring = state.session.focus.visible;
  if (focus) ui.push(FocusOn{chip_id(*focus), FocusKind::kButton, ring, ring, ""});
  if (dragged) drag_chip(state, ui, row, area, chips, *dragged, let_go);
  draw_menu(state, ui, row);
  if (over_token) ui.hovered_cell = token_cell(row, *over_token);
  if (!chips.empty()) {
    ImGui::SetCursorScreenPos({area.x0, chips.back().y1 + ui.px(8)});
    ImGui::Dummy({1, 1});
  }
  ImGui::EndChild();
}

}  // namespace

void draw_tokens(const AppState& state, Ui& ui, const Rect& area) {
  const TokenRow row = shown_row(state);
  float y = area.y0 + ui.px(4);
  y += draw_cuts(state, ui, row, {area.x0, y, area.x1 - ui.px(16), area.y1}) + ui.px(10);
  std::string hint(ui.tr(row.written                 ? "tokens.hint_written"
                         : marks_padding(state, row) ? "tokens.hint_padding"
                                                     : "tokens.hint"));
  if (!row.segments.empty()) hint = two_sentences(hint, ui.tr("tokens.hint_segments"));
  const float hint_width = area.width() - ui.px(16);
  const float hint_height = ui.wrapped_height(ui.fonts.note, hint_width, hint) + ui.px(8);
  if (area.y1 - y - hint_height >= ui.px(kChipHeight)) {  // the chips come first
    ui.wrapped(ui.fonts.note, {area.x0, y}, hint_width, ui.theme.muted, hint);
    y += hint_height;
  }
  if (area.y1 - y > ui.px(20)) draw_chips(state, ui, row, {area.x0, y, area.x1, area.y1});
}

}  // namespace headlight
