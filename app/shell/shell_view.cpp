// The shell's part for how things look: language, ranges, zoom, panels, hints.
#include "app/shell/panel_commands.h"
#include "app/shell/shell.h"
#include "app/ui/frame/hints.h"

namespace headlight {

bool Shell::perform_look(Command command) {
  Session& s = state_.session;
  switch (command) {
    case Command::kToggleLanguage:
      speak(s.language == Language::kEnglish ? Language::kChinese : Language::kEnglish);
      return true;
    case Command::kZoomIn:
      ++s.view_request.zoom;
      return true;
    case Command::kZoomOut:
      --s.view_request.zoom;
      return true;
    case Command::kViewLeft:
      --s.view_request.right;
      return true;
    case Command::kViewRight:
      ++s.view_request.right;
      return true;
    case Command::kViewUp:
      --s.view_request.down;
      return true;
    case Command::kViewDown:
      ++s.view_request.down;
      return true;
    case Command::kResetView:
      s.view = {};
      return true;
    case Command::kToggleRange:
      s.range = s.range == RangeMode::kShared ? RangeMode::kPicture : RangeMode::kShared;
      return true;
    case Command::kNextVision:
      s.vision = static_cast<Vision>((static_cast<int>(s.vision) + 1) % kVisionCount);
      return true;
    default:
      return perform_panel_command(s, command);
  }
}

void Shell::on(const SetView& a) {
  state_.session.view = a.view;
  state_.session.view_request = {};
}
void Shell::on(const ChooseRange& a) { state_.session.range = a.range; }
void Shell::on(const ChooseVision& a) { state_.session.vision = a.vision; }
void Shell::on(const SizePanels& a) { state_.session.sizes = a.sizes; }
void Shell::on(const Maximize& a) { state_.session.maximized = a.panel; }
void Shell::on(const ShowHint& a) {
  state_.session.hint = a.hint >= 0 && a.hint < kHintCount ? a.hint : -1;
}
void Shell::on(const ChooseLanguage& a) { speak(a.language); }

}  // namespace headlight
