// The notice at the top of the window: one at a time, with the buttons that lead on from it.
#include <algorithm>
#include <span>

#include "app/ui/frame/panels.h"

namespace headlight {
namespace {

constexpr float kWay = 28, kClose = 34;

float way_width(const Ui& ui, const NoticeButton& button) {
  return ui.measure(ui.fonts.control, button.text).x + ui.px(24);
}

// Buttons stand beside the words, or below them where that leaves the words too little.
struct NoticePlan {
  float words_width = 0, words_height = 0, height = 0;
  std::vector<std::vector<std::size_t>> rows;  // of buttons, below the words
  bool beside = false;
};

NoticePlan planned(const Ui& ui, const Notice& notice, float width,
                   std::span<const NoticeButton> buttons) {
  NoticePlan plan;
  plan.words_width = width - ui.px(18 + kClose + 8);
  float all = 0, used = 0;
  for (std::size_t i = 0; i < buttons.size(); ++i) {
    const float wide = way_width(ui, buttons[i]) + ui.px(8);
    all += wide;
    if (plan.rows.empty() || used + wide > plan.words_width) {
      plan.rows.emplace_back();
      used = 0;
    }
    plan.rows.back().push_back(i);
    used += wide;
  }
  plan.beside = !plan.rows.empty() && all < 0.5f * plan.words_width;
  if (plan.beside) plan.words_width -= all + ui.px(10);
  plan.words_height =
      ui.wrapped_height(ui.fonts.control, plan.words_width, to_field_text(notice.text));
  plan.height = plan.words_height + ui.px(16);
  if (plan.beside) plan.height = std::max(plan.height, ui.px(kWay + 10));
  if (!plan.beside) plan.height += static_cast<float>(plan.rows.size()) * ui.px(kWay + 6);
  return plan;
}

// A low window has no room for buttons that make the notice taller: the words say what to do.
NoticePlan plan_notice(const Ui& ui, const Notice& notice, float width) {
  constexpr float kLow = 280;
  const NoticePlan plan = planned(ui, notice, width, notice.buttons);
  if (plan.rows.empty() || ImGui::GetIO().DisplaySize.y >= ui.px(kLow)) return plan;
  const NoticePlan words = planned(ui, notice, width, {});
  return words.height < plan.height ? words : plan;
}

void draw_ways(Ui& ui, const Notice& notice, const NoticePlan& plan, const Rect& line) {
  float y =
      plan.beside ? (line.y0 + line.y1 - ui.px(kWay)) / 2 : line.y0 + ui.px(12) + plan.words_height;
  for (const std::vector<std::size_t>& row : plan.rows) {
    float x = line.x0 + ui.px(18) + (plan.beside ? plan.words_width + ui.px(10) : 0);
    for (const std::size_t i : row) {
      const NoticeButton& button = notice.buttons[i];
      const Rect r{x, y, x + way_width(ui, button), y + ui.px(kWay)};
      if (ui.button("notice/" + button.id, button.text, r)) ui.push(PressNotice{i});
      x = r.x1 + ui.px(8);
    }
    y += ui.px(kWay + 6);
  }
}

}  // namespace

float notices_height(const AppState& state, const Ui& ui, float width) {
  if (state.notices.empty()) return 0;
  return plan_notice(ui, state.notices.front(), width).height + ui.px(6);
}

void panel_notices(const AppState& state, Ui& ui, const Rect& r) {
  if (state.notices.empty()) return;
  const Notice& notice = state.notices.front();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const NoticePlan plan = plan_notice(ui, notice, r.width());
  const Rect line{r.x0, r.y0, r.x1, r.y0 + plan.height};
  const Color edge = notice.kind == NoticeKind::kError     ? ui.theme.error
                     : notice.kind == NoticeKind::kWarning ? ui.theme.k
                                                           : ui.theme.q;
  list->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.surface), ui.px(6));
  list->AddRect(line.min(), line.max(), to_u32(edge), ui.px(6));
  list->AddRectFilled(line.min(), {line.x0 + ui.px(5), line.y1}, to_u32(edge), ui.px(6),
                      ImDrawFlags_RoundCornersLeft);
  const float top = plan.beside ? (line.y0 + line.y1 - plan.words_height) / 2 : line.y0 + ui.px(8);
  ui.wrapped(ui.fonts.control, {line.x0 + ui.px(18), top}, plan.words_width, ui.theme.text,
             to_field_text(notice.text));
  draw_ways(ui, notice, plan, line);
  const Rect close{line.x1 - ui.px(kClose), line.y0, line.x1, line.y0 + ui.px(kClose)};
  if (ui.hot("notice/0/close", close)) ui.push(DismissNotice{0});
  const ImVec2 c = {(close.x0 + close.x1) / 2, (close.y0 + close.y1) / 2};
  const float a = ui.px(4);
  list->AddLine({c.x - a, c.y - a}, {c.x + a, c.y + a}, to_u32(ui.theme.muted), ui.px(1.5f));
  list->AddLine({c.x - a, c.y + a}, {c.x + a, c.y - a}, to_u32(ui.theme.muted), ui.px(1.5f));
  const bool over = line.contains(ImGui::GetIO().MousePos);
  if (over != notice.held) ui.push(HoldNotice{over});
  ui.drawn.add("panel/notice", line.min(), line.max());
}

}  // namespace headlight
