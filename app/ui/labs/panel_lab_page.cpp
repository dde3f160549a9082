// The page of a lab: its question, what it argues, pictures and curves of this very run; or the
// same as code.
#include <algorithm>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/field_text.h"
#include "app/ui/labs/labs_view.h"
#include "core/base/number_text.h"
#include "core/model/model.h"

namespace headlight {
namespace {

float head(Ui& ui, const Lab& lab, const Rect& r) {
  const std::string_view question = lab_words(ui, lab, "question");
  const std::string words = lab_name(ui, std::string(lab.formula));
  const float formula = words.empty() ? 0 : ui.measure(ui.fonts.strong, words).x;
  const float title = ui.measure(ui.fonts.title, question).x;
  const bool beside = formula > 0 && title + formula + ui.px(30) < r.width();
  float y = r.y0 + ui.wrapped(ui.fonts.title, r.min(), r.width(), ui.theme.text, question);
  if (beside) ui.text(ui.fonts.strong, {r.x1 - formula, r.y0 + ui.px(4)}, ui.theme.pattern, words);
  y += ui.px(4);
  if (formula > 0 && !beside)
    y += ui.wrapped(ui.fonts.strong, {r.x0, y}, r.width(), ui.theme.pattern, words) + ui.px(4);
  y += ui.wrapped(ui.fonts.control, {r.x0, y}, r.width(), ui.theme.text,
                  lab_words(ui, lab, "about"));
  return y + ui.px(14);
}

// How far the run is, with a button that ends it. Only where it takes long enough to be read.
float progress(const AppState& state, Ui& ui, const Rect& r) {
  const LabsData& d = state.labs;
  const std::string_view stop = ui.tr("lab.stop");
  const float wide = ui.measure(ui.fonts.control, stop).x + ui.px(24);
  if (ui.button("lab/stop", stop, {r.x1 - wide, r.y0, r.x1, r.y0 + ui.px(26)})) ui.push(StopLab{});
  const std::string words =
      std::string(ui.tr("lab.doing")) + " · " + number_text(100 * d.share, 2) + " %";
  ui.text(ui.fonts.note, {r.x0, r.y0}, ui.theme.muted, words, r.width() - wide - ui.px(10));
  const Rect bar{r.x0, r.y0 + ui.px(19), r.x1 - wide - ui.px(16), r.y0 + ui.px(23)};
  ImGui::GetWindowDrawList()->AddRectFilled(bar.min(), bar.max(), to_u32(ui.theme.selection),
                                            ui.px(2));
  ui.bar(bar, d.share, ui.theme.text);
  return r.y0 + ui.px(34);
}

// A program, its comments quieter.
float code(const AppState& state, Ui& ui, const Rect& r) {
  float y = r.y0;
  ImFont* font = ui.fonts.mono_small;
  y += ui.wrapped(ui.fonts.control, {r.x0, y}, r.width(), ui.theme.muted, ui.tr("lab.code.about")) +
       ui.px(12);
  std::string_view rest = state.labs.code;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == rest.npos ? "" : rest.substr(end + 1);
    const bool note =
        line.find_first_not_of(' ') != line.npos && line[line.find_first_not_of(' ')] == '#';
    if (!line.empty())
      y += ui.wrapped(font, {r.x0, y}, r.width(), note ? ui.theme.muted : ui.theme.text, line);
    y += ui.px(line.empty() ? 10 : 3);
  }
  return y;
}

float notes(const AppState& state, Ui& ui, const Lab& lab, const Rect& r) {
  float y = r.y0;
  for (const Message& note : state.labs.result->notes)
    y += ui.wrapped(ui.fonts.note, {r.x0, y}, r.width(), ui.theme.muted, say(ui.language, note)) +
         ui.px(2);
  return y + ui.wrapped(ui.fonts.note, {r.x0, y}, r.width(), ui.theme.muted,
                        ui.tr("lab.source", {{"source", std::string(lab.source)}}));
}

// What the numbers are of: the sentence, the model, the controls.
float made_with(const AppState& state, Ui& ui, const Lab& lab, const Rect& r) {
  const Document& d = state.document();
  std::string words =
      "“" + to_field_text(d.sentence) + "”   ·   " +
      (d.model.empty() ? std::string(ui.tr("model.sandbox"))
                       : token_label(state.derived.model ? state.derived.model->name : d.model));
  for (const auto& [control, value] : state.labs.result->settings)
    words += "   ·   " +
             ui.tr("lab.print.set", {{"control", std::string(ui.tr("lab.control." + control))},
                                     {"value", lab_setting_text(ui, lab, control, value)}});
  return r.y0 + ui.wrapped(ui.fonts.control, {r.x0, r.y0}, r.width(), ui.theme.muted, words) +
         ui.px(14);
}

}  // namespace

void draw_lab_only(const AppState& state, Ui& ui, float width, float height) {
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize({width, height});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::Begin("lab", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar(2);
  ImGui::GetWindowDrawList()->AddRectFilled({0, 0}, {width, height}, to_u32(ui.theme.surface));
  const Lab& lab = shown_lab(state.document());
  const float x0 = ui.px(28), x1 = width - ui.px(28);
  float y = head(ui, lab, {x0, ui.px(24), x1, height});
  if (state.labs.result) {
    y = made_with(state, ui, lab, {x0, y, x1, height});
    y = lab_pictures(state, ui, lab, {x0, y, x1, height});
    y = lab_tree(state, ui, {x0, y, x1, height});
    y = lab_charts(state, ui, lab, {x0, y, x1, height});
    for (const Message& m : state.labs.result->notice)
      y += ui.wrapped(ui.fonts.control, {x0, y}, x1 - x0, ui.theme.text, say(ui.language, m)) +
           ui.px(6);
    y = notes(state, ui, lab, {x0, y + ui.px(8), x1, height});
  }
  ui.drawn.add("lab/end", {x0, y}, {x1, y + ui.px(24)});
  ImGui::End();
}

void panel_lab_page(const AppState& state, Ui& ui, const Rect& r, bool with_controls) {
  ui.begin_panel("stage", r, true);
  const Lab& lab = shown_lab(state.document());
  const float pad = ui.px(r.width() > ui.px(500) ? 22 : 12);
  const float x0 = r.x0 + pad, x1 = r.x1 - pad;
  float y = r.y0 + ui.px(16) - ImGui::GetScrollY();
  y = head(ui, lab, {x0, y, x1, r.y1});
  if (with_controls) y = lab_controls(state, ui, {x0, y, x1, r.y1}) + ui.px(12);
  const LabsData& d = state.labs;
  const bool known = d.result && d.lab == lab.id;
  if (state.session.labs.code) {
    y = code(state, ui, {x0, y, x1, r.y1});
  } else if (!d.problem.empty()) {
    y = lab_problem(state, ui, lab, {x0, y, x1, r.y1});
  } else {
    if (d.computing) y = progress(state, ui, {x0, y, x1, r.y1});
    if (known) {
      y = lab_pictures(state, ui, lab, {x0, y, x1, r.y1});
      y = lab_tree(state, ui, {x0, y, x1, r.y1});
      y = lab_charts(state, ui, lab, {x0, y, x1, r.y1});
      y = notes(state, ui, lab, {x0, y, x1, r.y1});
    }
  }
  ImGui::SetCursorScreenPos({r.x0, y + ui.px(14)});
  ImGui::Dummy({1, 1});
  ui.end_panel();
}

}  // namespace headlight
