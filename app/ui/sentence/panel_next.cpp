// Under the sentence: what the model thinks comes next, and how it goes on.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/line_text.h"
#include "app/ui/kit/number_row.h"
#include "app/ui/matrix/place_words.h"
#include "app/ui/state/commands.h"
#include "core/base/utf8.h"
#include "core/graph/step_names.h"
#include "core/model/lacks_head.h"
#include "core/run/model_input.h"

namespace headlight {
namespace {

constexpr std::size_t kChoices = 5;

// What an encoder-decoder has written up to there, behind its start token; others write nothing of
// their own.
std::string written_so_far(const AppState& state, const Outcome& outcome) {
  const RunInput& input = state.derived.trace->input();
  const auto& model = state.derived.model;
  if (!model || input.source_ids.empty() || outcome.position < 1) return {};
  const auto count = static_cast<std::size_t>(outcome.position);
  return to_line_text(target_vocabulary(*model).decode(std::span(input.ids).subspan(1, count)));
}

// "Next after “…21-0”": as many last characters as have room, at least one.
std::string title_with_end(const Ui& ui, const std::string& text, float room) {
  constexpr std::size_t kMost = 40;
  const std::u32string points = to_code_points(text);
  for (std::size_t from = points.size() - std::min(points.size(), kMost);; ++from) {
    std::string end = from > 0 ? "…" : "";
    for (std::size_t i = from; i < points.size(); ++i) end += to_utf8(points[i]);
    const std::string title = ui.tr("next.after", {{"token", end}});
    if (from + 1 >= points.size() || ui.measure(ui.fonts.strong, title).x <= room) return title;
  }
}

// "Next after “cat”", "Hidden by [MASK]", "Number for “0.20”", "Class of the sentence".
std::string title_of(const AppState& state, const Ui& ui, const Outcome& outcome, float room) {
  if (outcome.classes) return std::string(ui.tr("next.class"));
  const Trace& trace = *state.derived.trace;
  const std::string written = written_so_far(state, outcome);
  if (!written.empty()) return title_with_end(ui, written, room);
  const std::string token = token_label(
      trace.name(find_row_axis(trace.tensor(outcome.tensor).axes)->name, outcome.position));
  return ui.tr(outcome.hidden           ? "next.hidden"
               : trace.config().numbers ? "next.number"
                                        : "next.after",
               {{"token", token}});
}

std::string fitting(const Ui& ui, const std::string& label, float room) {
  std::size_t letters = std::max<std::size_t>(to_code_points(label).size(), 1);
  while (letters > 1 && ui.measure(ui.fonts.control, shortened(label, letters)).x > room) --letters;
  return shortened(label, letters);
}

// Where the bar ended with the settings that the model was trained with.
void draw_mark(const Ui& ui, const Rect& bar, float share) {
  const float x = std::round(bar.x0 + share * bar.width());
  ImGui::GetWindowDrawList()->AddRectFilled(
      {x - ui.px(1), bar.y0 - ui.px(3)}, {x + ui.px(1), bar.y1 + ui.px(3)}, to_u32(ui.theme.text));
}

// What cannot be put into the sentence: its name as text, and why it cannot.
void draw_said(Ui& ui, const std::string& name, const std::string& label, const Rect& r,
               std::string_view why) {
  ui.drawn.add(name, r.min(), r.max(), false);
  const float top = (r.y0 + r.y1 - font_size(ui.fonts.control)) / 2;
  ui.text(ui.fonts.control, {r.x0, top}, ui.theme.text, fitting(ui, label, r.width()), r.width());
  if (ImGui::IsMouseHoveringRect(r.min(), r.max()) && ImGui::IsWindowHovered()) ui.tooltip(why);
}

// Its entry as a button that puts it into the sentence; a class cannot be put there.
void choice(const AppState& state, Ui& ui, const Outcome& outcome, std::size_t place, int id,
            const Rect& r, float bar_width) {
  const Trace& trace = *state.derived.trace;
  const std::string name = "next/" + std::to_string(place);
  const std::string label = place_label(ui, trace, entries_of(outcome), id);
  const float p = outcome.probabilities[static_cast<std::size_t>(id)];
  const float word = r.width() - bar_width - ui.px(48);
  const Rect button{r.x0, r.y0, r.x0 + word - ui.px(6), r.y1};
  const auto masked = outcome.hidden ? std::optional(outcome.position) : std::nullopt;
  const bool fits = !outcome.classes && can_go_on(state) &&
                    sentence_with(state.document(), trace, state.derived.model.get(), id, masked);
  const std::string_view help = outcome.classes          ? ui.tr("next.class.help")
                                : trace.config().numbers ? ui.tr("next.number.help")
                                : fits && masked         ? ui.tr("next.fill_this")
                                : fits                   ? ui.tr("next.add_this")
                                : !can_go_on(state)      ? ui.tr("next.full")
                                                         : ui.tr("next.no_text");
  if (!fits)
    draw_said(ui, name, label, button, help);
  else if (ui.button(name, fitting(ui, label, button.width() - ui.px(10)), button, false, true,
                     help))
    ui.push(AddToken{id});
  const float middle = (r.y0 + r.y1) / 2;
  const Rect bar{button.x1 + ui.px(6), middle - ui.px(4), button.x1 + ui.px(6) + bar_width,
                 middle + ui.px(4)};
  ImGui::GetWindowDrawList()->AddRectFilled(bar.min(), bar.max(), to_u32(ui.theme.line));
  ui.bar(bar, p, ui.theme.pattern);
  const std::span<const float> before =
      is_as_trained(state) ? std::span<const float>() : said_as_trained(state, outcome);
  std::string change;
  if (!before.empty()) {
    const float was = before[static_cast<std::size_t>(id)];
    change = "\n" + ui.tr("next.as_trained", {{"p", share_text(was)}});
    draw_mark(ui, bar, was);
    ui.drawn.add("label/" + name + "/was", bar.min(), bar.max());
  }
  const Rect number{bar.x1 + ui.px(6), r.y0, r.x1, r.y1};
  bool over = false;
  if (ui.hot(name + "/open", number, &over)) {
    const TensorView probs = trace.tensor(outcome.tensor);
    std::vector<std::int64_t> cell(probs.axes.size(), 0);
    cell.back() = id;
    if (cell.size() > 2) cell[cell.size() - 2] = outcome.position;
    ui.push(GoToStep{std::string(probs.name)});
    ui.push(PickCell{{std::string(probs.name), cell}});
  }
  if (over) ui.tooltip(std::string(ui.tr("next.open")) + change);
  ui.text(ui.fonts.mono, {number.x0, middle - font_size(ui.fonts.mono) / 2},
          over ? ui.theme.text : ui.theme.muted, share_text(p));
}

// How the next token is drawn.
void sampling_sheet(const AppState& state, Ui& ui) {
  const TrainSession& session = state.session.train;
  SamplingOptions next = session.sampling;
  std::uint64_t seed = session.sampling_seed;
  const float width = ui.px(300);
  ImGui::SetNextWindowSize({width, ui.px(150)});
  if (!ImGui::BeginPopup("next_sampling")) return;
  const ImVec2 at = ImGui::GetWindowPos();
  float y = at.y + ui.px(14);
  bool changed = false;
  const std::string_view off = ui.tr("train.off");
  const auto number = [&](const NumberRow& row, std::string_view label_id, auto& value) {
    changed |= number_row(ui, row, label_id, value,
                          {at.x + ui.px(16), y, at.x + width - ui.px(16), y + ui.px(24)});
    y += ui.px(30);
  };
  const std::string greedy = next.temperature == 0 ? std::string(ui.tr("next.greedy")) : "";
  number({.id = "next/temperature", .high = 2, .shown = greedy}, "train.temperature",
         next.temperature);
  number({.id = "next/top_k", .high = 50, .integer = true, .zero = off}, "train.top_k", next.top_k);
  number({.id = "next/top_p", .low = 0.05, .shown = std::string(next.top_p < 1 ? "" : off)},
         "train.top_p", next.top_p);
  number({.id = "next/seed", .high = 1000, .integer = true}, "train.sampling_seed", seed);
  if (changed) ui.push(SetSampling{next, seed});
  ImGui::SetCursorScreenPos({at.x, y});
  ImGui::Dummy({1, 1});
  ImGui::EndPopup();
}

// What a button does that draws tokens, and what its folder asks of that and is not followed.
std::string drawing_help(const AppState& state, const Ui& ui, std::string_view id) {
  std::string rules;
  if (const Model* model = state.derived.model.get())
    for (const std::string& rule : model->unfollowed) rules += (rules.empty() ? "" : ", ") + rule;
  const std::string help(ui.tr(id));
  if (rules.empty()) return help;
  return help + "\n" + ui.tr("next.unfollowed", {{"rules", rules}});
}

// Add, Write and the sheet behind them, from the right; returns their left edge.
float buttons(const AppState& state, Ui& ui, const Outcome& outcome, const Rect& r) {
  const bool writing = state.derived.writing;
  const bool can = !outcome.classes && can_go_on(state), room = can && has_room(state);
  float x = r.x1;
  const auto button = [&](std::string_view id, std::string_view label, bool on, bool enabled,
                          std::string_view help) {
    const float width = ui.measure(ui.fonts.control, label).x + ui.px(22);
    x -= width;
    const bool pressed = ui.button(id, label, {x, r.y0, x + width, r.y1}, on, enabled, help);
    x -= ui.px(6);
    return pressed;
  };
  const bool numbers = state.derived.trace->config().numbers;
  const std::string_view why = ui.tr(outcome.classes ? "next.class.help"
                                     : numbers       ? "next.number.help"
                                                     : "next.full");
  if (button("next/sampling", "…", false, !outcome.classes && !numbers, ui.tr("next.sampling"))) {
    ImGui::SetNextWindowPos({r.x1 - ui.px(300), r.y1 + ui.px(6)});
    ImGui::OpenPopup("next_sampling");
  }
  if (button("next/write", ui.tr(writing ? "next.stop" : "next.write"), writing, writing || room,
             room || writing
                 ? drawing_help(state, ui, outcome.hidden ? "next.write.fills" : "next.write.help")
                 : std::string(why)))
    ui.push(Write{!writing});
  if (button("next/add", ui.tr("next.add"), false, can && !writing,
             room  ? drawing_help(state, ui, outcome.hidden ? "next.add.fills" : "next.add.help")
             : can ? std::string(ui.tr("next.slides"))
                   : std::string(why)))
    ui.push(GenerateToken{});
  if (state.derived.rows && button("next/forced", ui.tr("next.forced"), false, true,
                                   command_help(ui.language, Command::kForced)))
    ui.push(DoCommand{Command::kForced});
  return x;
}

float way_back_width(const Ui& ui) {
  return ui.measure(ui.fonts.control, ui.tr("next.not_trained")).x + ui.px(28);
}

// What the model says now is not what it learned to say: said, with the way back.
void way_back(const AppState& state, Ui& ui, const Rect& r) {
  const Rect button{r.x1 - way_back_width(ui) + ui.px(8), r.y0, r.x1, r.y1};
  if (!ui.button("next/as_trained", ui.tr("next.not_trained"), button, false, true,
                 ui.tr("next.not_trained.help")))
    return;
  SetModel edit;
  edit.model = state.document().model;
  edit.config = state.derived.model->file.config;
  ui.push(DoEdit{edit, ""});
}

// Nothing is hidden: how to hide a token, by the model's own name of what hides it, and a button
// that does. A model whose vocabulary has none cannot be asked.
void nothing_hidden(const AppState& state, Ui& ui, const Rect& r) {
  const Model* model = state.derived.model.get();
  const std::string mask(mask_name(model));
  const bool lacks = model && lacks_head(*model);
  const bool known = !lacks && (!model || knows_mask(*model));
  float right = r.x1;
  if (known) {
    const std::string label = ui.tr("next.add_mask", {{"mask", mask}});
    right -= ui.measure(ui.fonts.control, label).x + ui.px(22);
    if (ui.button("next/mask", label, {right, r.y0, r.x1, r.y1}, false, true,
                  ui.tr("next.add_mask.help", {{"mask", mask}}))) {
      const std::string& text = state.document().sentence;
      const bool open = text.empty() || text.back() == ' ';
      ui.push(DoEdit{SetSentence{text + (open ? "" : " ") + mask}, ""});
    }
    right -= ui.px(10);
  }
  ui.text(ui.fonts.note, {r.x0, (r.y0 + r.y1) / 2 - ui.px(7)}, ui.theme.muted,
          ui.tr(lacks   ? "next.no_head"
                : known ? "next.no_mask"
                        : "next.no_mask_id",
                {{"mask", mask}}),
          right - r.x0);
}

// What stands there instead of an answer; empty: there is one.
std::string_view no_answer(const AppState& state, const Outcome& outcome) {
  const Derived& d = state.derived;
  if (outcome.probabilities.empty() || d.empty) return "next.nothing";
  if (!d.problem.empty()) return "next.not_of_this";
  // One that is not makes the sum over its row, and so all of them, none.
  return std::isfinite(outcome.probabilities.front()) ? "" : "next.not_numbers";
}

// How the room of the line is shared: the title's, and that of what all others have together. In
// narrow windows the answers come first.
struct LineRoom {
  std::string title;
  float title_room = 0, rest_room = 0, answers = 0;
  std::size_t count = 0;
};

LineRoom share_room(const AppState& state, const Ui& ui, const Outcome& outcome, const Rect& line,
                    float right, float least) {
  LineRoom room;
  for (const auto& [title, rest] : {std::pair(0.24f, 110.0f), {0.24f, 0.0f}, {0.12f, 0.0f}}) {
    const float most = title * line.width();
    room.title = title_of(state, ui, outcome, most);
    room.title_room = std::min(ui.measure(ui.fonts.strong, room.title).x, most);
    room.rest_room = ui.px(rest);
    room.answers = right - room.rest_room - (line.x0 + room.title_room + ui.px(16));
    room.count =
        std::min<std::size_t>({kChoices, outcome.probabilities.size(),
                               static_cast<std::size_t>(std::max(room.answers / least, 0.0f))});
    if (room.count > 0) break;
  }
  return room;
}

}  // namespace

void panel_next(const AppState& state, Ui& ui, const Rect& r) {
  const float middle = (r.y0 + r.y1) / 2, half = ui.px(12);
  const Rect line{r.x0 + ui.px(16), middle - half, r.x1 - ui.px(10), middle + half};
  const Outcome outcome = shown_outcome(state);
  const auto& model = state.derived.model;
  const bool no_mask = state.derived.trace && state.derived.trace->program().asks_for_masked() &&
                       (!outcome.hidden || (model && lacks_head(*model)));
  if (no_mask && !state.derived.empty && state.derived.problem.empty())
    return nothing_hidden(state, ui, line);
  if (!state.derived.trace && !state.derived.empty) return;  // nobody knows yet
  if (const std::string_view why = no_answer(state, outcome); !why.empty()) {
    ui.text(ui.fonts.note, {line.x0, middle - ui.px(7)}, ui.theme.muted, ui.tr(why), line.width());
    ui.drawn.add("label/next/none", line.min(), line.max());
    return;
  }
  const float end = buttons(state, ui, outcome, line);
  sampling_sheet(state, ui);
  const float bar_width = ui.px(line.width() > ui.px(1100) ? 64 : 34);
  const float beside = bar_width + ui.px(48), least = ui.px(58) + beside;
  const float back_room = is_as_trained(state) ? 0 : way_back_width(ui);
  const float right = end - back_room;
  const LineRoom room = share_room(state, ui, outcome, line, right, least);
  ui.user_text(ui.fonts.strong, {line.x0, middle - ui.px(8)}, ui.theme.text, room.title,
               room.title_room);
  if (back_room > 0) way_back(state, ui, {right, line.y0, end, line.y1});
  if (room.count == 0) return;
  const std::vector<int> best = most_probable(outcome.probabilities, room.count);
  float widest = ui.px(58) + ui.px(40);
  for (const int id : best) {
    const std::string label = place_label(ui, *state.derived.trace, entries_of(outcome), id);
    widest = std::max(widest, ui.measure(ui.fonts.control, label).x + ui.px(28));
  }
  const float each = std::min(room.answers / static_cast<float>(room.count), widest + beside);
  double shown = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const float x = right - room.rest_room - room.answers + each * static_cast<float>(i);
    choice(state, ui, outcome, i, best[i], {x, line.y0, x + each - ui.px(10), line.y1}, bar_width);
    shown += outcome.probabilities[static_cast<std::size_t>(best[i])];
  }
  if (best.size() == outcome.probabilities.size() || room.rest_room == 0) return;
  const std::string rest = ui.tr("next.others", {{"p", share_text(std::max(0.0, 1 - shown))}});
  ui.text_right(ui.fonts.note, right, middle - ui.px(7), ui.theme.muted, rest);
  ui.drawn.add("label/next/others", {right - room.rest_room, line.y0}, {right, line.y1});
}

}  // namespace headlight
