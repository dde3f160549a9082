// The Words tab: the step in sentences. Names of tensors are links: under the mouse they light
// their matrix on the stage, and a matrix under the mouse lights its name here.
#include "app/ui/experts/stage_experts.h"
#include "app/ui/frame/panels.h"
#include "app/ui/inspector/inspector.h"
#include "app/ui/labs/labs_view.h"
#include "app/ui/matrix/pane_view.h"
#include "app/ui/stage/stage_view.h"
#include "core/base/utf8.h"
#include "core/explain/steps.h"
#include "core/view/pane_layout.h"

namespace headlight {
namespace {

// Running words, laid out piece by piece.
struct RunningWords {
  InspectorColumn& c;
  ImFont* font;
  float x, advance;

  void new_line() {
    x = c.x;
    c.y += advance;
  }
};

bool is_wide(unsigned char first_byte) { return first_byte >= 0xE2; }

// The next piece that is not broken: a word with the spaces behind it, or one wide character.
std::string_view next_atom(std::string_view text) {
  if (is_wide(static_cast<unsigned char>(text[0]))) {
    return text.substr(0, code_point_at(text, 0).size);
  }
  std::size_t end = 0;
  while (end < text.size() && text[end] != ' ' && !is_wide(static_cast<unsigned char>(text[end]))) {
    ++end;
  }
  while (end < text.size() && text[end] == ' ') ++end;
  return text.substr(0, end);
}

// Marks that may not begin a line stay with what stands before them.
bool hangs(std::string_view atom) {
  constexpr std::string_view kMarks[] = {",",  ".",  ":",  ";",  ")",  "，",    "。",
                                         "：", "；", "）", "、", "」", "\u201d"};
  for (const std::string_view mark : kMarks) {
    if (atom.starts_with(mark)) return true;
  }
  return false;
}

void draw_words(RunningWords& w, std::string_view text) {
  Ui& ui = w.c.ui;
  while (!text.empty()) {
    const std::string_view atom = next_atom(text);
    std::string_view ink = atom;
    while (!ink.empty() && ink.back() == ' ') ink.remove_suffix(1);
    const bool full = w.x + ui.measure(w.font, ink).x > w.c.right;
    if (full && w.x > w.c.x && !hangs(atom)) w.new_line();
    ui.user_text(w.font, {w.x, w.c.y}, ui.theme.text, ink, w.c.width());
    w.x += ui.measure(w.font, atom).x;
    text.remove_prefix(atom.size());
  }
}

bool same_tensor(const Trace& trace, TensorId id, const std::string& name) {
  const TensorId other = name.empty() ? -1 : trace.program().find(name);
  return other >= 0 && trace.program().resolve(other) == trace.program().resolve(id);
}

// Returns true while the mouse is over it.
bool draw_link(RunningWords& w, const WordPiece& piece, int place) {
  Ui& ui = w.c.ui;
  const Session& s = w.c.state.session;
  const std::string& name =
      w.c.trace.program().tensors[static_cast<std::size_t>(piece.tensor)].name;
  const float width = std::min(ui.measure(w.font, piece.text).x, w.c.width());
  if (w.x + width > w.c.right && w.x > w.c.x) w.new_line();
  const Rect r{w.x - ui.px(2), w.c.y - ui.px(2), w.x + width + ui.px(2),
               w.c.y + font_size(w.font) + ui.px(4)};
  bool over = false;
  if (ui.hot("words/" + std::to_string(place), r, &over)) {
    const Program& program = w.c.trace.program();
    const Step& step = program.steps[static_cast<std::size_t>(program.step_of(piece.tensor))];
    ui.push(GoToStep{program.tensors[static_cast<std::size_t>(step.tensor)].name});
  }
  const bool pointed = s.hovered && same_tensor(w.c.trace, piece.tensor, s.hovered->tensor);
  const bool lit = over || pointed || same_tensor(w.c.trace, piece.tensor, s.lit_tensor);
  const Color color = tensor_color(ui.theme, w.c.trace.program(), piece.tensor);
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (lit) {
    list->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.selection), ui.px(4));
    ui.drawn.add("words/lit/" + name, r.min(), r.max());
  }
  ui.user_text(w.font, {w.x, w.c.y}, color, piece.text, w.c.width());
  list->AddLine({w.x, w.c.y + font_size(w.font) + ui.px(2)},
                {w.x + width, w.c.y + font_size(w.font) + ui.px(2)}, to_u32(color), ui.px(1));
  if (over) ui.tooltip(name);
  w.x += width;
  return over;
}

// The row that the words speak of: the picked cell's token, else the last.
std::int64_t query_of(const AppState& state, const Trace& trace, const Step& step) {
  const auto& picked = state.session.picked;
  const TensorView t = picked ? trace.find(picked->tensor) : TensorView{};
  if (!t.data) return INT64_MAX;
  return same_row(t, picked->index, trace.tensor(step.tensor)).value_or(INT64_MAX);
}

}  // namespace

void light_named_pane(const AppState& state, Ui& ui, const PlacedPane& p) {
  if (!same_tensor(*state.derived.trace, p.pane->tensor, state.session.lit_tensor)) return;
  const float out = ui.px(4);
  const Rect r{p.rect.x0 - out, p.rect.y0 - out, p.rect.x1 + out, p.rect.y1 + out};
  ImGui::GetWindowDrawList()->AddRect(r.min(), r.max(), to_u32(ui.theme.text), ui.px(4), 0,
                                      ui.px(3));
  ui.drawn.add("lit/" + state.session.lit_tensor, r.min(), r.max());
}

std::string inspector_words(InspectorColumn& c) {
  Ui& ui = c.ui;
  const Step* step = current_step(c.state);
  if (!step) return "";
  const Program& program = c.trace.program();
  ui.text(ui.fonts.sentence, {c.x, c.y}, ui.theme.text, step_title(ui.language, *step), c.width());
  c.y += ui.px(34);
  ImFont* font = ui.fonts.body;
  RunningWords w{c, font, c.x, std::round(font_size(font) * 1.5f)};
  std::string lit;
  int place = 0;
  for (const WordPiece& piece : step_paragraphs(ui.language, c.trace, *step, shown_part(c.state),
                                                query_of(c.state, c.trace, *step))) {
    if (piece.text == "\n") {
      w.new_line();
      c.y += ui.px(8);
    } else if (piece.tensor < 0) {
      draw_words(w, to_field_text(piece.text));
    } else if (draw_link(w, piece, place++)) {
      lit = program.tensors[static_cast<std::size_t>(piece.tensor)].name;
    }
  }
  w.new_line();
  for (const Lab* lab : labs_of_step(c.trace, *step)) {
    c.y += ui.px(10);
    lab_links(ui, {c.x, c.y}, c.right, {&lab, 1}, "inspector/lab");
    c.y += ui.px(22);
  }
  c.y += ui.px(10);
  c.y += ui.wrapped(ui.fonts.note, {c.x, c.y}, c.width(), ui.theme.muted,
                    ui.tr("inspector.words_help"));
  return lit;
}

}  // namespace headlight
