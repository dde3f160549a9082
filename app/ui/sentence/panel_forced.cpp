// The sheet "Teacher forcing and free running": the row that an encoder-decoder is given and what
// it says behind each place, above the row that it writes by itself.
#include <algorithm>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/imgui_compat.h"
#include "app/ui/kit/line_text.h"
#include "app/ui/kit/number_row.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/run/model_input.h"

namespace headlight {
namespace {

constexpr float kLines[] = {0, 36, 60, 84};  // where each line of a block begins, in design pixels
constexpr float kLine = 24, kBlockGap = 16;

// One column: what stands at a place, from top to bottom.
struct BlockPlace {
  std::string read, said, probability, own;
  Color said_color, own_color;
  int said_id = -1;
  float width = 0;
};

class Rows {
 public:
  Rows(const AppState& state, Ui& ui, const ForcedAndFree& rows)
      : state_(state), ui_(ui), rows_(rows), vocabulary_(target_vocabulary(*state.derived.model)) {
    const std::size_t own = rows.own.size() + (rows.own_ends ? 1 : 0);
    const std::size_t count = std::max(rows.read.size(), rows.forced ? own : std::size_t{0});
    for (std::size_t i = 0; i < count; ++i) places_.push_back(place(i));
    float least = 0;  // short tokens stand evenly
    for (const BlockPlace& p : places_) least = std::max(least, std::min(p.width, ui.px(54)));
    for (BlockPlace& p : places_) p.width = std::max(p.width, least);
    add_name(rows.forced ? "forced.reads" : "forced.reads.own");
    add_name("forced.says");
    add_name("forced.p");
    if (rows.forced && !rows.own.empty()) add_name("forced.own");
  }

  // Returns where it ends: as many blocks below each other as the width asks for.
  float draw(const Rect& r) {
    const float left = r.x0 + names_width_ + ui_.px(14);
    float y = r.y0;
    for (std::size_t from = 0; from < places_.size();) {
      std::size_t to = from;
      float x = left;
      while (to < places_.size() && (to == from || x + places_[to].width <= r.x1))
        x += places_[to++].width;
      draw_names({r.x0, y});
      x = left;
      for (std::size_t i = from; i < to; ++i) {
        draw_place(i, {x, y});
        const bool set = is_set(*state_.derived.model, rows_.read, i + 1);
        if (!rows_.forced && i + 1 < to && !set) join({x, y}, x + places_[i].width);
        x += places_[i].width;
      }
      y += line(names_.size() - 1) + ui_.px(kLine + kBlockGap);
      from = to;
    }
    return y;
  }

 private:
  float line(std::size_t i) const { return ui_.px(kLines[i]); }

  void add_name(std::string_view id) {
    names_.push_back(id);
    names_width_ = std::max(names_width_, ui_.measure(ui_.fonts.note, ui_.tr(id)).x);
  }

  std::string label(int id) const { return token_label(vocabulary_.token(id)); }

  BlockPlace place(std::size_t i) const {
    BlockPlace p;
    p.said_color = ui_.theme.muted;
    p.own_color = ui_.theme.text;
    if (i < rows_.read.size()) {
      p.read = label(rows_.read[i]);
      const SaidToken& said = rows_.said[i];
      p.said_id = said.id;
      p.said = label(said.id);
      p.probability = share_text(said.probability);
      const bool known = i + 1 < rows_.read.size();
      if (known && !is_set(*state_.derived.model, rows_.read, i + 1))
        p.said_color = said.id == rows_.read[i + 1] ? ui_.theme.v : ui_.theme.error;
    }
    if (rows_.forced) {
      if (i < rows_.own.size()) p.own = label(rows_.own[i]);
      const std::optional<int> end = end_of(*state_.derived.model);
      if (i == rows_.own.size() && rows_.own_ends && end) p.own = label(*end);
      if (rows_.parts && i >= *rows_.parts && p.own != p.read) p.own_color = ui_.theme.error;
    }
    for (const std::string* text : {&p.read, &p.said, &p.own})
      p.width = std::max(p.width, ui_.measure(ui_.fonts.mono, *text).x);
    p.width = std::max(p.width, ui_.measure(ui_.fonts.mono_small, p.probability).x) + ui_.px(12);
    return p;
  }

  void draw_names(ImVec2 at) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const ImVec2 from{at.x, at.y + line(i) + ui_.px(1)};
      ui_.text(ui_.fonts.note, from, ui_.theme.muted, ui_.tr(names_[i]));
      ui_.drawn.add("label/" + std::string(names_[i]), from,
                    {from.x + names_width_, from.y + ui_.px(18)});
    }
  }

