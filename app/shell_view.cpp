// The shell's part for how things look: language, ranges, zoom, panels, hints.
#include "app/shell.h"

namespace headlight {

bool Shell::perform_look(Command command) {
  Session& s = state_.session;
  switch (command) {
    case Command::kToggleLanguage:
      s.language = s.language == Language::kEnglish ? Language::kChinese : Language::kEnglish;
      return true;
    default:
      return false;
  }
}

void Shell::on(const SetView& a) { state_.session.view = a.view; }
void Shell::on(const ChooseRange& a) { state_.session.range = a.range; }
void Shell::on(const ChooseVision& a) { state_.session.vision = a.vision; }
void Shell::on(const SizePanels& a) { state_.session.sizes = a.sizes; }
void Shell::on(const Maximize& a) { state_.session.maximized = a.panel; }
void Shell::on(const ShowHint& a) { state_.session.hint = a.hint; }
void Shell::on(const ChooseLanguage& a) { state_.session.language = a.language; }

}  // namespace headlight
