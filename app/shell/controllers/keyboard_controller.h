// The keyboard: which control has it, what a key press asks for, the command palette.
#pragma once

#include "app/shell/controllers/controller.h"
#include "app/ui/state/commands.h"

namespace headlight {

class KeyboardController : public Controller {
 public:
  KeyboardController(const Shared&, KeyboardSession&);

  /// A key press that no field takes for itself; true when it was a command.
  bool press(const Shortcut&, bool in_field);

  void on(const FocusOn&);
  void on(const UseFocus&);
  void on(const TypeQuery&);
  void on(const ChooseInPalette&);
  void on(const RunInPalette&);
  void on(const ShowSetting&);
  void on(const ClosePalette&) { session_.palette_open = false; }
  void on(const MenuShown& a) { session_.menu = a.menu; }
  void on(const OpenMenu&);
  void on(Is<kFocusNext>) { ++requests_.focus.move; }
  void on(Is<kFocusPrevious>) { --requests_.focus.move; }
  void on(Is<kFocusMenu>) { on(FocusOn{"menu/File", FocusKind::kMenu, true, true, ""}); }
  void on(Is<kActivate>) { requests_.focus.activate = true; }
  void on(Is<kFocusSentence>);
  void on(Is<kLeaveField>) { requests_.leave_field = true; }
  void on(Is<kPalette>);

 private:
  bool press_in_question(const Shortcut&);
  bool press_in_palette(const Shortcut&);
  bool press_in_menu(const Shortcut&);
  bool press_in_path(const Shortcut&, bool in_field);
  bool press_on_focus(const Shortcut&);
  bool press_in_training(Command);

  KeyboardSession& session_;
};

}  // namespace headlight