  // What is said is what is read next: only where it writes by itself.
  void join(ImVec2 at, float next) {
    const float half = ui_.px(4), read = font_size(ui_.fonts.mono) + ui_.px(3);
    ImGui::GetWindowDrawList()->AddLine({at.x + half, at.y + line(1) - ui_.px(3)},
                                        {next + half, at.y + read}, to_u32(ui_.theme.muted),
                                        std::max(1.0f, ui_.px(1)));
  }

  void draw_place(std::size_t i, ImVec2 at) {
    const BlockPlace& p = places_[i];
    ui_.text(ui_.fonts.mono, at, ui_.theme.text, p.read);
    if (p.said_id >= 0) {
      const Rect said{at.x - ui_.px(4), at.y + line(1) - ui_.px(3), at.x + p.width - ui_.px(6),
                      at.y + line(3) - ui_.px(4)};
      bool over = false;
      if (ui_.hot("forced/at/" + std::to_string(i), said, &over)) go_to(i, p.said_id);
      if (over) {
        ImGui::GetWindowDrawList()->AddRectFilled(said.min(), said.max(), to_u32(ui_.theme.line),
                                                  ui_.px(4));
        ui_.tooltip(ui_.tr("forced.open"));
      }
      ui_.text(ui_.fonts.mono, {at.x, at.y + line(1)}, p.said_color, p.said);
      ui_.text(ui_.fonts.mono_small, {at.x, at.y + line(2)}, ui_.theme.muted, p.probability);
    }
    if (rows_.forced) ui_.text(ui_.fonts.mono, {at.x, at.y + line(3)}, p.own_color, p.own);
  }

  void go_to(std::size_t i, int id) {
    const Trace& trace = *state_.derived.trace;
    const TensorView probabilities = trace.tensor(trace.program().probabilities);
    std::vector<std::int64_t> cell(probabilities.axes.size(), 0);
    cell.back() = id;
    cell[cell.size() - 2] = static_cast<std::int64_t>(i);
    ui_.push(GoToStep{std::string(probabilities.name)});
    ui_.push(PickCell{{std::string(probabilities.name), cell}});
    ImGui::CloseCurrentPopup();
  }

  const AppState& state_;
  Ui& ui_;
  const ForcedAndFree& rows_;
  const Vocabulary& vocabulary_;
  std::vector<BlockPlace> places_;
  std::vector<std::string_view> names_;  // of the lines
  float names_width_ = 0;
};

// "Forced, the model says 9 of the 10 tokens that were given. By itself it …"
std::string findings(const Ui& ui, const ForcedAndFree& rows, const Vocabulary& vocabulary) {
  const auto label = [&](int id) { return token_label(vocabulary.token(id)); };
  std::string text = ui.tr("forced.right", {{"right", std::to_string(rows.right)},
                                            {"asked", std::to_string(rows.asked)}});
  text += ui.language == Language::kEnglish ? " " : "";
  if (rows.asked == 0) text.clear();
  if (rows.own.empty()) return text + std::string(ui.tr("forced.no_room"));
  if (!rows.parts) {
    const bool longer = rows.own.size() > rows.read.size();
    return text + std::string(ui.tr(longer ? "forced.same.longer" : "forced.same"));
  }
  const std::size_t at = *rows.parts;
  const std::string place = std::to_string(at), given = label(rows.read[at]);
  if (at >= rows.own.size())
    return text + ui.tr("forced.parts.end", {{"place", place}, {"given", given}});
  return text +
         ui.tr("forced.parts", {{"place", place}, {"own", label(rows.own[at])}, {"given", given}});
}

// What the shown trace reads. The sentence as it stands may be another one, which cannot be run.
std::string read_source(const AppState& state) {
  return state.derived.model->vocabulary->decode(state.derived.trace->input().source_ids);
}

// Its source as it was typed, where that is the one of the trace.
std::string own_source(const AppState& state) {
  if (!state.derived.problem.empty()) return read_source(state);
  return std::string(split_pair(state.derived.asked.sentence).source);
}

