// The shell's part for the command palette, and for keys while it or a question is open.
#include <algorithm>

#include "app/shell/shell.h"
#include "app/ui/frame/palette.h"

namespace headlight {
namespace {

constexpr int kPageLines = 8;

// Keys by which a field edits its text; the field takes them itself.
bool edits_text(const Shortcut& key) {
  return key.ctrl && !key.shift &&
         (key.key == 'A' || key.key == 'C' || key.key == 'V' || key.key == 'X');
}

}  // namespace

// Enter, a letter and Esc are the three buttons, Tab goes from one to the next; nothing gets past
// the question.
bool Shell::question_key(const Shortcut& key) {
  if (key.key == kKeyTab) {
    push(DoCommand{key.shift ? Command::kFocusPrevious : Command::kFocusNext});
    return true;
  }
  const Focus& focus = state_.session.focus;
  if (focus.visible && focus.id.starts_with("question/") && focus_takes(key)) return true;
  const Asking asking = state_.session.question.asking;
  const bool plain = !key.ctrl && !key.shift;
  const int second = asking == Asking::kOverwrite ? 'O' : 'D';
  if (plain && key.key == kKeyEnter) push(AnswerQuestion{Answer::kFirst});
  if (plain && key.key == second) push(AnswerQuestion{Answer::kSecond});
  if (plain && key.key == kKeyEscape) push(AnswerQuestion{Answer::kCancel});
  return true;
}

bool Shell::palette_key(const Shortcut& key) {
  const int choice = state_.session.palette_choice;
  const std::optional<Command> command = command_for(key, true);
  switch (key.key) {
    case kKeyUp:
      push(ChooseInPalette{choice - 1});
      return true;
    case kKeyTab:
      push(ChooseInPalette{choice + (key.shift ? -1 : 1)});
      return true;
    case kKeyDown:
      push(ChooseInPalette{choice + 1});
      return true;
    case kKeyPageUp:
      push(ChooseInPalette{choice - kPageLines});
      return true;
    case kKeyPageDown:
      push(ChooseInPalette{choice + kPageLines});
      return true;
    case kKeyEnter:
      push(RunInPalette{});
      return true;
    case kKeyEscape:
      push(ClosePopups{});
      return true;
    default:
      break;
  }
  if (edits_text(key) || !command) return false;
  // The document stays as it is behind the palette; any other command takes its place.
  if (command == Command::kUndo || command == Command::kRedo) return true;
  push(ClosePopups{});
  if (command != Command::kPalette && is_enabled(*command, state_)) push(DoCommand{*command});
  return true;
}

void Shell::on(const TypeQuery& a) {
  state_.session.palette_typed = a.text;
  state_.session.palette_choice = 0;
}

void Shell::on(const ChooseInPalette& a) {
  const int count = static_cast<int>(palette_lines(state_).size());
  state_.session.palette_choice = std::clamp(a.line, 0, std::max(count - 1, 0));
}

void Shell::on(const RunInPalette&) {
  const std::vector<PaletteLine> lines = palette_lines(state_);
  const auto choice = static_cast<std::size_t>(state_.session.palette_choice);
  if (choice >= lines.size() || !lines[choice].enabled) return;
  state_.session.palette_open = false;
  perform(lines[choice].action);
}

}  // namespace headlight
