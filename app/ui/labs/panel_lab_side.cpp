// Predict, then see; what to notice; ways on.
#include <algorithm>

#include "app/ui/frame/panels.h"
#include "app/ui/labs/labs_view.h"
#include "core/lab/lab_files.h"

namespace headlight {
namespace {

LabAnswer answer_of(const AppState& state, const std::string& question) {
  const auto& all = state.session.labs.answers;
  const auto lab = all.find(state.labs.lab);
  if (lab == all.end()) return {};
  const auto found = lab->second.find(question);
  return found == lab->second.end() ? LabAnswer{} : found->second;
}

void right_mark(Ui& ui, ImVec2 middle) {
  const ImVec2 points[] = {{middle.x - ui.px(5), middle.y},
                           {middle.x - ui.px(1), middle.y + ui.px(4)},
                           {middle.x + ui.px(6), middle.y - ui.px(5)}};
  ImGui::GetWindowDrawList()->AddPolyline(points, 3, to_u32(ui.theme.v), 0, ui.px(2));
}

float one_answer(Ui& ui, const LabQuestion& q, const AskedQuestion& text, std::size_t i,
                 const LabAnswer& answer, const Rect& r) {
  const bool chosen = answer.chosen == static_cast<int>(i);
  ImFont* font = chosen ? ui.fonts.strong : ui.fonts.control;
  const float room = r.width() - ui.px(62);
  const float high = std::max(ui.px(16), ui.wrapped_height(font, room, text.answers[i]));
  const Rect box{r.x0, r.y0, r.x1, r.y0 + high + ui.px(13)};
  bool over = false;
  const std::string id = "lab/ask/" + q.id + "/" + q.answers[i];
  if (ui.hot(id, box, &over, !answer.seen)) ui.push(AnswerLab{q.id, static_cast<int>(i)});
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (chosen || (over && !answer.seen))
    list->AddRectFilled(box.min(), box.max(), to_u32(ui.theme.selection), ui.px(6));
  list->AddRect(box.min(), box.max(), to_u32(chosen ? ui.theme.text : ui.theme.line), ui.px(6), 0,
                chosen ? ui.px(1.5f) : 1);
  const ImVec2 dot{box.x0 + ui.px(18), (box.y0 + box.y1) / 2};
  list->AddCircle(dot, ui.px(6), to_u32(ui.theme.muted), 20);
  if (chosen) list->AddCircleFilled(dot, ui.px(3.4f), to_u32(ui.theme.text), 16);
  ui.wrapped(font, {box.x0 + ui.px(34), box.y0 + ui.px(6)}, room, ui.theme.text, text.answers[i]);
  if (answer.seen && i == q.right) right_mark(ui, {box.x1 - ui.px(16), dot.y});
  return box.y1 + ui.px(6);
}

float question(const AppState& state, Ui& ui, const Lab& lab, const LabQuestion& q, const Rect& r) {
  const AskedQuestion text = asked(ui.language, lab, q);
  const LabAnswer answer = answer_of(state, q.id);
  float y =
      r.y0 + ui.wrapped(ui.fonts.control, r.min(), r.width(), ui.theme.text, text.text) + ui.px(10);
  for (std::size_t i = 0; i < text.answers.size(); ++i)
    y = one_answer(ui, q, text, i, answer, {r.x0, y, r.x1, r.y1});
  if (!answer.seen) {
    const std::string_view see = ui.tr("lab.see");
    const float wide = ui.measure(ui.fonts.control, see).x + ui.px(36);
    if (ui.button("lab/see/" + q.id, see, {r.x0, y + ui.px(4), r.x0 + wide, y + ui.px(34)},
                  answer.chosen >= 0, answer.chosen >= 0, ui.tr("lab.see.help")))
      ui.push(SeeLab{q.id});
    return y + ui.px(46);
  }
  const bool right = answer.chosen == static_cast<int>(q.right);
  y += ui.wrapped(ui.fonts.strong, {r.x0, y + ui.px(4)}, r.width(), ui.theme.text,
                  ui.tr(right ? "lab.right" : "lab.wrong")) +
       ui.px(8);
  return y +
         ui.wrapped(ui.fonts.control, {r.x0, y}, r.width(), ui.theme.text,
                    say(ui.language, q.because)) +
         ui.px(12);
}

float noticed(const AppState& state, Ui& ui, const Rect& r) {
  float y = r.y0;
  int number = 0;
  for (const Message& m : state.labs.result->notice) {
    ui.text(ui.fonts.control, {r.x0, y}, ui.theme.muted, std::to_string(++number));
    y += ui.wrapped(ui.fonts.control, {r.x0 + ui.px(18), y}, r.width() - ui.px(18), ui.theme.text,
                    say(ui.language, m)) +
         ui.px(9);
  }
  return y;
}

// Stay at the foot while the rest scrolls.
float ways_on(const AppState& state, Ui& ui, const Rect& r) {
  const bool code = state.session.labs.code;
  const std::string labels[] = {std::string(ui.tr(code ? "lab.page" : "lab.code")),
                                std::string(ui.tr("lab.open_in_steps"))};
  const float half = (r.width() - ui.px(38)) / 2;
  float widest = 0;
  for (const std::string& l : labels) widest = std::max(widest, ui.measure(ui.fonts.control, l).x);
  const bool two = widest + ui.px(12) > half;
  const float wide = two ? r.width() - ui.px(30) : half, high = ui.px(30);
  const float top = r.y1 - (two ? 2 * high + ui.px(20) : high + ui.px(12));
  ImGui::GetWindowDrawList()->AddLine({r.x0 + 1, top - ui.px(10)}, {r.x1 - 1, top - ui.px(10)},
                                      to_u32(ui.theme.line));
  const Rect first{r.x0 + ui.px(15), top, r.x0 + ui.px(15) + wide, top + high};
  const Rect second =
      two ? Rect{first.x0, first.y1 + ui.px(8), first.x1, first.y1 + ui.px(8) + high}
          : Rect{first.x1 + ui.px(8), top, first.x1 + ui.px(8) + wide, top + high};
  if (ui.button("lab/code", labels[0], first, code)) ui.push(ShowLabCode{!code});
  if (ui.button("lab/open_in_steps", labels[1], second, false, state.labs.result != nullptr,
                ui.tr("lab.open_in_steps.help")))
    ui.push(OpenLabInSteps{});
  return top - ui.px(11);
}

float section(Ui& ui, std::string_view title, const Rect& r) {
  ui.text(ui.fonts.strong, r.min(), ui.theme.text, title, r.width());
  return r.y0 + ui.px(26);
}

}  // namespace

void panel_lab_side(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("inspector", r);
  const Lab& lab = shown_lab(state.document());
  const float foot = ways_on(state, ui, r);
  ImGui::SetCursorScreenPos({r.x0 + 1, r.y0 + 1});
  begin_child("lab_side", {r.width() - 2, std::max(foot - r.y0 - 1, 1.0f)},
              ImGuiWindowFlags_NoBackground);
  const float x0 = r.x0 + ui.px(18), x1 = r.x1 - ui.px(18);
  float y = r.y0 + ui.px(16) - ImGui::GetScrollY();
  const LabsData& d = state.labs;
  if (d.result && d.lab == lab.id && d.problem.empty()) {
    if (!d.result->questions.empty()) y = section(ui, ui.tr("lab.predict"), {x0, y, x1, r.y1});
    for (const LabQuestion& q : d.result->questions)
      y = question(state, ui, lab, q, {x0, y, x1, r.y1}) + ui.px(8);
    if (!d.result->notice.empty()) {
      y = section(ui, ui.tr("lab.notice"), {x0, y, x1, r.y1});
      y = noticed(state, ui, {x0, y, x1, r.y1});
    }
    if (d.result->questions.empty() && d.result->notice.empty())
      y += ui.wrapped(ui.fonts.control, {x0, y}, x1 - x0, ui.theme.muted, ui.tr("lab.nothing"));
  }
  ImGui::SetCursorScreenPos({r.x0, y + ui.px(10)});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
  ui.end_panel();
}

}  // namespace headlight