// Below each other: what is read, the table, what is found in it.
float body(const AppState& state, Ui& ui, const Rect& r) {
  const ForcedAndFree& rows = *state.derived.rows;
  const Vocabulary& vocabulary = target_vocabulary(*state.derived.model);
  const auto text = [&](float y, Color color, std::string_view words) {
    return y + ui.wrapped(ui.fonts.control, {r.x0, y}, r.width(), color, words);
  };
  float y = text(r.y0, ui.theme.muted, ui.tr("forced.help")) + ui.px(8);
  const std::string source = to_line_text(read_source(state));
  const std::string row = to_line_text(vocabulary.decode(std::span(rows.read).subspan(1)));
  const std::string read = rows.forced
                               ? ui.tr("forced.help.given", {{"source", source}, {"row", row}})
                               : ui.tr("forced.help.own", {{"source", source}});
  y = text(y, ui.theme.text, read);
  if (is_set(*state.derived.model, rows.read, 1)) {
    const std::string set = token_label(vocabulary.token(rows.read[1]));
    y = text(y, ui.theme.text, ui.tr("forced.set", {{"token", set}}));
  }
  y += ui.px(18);
  y = Rows(state, ui, rows).draw({r.x0, y, r.x1, r.y1});
  if (rows.forced) y = text(y, ui.theme.text, findings(ui, rows, vocabulary)) + ui.px(10);
  ui.drawn.add("label/forced/table", r.min(), {r.x1, y});
  return y;
}

// Without what a row begins with, which reading puts there again.
std::span<const int> written_tokens(const Model& model, std::span<const int> row) {
  const std::vector<int> opening = opening_of(model);
  std::size_t given = std::min<std::size_t>(row.size(), 1);
  while (given < row.size() && given < opening.size() && row[given] == opening[given]) ++given;
  return row.subspan(given);
}

// One button: it gives the row, takes it away, or opens a model that has one.
void button(const AppState& state, Ui& ui, const Rect& r) {
  const std::optional<ForcedAndFree>& rows = state.derived.rows;
  const auto pressed = [&](std::string_view id, std::string_view label, std::string_view help) {
    const float width = ui.measure(ui.fonts.control, label).x + ui.px(24);
    return ui.button(id, label, {r.x0, r.y0, r.x0 + width, r.y1}, false, true, help);
  };
  if (!rows) {
    if (!pressed("forced/open_model", ui.tr("forced.no_model.go"), "")) return;
    ui.push(ChooseModel{std::string(kBundledRef) + "dates"});
    return;
  }
  const std::string source = own_source(state);
  if (rows->forced) {
    if (pressed("forced/write", ui.tr("forced.write"), ui.tr("forced.write.help")))
      ui.push(DoEdit{SetSentence{source}, ""});
    return;
  }
  const Model& model = *state.derived.model;
  const std::string row = target_vocabulary(model).decode(written_tokens(model, rows->own));
  if (pressed("forced/give", ui.tr("forced.give"), ui.tr("forced.give.help")))
    ui.push(DoEdit{SetSentence{source + " → " + row}, ""});
}

}  // namespace

void panel_forced(const AppState& state, Ui& ui, float width, float height) {
  const bool wanted = state.requests.open == Sheet::kForced;
  if (!wanted && !ImGui::IsPopupOpen("forced")) return;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  const ImVec2 size{std::min(ui.px(860), width - ui.px(16)), std::min(ui.px(380), height)};
  const bool open = begin_sheet(ui, "forced", wanted, width, height, size);
  ImGui::PopStyleVar();
  if (!open) return;
  const ImVec2 at = ImGui::GetWindowPos(), drawn = ImGui::GetWindowSize();
  const Rect inside{at.x + ui.px(20), at.y + ui.px(16), at.x + drawn.x - ui.px(20),
                    at.y + drawn.y - ui.px(16)};
  const Rect close = sheet_close(ui, "forced/close", inside);
  const std::string_view title = ui.tr("forced.title");
  const float room = close.x0 - inside.x0;
  const bool fits = ui.measure(ui.fonts.title, title).x <= room;
  ui.text(fits ? ui.fonts.title : ui.fonts.strong, inside.min(), ui.theme.text, title, room);
  const float top = inside.y0 + ui.px(40), foot = inside.y1 - ui.px(28);
  ImGui::SetCursorScreenPos({inside.x0, top});
  begin_child("forced_rows",
              {inside.width() + ui.px(12), std::max(foot - ui.px(10) - top, ui.px(20))},
              ImGuiWindowFlags_NoBackground);
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const Rect r{start.x, start.y, start.x + inside.width() - ui.px(6), foot};
  const float end = state.derived.rows ? body(state, ui, r)
                                       : r.y0 + ui.wrapped(ui.fonts.control, r.min(), r.width(),
                                                           ui.theme.text, ui.tr("forced.no_model"));
  ImGui::SetCursorScreenPos({start.x, end});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
  button(state, ui, {inside.x0, foot, inside.x1, inside.y1});
  ui.drawn.add("panel/forced", at, {at.x + drawn.x, at.y + drawn.y});
  ImGui::EndPopup();
}

}  // namespace headlight
