// The shell's part for the row of heads and the mask painter.
#include <algorithm>

#include "app/shell/shell.h"
#include "app/ui/heads/heads_lines.h"

namespace headlight {

// Lines stand on the stage of the softmax step, in the place of a comparison.
void Shell::on(const ChooseHeadsView& a) {
  state_.session.heads_view = a.view;
  if (a.view != HeadsView::kLines) return;
  state_.session.compare = false;
  go_to(lines_tensor(state_));
}

// None chosen means the head that is looked at; so the last one stays.
void Shell::on(const ToggleLineHead& a) {
  Session& s = state_.session;
  if (s.line_heads.empty()) s.line_heads.push_back(s.head);
  const auto at = std::find(s.line_heads.begin(), s.line_heads.end(), a.head);
  if (at == s.line_heads.end()) {
    s.line_heads.push_back(a.head);
    std::sort(s.line_heads.begin(), s.line_heads.end());
  } else if (s.line_heads.size() > 1) {
    s.line_heads.erase(at);
  }
}

void Shell::on(const ChooseBrush& a) { state_.session.brush = a.brush; }

}  // namespace headlight
