#include "app/shell/controllers/keyboard_controller.h"

#include <algorithm>
#include <unordered_map>

#include "app/ui/frame/palette.h"
#include "app/ui/frame/panels.h"

namespace headlight {
namespace {

constexpr int kPageLines = 8;

// Keys by which a field edits its text; the field takes them itself.
bool edits_text(const Shortcut& key) {
  return key.ctrl && !key.shift &&
         (key.key == 'A' || key.key == 'C' || key.key == 'V' || key.key == 'X');
}

}  // namespace

KeyboardController::KeyboardController(const Shared& shared, KeyboardSession& session)
    : Controller(shared), session_(session) {}

bool KeyboardController::press(const Shortcut& shortcut, bool in_field) {
  if (state_.session.question.asking != Asking::kNothing) return press_in_question(shortcut);
  if (session_.palette_open) return press_in_palette(shortcut);
  if (!session_.menu.empty()) return press_in_menu(shortcut);
  if (state_.session.path_sheet != Sheet::kNone) return press_in_path(shortcut, in_field);
  if (!in_field && press_on_focus(shortcut)) return true;
  const std::optional<Command> command = command_for(shortcut, in_field);
  // The page of the tokens has no matrix to look around in: there these keys move the chip in
  // focus.
  const bool looks_around = command == Command::kViewLeft || command == Command::kViewRight;
  const Step* step = current_step(state_);
  if (looks_around && step && state_.derived.trace->program().makes(*step, Role::kTokenIds))
    return false;
  if (command && press_in_training(*command)) return true;
  if (command && is_enabled(*command, state_)) push(DoCommand{*command});
  return command.has_value();
}

// Enter, Ctrl and a letter, and Esc are the three buttons (a letter alone may be the beginning of a
// sentence), Tab goes from one to the next; nothing gets past
// the question.
bool KeyboardController::press_in_question(const Shortcut& key) {
  if (key.key == kKeyTab) {
    push(DoCommand{key.shift ? Command::kFocusPrevious : Command::kFocusNext});
    return true;
  }
  const Focus& focus = session_.focus;
  if (focus.visible && focus.id.starts_with("question/") && press_on_focus(key)) return true;
  const bool plain = !key.ctrl && !key.shift;
  const Shortcut second = second_answer(state_.session.question.asking);
  if (plain && key.key == kKeyEnter) push(AnswerQuestion{Answer::kFirst});
  if (second.key != kKeyNone && key.ctrl && !key.shift && key.key == second.key)
    push(AnswerQuestion{Answer::kSecond});
  if (plain && key.key == kKeyEscape) push(AnswerQuestion{Answer::kCancel});
  return true;
}

bool KeyboardController::press_in_palette(const Shortcut& key) {
  const int choice = session_.palette_choice;
  const std::optional<Command> command = command_for(key, true);
  const std::unordered_map<int, Action> actions = {
      {kKeyUp, ChooseInPalette{choice - 1}},
      {kKeyDown, ChooseInPalette{choice + 1}},
      {kKeyTab, ChooseInPalette{choice + (key.shift ? -1 : 1)}},
      {kKeyPageUp, ChooseInPalette{choice - kPageLines}},
      {kKeyPageDown, ChooseInPalette{choice + kPageLines}},
      {kKeyEnter, RunInPalette{}},
      {kKeyEscape, ClosePalette{}}};
  if (const auto found = actions.find(key.key); found != actions.end()) {
    push(found->second);
    return true;
  }
  if (edits_text(key) || !command) return false;
  // The document stays as it is behind the palette; any other command takes its place.
  if (command == Command::kUndo || command == Command::kRedo) return true;
  push(ClosePalette{});
  if (command != Command::kPalette && is_enabled(*command, state_)) push(DoCommand{*command});
  return true;
}

// Nothing gets past an open menu: up and down go through it, left and right to its neighbours.
bool KeyboardController::press_in_menu(const Shortcut& key) {
  const auto menus = all_menus();
  const auto open = std::find_if(menus.begin(), menus.end(),
                                 [&](const MenuInfo& m) { return m.name == session_.menu; });
  const auto neighbour = [&](std::ptrdiff_t step) {
    const auto count = static_cast<std::ptrdiff_t>(menus.size());
    const auto next = (open - menus.begin() + step + count) % count;
    push(OpenMenu{std::string(menus[static_cast<std::size_t>(next)].name)});
  };
  const int step = key.key == kKeyDown || (key.key == kKeyTab && !key.shift) ? 1
                   : key.key == kKeyUp || key.key == kKeyTab                 ? -1
                                                                             : 0;
  if (step != 0) push(UseFocus{step, 0, false});
  if (key.key == kKeyRight) neighbour(1);
  if (key.key == kKeyLeft) neighbour(-1);
  const bool chooses = key.key == kKeyEnter || key.key == kKeySpace;
  if (chooses && session_.focus.visible) push(UseFocus{0, 0, true});
  if (key.key == kKeyEscape || key.key == kKeyF10) push(DoCommand{Command::kLeaveField});
  return true;
}

// Nor the sheet that asks for a path; its field takes what it needs.
bool KeyboardController::press_in_path(const Shortcut& key, bool in_field) {
  if (key.key == kKeyTab) {
    push(DoCommand{key.shift ? Command::kFocusPrevious : Command::kFocusNext});
  } else if (key.key == kKeyEscape) {
    push(DoCommand{Command::kLeaveField});
  } else if (in_field) {
    const std::optional<Command> command = command_for(key, true);
    return command && !edits_text(key);
  } else if (!press_on_focus(key) && key.key == kKeyEnter) {
    push(TakePath{});
  }
  return true;
}

void KeyboardController::on(const OpenMenu& a) {
  on(FocusOn{"menu/" + a.menu, FocusKind::kMenu, true, true, ""});
  requests_.open_menu = a.menu;
}

// Keys that mean something else while a ring is drawn: Space presses instead of playing, arrows
// move within what is focused.
bool KeyboardController::press_on_focus(const Shortcut& key) {
  const Focus& focus = session_.focus;
  if (!focus.visible || key.ctrl) return false;
  if (key.key == kKeySpace || key.key == kKeyEnter) {
    push(UseFocus{0, 0, true});
    return true;
  }
  if (key.shift) return false;
  const int across = key.key == kKeyRight ? 1 : key.key == kKeyLeft ? -1 : 0;
  const int along = key.key == kKeyDown ? 1 : key.key == kKeyUp ? -1 : 0;
  if (across == 0 && along == 0) return false;
  if (focus.kind == FocusKind::kPane) {
    push(MoveCell{along, across});
  } else if (focus.kind == FocusKind::kGrid || focus.kind == FocusKind::kGridCell) {
    push(UseFocus{0, 0, false, across, along});
  } else if (focus.kind == FocusKind::kSlider) {
    push(UseFocus{0, across != 0 ? across : -along, false});
  } else if (focus.kind == FocusKind::kMenu && along > 0) {
    push(UseFocus{0, 0, true});
  } else if (focus.kind == FocusKind::kMenu || along != 0) {
    push(UseFocus{across + along, 0, false});
  } else {
    return false;  // the arrow goes to the next step, as without a ring
  }
  return true;
}

// While the panel is open the keys of the steps are those of the run.
bool KeyboardController::press_in_training(Command command) {
  if (state_.session.mode != Mode::kTrain) return false;
  switch (command) {
    case Command::kPlay:
      push(DoCommand{Command::kTrainPlay});
      return true;
    case Command::kNextStep:
    case Command::kPreviousStep:
      push(MoveMark{command == Command::kNextStep ? 1 : -1});
      return true;
    case Command::kRestartStep:
      push(MarkStep{0});
      return true;
    case Command::kSkipStep:
      push(MarkStep{});
      return true;
    default:
      return false;
  }
}

void KeyboardController::on(const FocusOn& a) {
  session_.focus = {a.id, a.kind, a.visible, a.opener};
  requests_.focus = {};
  requests_.focus.reveal = a.reveal;
}

void KeyboardController::on(const UseFocus& a) {
  FocusRequest& focus = requests_.focus;
  focus.move += a.move;
  focus.nudge += a.nudge;
  focus.activate |= a.activate;
  focus.right += a.right;
  focus.down += a.down;
}

void KeyboardController::on(Is<kFocusSentence>) {
  requests_.focus_sentence = true;
  perform(Maximize{PanelId::kNone});  // the sentence has no place beside a whole panel
}

void KeyboardController::on(Is<kPalette>) {
  session_.palette_open = true;
  session_.palette_typed.clear();
  session_.palette_choice = 0;
}

void KeyboardController::on(const TypeQuery& a) {
  session_.palette_typed = a.text;
  session_.palette_choice = 0;
}

void KeyboardController::on(const ChooseInPalette& a) {
  const int count = static_cast<int>(palette_lines(state_).size());
  session_.palette_choice = std::clamp(a.line, 0, std::max(count - 1, 0));
}

// What it stands in opens first.
void KeyboardController::on(const ShowSetting& a) {
  if (a.frames == 3) {
    perform(Maximize{PanelId::kNone});
    const Mode mode = a.control.starts_with("train/") ? Mode::kTrain : Mode::kSteps;
    if (mode != state_.session.mode) perform(ShowMode{mode});
    if (a.control.starts_with("model/")) requests_.open = Sheet::kModel;
  }
  on(FocusOn{a.control, FocusKind::kSlider, true, true, ""});
  if (a.frames > 0) push(ShowSetting{a.control, a.frames - 1});
}

void KeyboardController::on(const RunInPalette&) {
  const std::vector<PaletteLine> lines = palette_lines(state_);
  const auto choice = static_cast<std::size_t>(session_.palette_choice);
  if (choice >= lines.size() || !lines[choice].enabled) return;
  session_.palette_open = false;
  perform(lines[choice].action);
}

}  // namespace headlight
