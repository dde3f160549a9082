// Ways to labs from what is shown elsewhere.
#include <algorithm>

#include "app/ui/labs/labs_view.h"

namespace headlight {

std::vector<const Lab*> labs_of_step(const Trace& trace, const Step& step) {
  std::vector<const Lab*> labs;
  for (const Lab& lab : all_labs()) {
    const bool fits =
        std::ranges::any_of(lab.fits, [&](Role role) { return trace.program().makes(step, role); });
    if (fits) labs.push_back(&lab);
  }
  // What is about this step alone comes first.
  std::ranges::stable_sort(labs, {}, [](const Lab* lab) { return lab->fits.size(); });
  return labs;
}

float lab_links(Ui& ui, ImVec2 at, float right, std::span<const Lab* const> labs,
                std::string_view place) {
  float x = at.x;
  for (const Lab* lab : labs) {
    std::string words = ui.tr("lab.link", {{"lab", std::string(lab_words(ui, *lab, "title"))}});
    const float room = right - x - ui.px(16);
    // One alone is shortened rather than left out.
    if (labs.size() == 1 && room > ui.px(100))
      words = shortened_label(ui, ui.fonts.control, std::move(words), room);
    const ImVec2 size = ui.measure(ui.fonts.control, words);
    if (x + size.x + ui.px(16) > right) break;
    const Rect r{x, at.y - ui.px(4), x + size.x + ui.px(16), at.y + size.y + ui.px(4)};
    bool over = false;
    if (ui.hot(std::string(place) + "/" + std::string(lab->id), r, &over))
      ui.push(ShowLab{std::string(lab->id)});
    if (over)
      ImGui::GetWindowDrawList()->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.selection),
                                                ui.px(6));
    ImGui::GetWindowDrawList()->AddRect(r.min(), r.max(), to_u32(ui.theme.line), ui.px(6));
    ui.text(ui.fonts.control, {x + ui.px(8), at.y}, over ? ui.theme.text : ui.theme.muted, words);
    if (over) ui.tooltip(lab_words(ui, *lab, "question"));
    x = r.x1 + ui.px(8);
  }
  return x;
}

}  // namespace headlight
