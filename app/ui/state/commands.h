// The one table of commands: menus, shortcuts, tooltips and the key table in docs/window.md are
// made from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/state/actions.h"
#include "core/base/texts.h"

namespace headlight {

/// Keys by their own numbers, so that the table knows neither GLFW nor ImGui. Letters and
/// punctuation are their capital ASCII character.
enum Key : int {
  kKeyNone = 0,
  kKeyRight = 256,
  kKeyLeft,
  kKeyPageUp,
  kKeyPageDown,
  kKeyEscape,
  kKeyF1,
  kKeySpace,
  kKeyHome,
  kKeyEnd,
  kKeyBackspace,
  kKeyUp,
  kKeyDown,
  kKeyEnter,
  kKeyTab,
  kKeyF10,
};

struct Shortcut {
  int key = kKeyNone;
  bool ctrl = false, shift = false;
};

struct CommandInfo {
  Command command{};
  std::string_view id;  // stable: "step/next"
  Shortcut key;
  std::string_view menu;   // "" when in no menu
  bool in_fields = false;  // also works while a text field has the keyboard
  int place = 80;          // in the menu, ascending; a line parts those with other tens
};

/// A menu and what stands in it, in order.
struct MenuInfo {
  std::string_view name;  // begins its ids, "menu/File"
  std::string_view text;  // the id of its title
  std::vector<const CommandInfo*> commands;
};
std::span<const MenuInfo> all_menus();

std::span<const CommandInfo> all_commands();
const CommandInfo& command_info(Command);
/// "Next step", "Shows the next step of the computation", in the person's language.
std::string_view command_label(Language, Command);
std::string_view command_help(Language, Command);
/// For a tooltip: the label and the key, "Light or dark  Ctrl+T".
std::string command_hint(Language, Command);
/// The key of a question's second button; none where it has only two.
Shortcut second_answer(Asking);
/// "Ctrl+Shift+Z"; "" when the command has no key.
std::string shortcut_text(const Shortcut&);
/// Of what can be switched: is it on? A tick says so.
std::optional<bool> is_on(Command, const AppState&);
/// Can it be done now?
bool is_enabled(Command, const AppState&);
/// The command of a key press, nothing when there is none or a field takes it.
std::optional<Command> command_for(const Shortcut&, bool in_field);

}  // namespace headlight
