#include "app/ui/commands.h"

#include <array>

namespace headlight {

std::span<const CommandInfo> all_commands() {
  static constexpr std::array<CommandInfo, 57> kCommands = {{
      {Command::kFocusSentence,
       "sentence/focus",
       "Edit the sentence",
       "Puts the cursor into the sentence",
       {'L', true, false},
       "Edit",
       true},
      {Command::kNextStep,
       "step/next",
       "Next step",
       "Shows the next step of the computation",
       {kKeyRight, false, false},
       "Go",
       false},
      {Command::kPreviousStep,
       "step/previous",
       "Previous step",
       "Shows the step before",
       {kKeyLeft, false, false},
       "Go",
       false},
      {Command::kToggleCausal,
       "attn/causal_mask",
       "Causal mask on/off",
       "A query may not look at later tokens",
       {'M', false, false},
       "Edit",
       false},
      {Command::kNextHead,
       "head/next",
       "Next head",
       "Shows the next head of this layer",
       {']', false, false},
       "Go",
       false},
      {Command::kPreviousHead,
       "head/previous",
       "Previous head",
       "Shows the head before",
       {'[', false, false},
       "Go",
       false},
      {Command::kNextLayer,
       "layer/next",
       "Next layer",
       "Shows the same step one layer on",
       {kKeyPageDown, false, false},
       "Go",
       false},
      {Command::kPreviousLayer,
       "layer/previous",
       "Previous layer",
       "Shows the same step one layer back",
       {kKeyPageUp, false, false},
       "Go",
       false},
      {Command::kUndo,
       "edit/undo",
       "Undo",
       "Takes the last change back",
       {'Z', true, false},
       "Edit",
       true},
      {Command::kRedo,
       "edit/redo",
       "Redo",
       "Makes the change again",
       {'Z', true, true},
       "Edit",
       true},
      {Command::kOpen,
       "file/open",
       "Open session…",
       "Opens a .headlight.json file",
       {'O', true, false},
       "File",
       true},
      {Command::kSave, "file/save", "Save", "Saves the session", {'S', true, false}, "File", true},
      {Command::kSaveAs,
       "file/save_as",
       "Save as…",
       "Saves the session in another file",
       {'S', true, true},
       "File",
       true},
      {Command::kToggleTheme,
       "view/theme",
       "Light or dark",
       "Switches between light and dark",
       {'T', true, false},
       "View",
       true},
      {Command::kToggleCompare,
       "heads/compare",
       "Compare two heads",
       "Shows two heads side by side with their difference",
       {'C', false, false},
       "View",
       false},
      {Command::kToggleHeads,
       "view/heads",
       "Heads of the layer",
       "Shows or folds the row of heads",
       {'H', false, false},
       "View",
       false},
      {Command::kToggleInspector,
       "view/inspector",
       "Numbers",
       "Shows or folds the inspector",
       {'I', false, false},
       "View",
       false},
      {Command::kToggleModel,
       "model/settings",
       "Model settings",
       "Layers, heads, widths and kinds",
       {'E', true, false},
       "Edit",
       true},
      {Command::kToggleScale,
       "attn/scale",
       "÷ √d_k on/off",
       "Divides the scores by the root of the head width",
       {'D', false, false},
       "Edit",
       false},
      {Command::kLarger,
       "view/larger",
       "Larger",
       "Makes everything larger",
       {'=', true, false},
       "View",
       true},
      {Command::kSmaller,
       "view/smaller",
       "Smaller",
       "Makes everything smaller",
       {'-', true, false},
       "View",
       true},
      {Command::kResetSize,
       "view/reset_size",
       "Normal size",
       "Goes back to 100 %",
       {'0', true, false},
       "View",
       true},
      {Command::kKeys, "help/keys", "Keys", "Lists all keys", {kKeyF1, false, false}, "Help", true},
      {Command::kAbout, "help/about", "About Headlight", "Version and licence", {}, "Help", true},
      {Command::kLeaveField,
       "field/leave",
       "Leave a field",
       "Gives the keyboard back to the window, closes what is open",
       {kKeyEscape, false, false},
       "",
       true},
      {Command::kQuit, "file/quit", "Quit", "Closes Headlight", {'Q', true, false}, "File", true},
      {Command::kPlay,
       "motion/play",
       "Play or pause",
       "Plays how this step's result is made",
       {kKeySpace, false, false},
       "Go",
       false},
      {Command::kRestartStep,
       "motion/restart",
       "Restart the step",
       "Plays this step from its beginning",
       {kKeyHome, false, false},
       "Go",
       false},
      {Command::kSkipStep,
       "motion/skip",
       "Skip to the end",
       "Shows the finished step",
       {kKeyEnd, false, false},
       "Go",
       false},
      {Command::kFaster,
       "motion/faster",
       "Faster",
       "Plays at the next higher speed",
       {'.', false, false},
       "Go",
       false},
      {Command::kSlower,
       "motion/slower",
       "Slower",
       "Plays at the next lower speed",
       {',', false, false},
       "Go",
       false},
      {Command::kTabNumbers,
       "inspector/numbers",
       "Inspector: numbers",
       "Shows how the chosen number came about",
       {'1', false, false},
       "Go",
       false},
      {Command::kTabCode,
       "inspector/code",
       "Inspector: code",
       "Shows the step as NumPy and PyTorch",
       {'2', false, false},
       "Go",
       false},
      {Command::kTabWords,
       "inspector/words",
       "Inspector: words",
       "Says in words what the step does",
       {'3', false, false},
       "Go",
       false},
      {Command::kBack,
       "inspector/back",
       "Back",
       "Goes back to the number looked at before",
       {kKeyBackspace, false, false},
       "Go",
       false},
      {Command::kCopyText,
       "copy/text",
       "Copy as text",
       "Copies the chosen number's arithmetic as text",
       {'C', true, false},
       "Edit",
       false},
      {Command::kCopyLatex,
       "copy/latex",
       "Copy as LaTeX",
       "Copies the chosen number's arithmetic as LaTeX",
       {'C', true, true},
       "Edit",
       false},
      {Command::kCopyTable,
       "copy/table",
       "Copy as table",
       "Copies the chosen number's terms as a table",
       {kKeyNone, false, false},
       "Edit",
       false},
      {Command::kToggleLines,
       "heads/lines",
       "Lines or pictures",
       "Shows the heads as lines between tokens",
       {'L', false, false},
       "View",
       false},
      {Command::kToggleRange,
       "view/range",
       "Range of colours",
       "One range for all heads, or each picture its own",
       {'R', false, false},
       "View",
       false},
      {Command::kNextVision,
       "view/vision",
       "Colour vision",
       "Shows the window as other eyes see it",
       {kKeyNone, false, false},
       "View",
       true},
      {Command::kToggleRail,
       "view/rail",
       "List of steps",
       "Shows or folds the list of steps",
       {'S', false, false},
       "View",
       false},
      {Command::kMaximize,
       "view/maximize",
       "Whole window",
       "Gives the stage the whole window, and back",
       {'F', false, false},
       "View",
       false},
      {Command::kResetView,
       "view/reset_view",
       "Show all",
       "Shows the whole matrix again after zooming",
       {'0', false, false},
       "View",
       false},
      {Command::kResetPanels,
       "view/reset_panels",
       "Reset the panels",
       "Gives every panel its usual place and size",
       {kKeyNone, false, false},
       "View",
       true},
      {Command::kHints,
       "help/hints",
       "First steps",
       "Shows the hints of the first start again",
       {kKeyNone, false, false},
       "Help",
       true},
      {Command::kToggleLanguage,
       "view/language",
       "English or Chinese",
       "Switches the language of the window",
       {'G', true, false},
       "View",
       true},
      {Command::kNew,
       "file/new",
       "New session",
       "Starts again from the first sentence",
       {'N', true, false},
       "File",
       true},
      {Command::kPalette,
       "help/palette",
       "Find a command…",
       "Finds any command by its name",
       {'K', true, false},
       "Help",
       true},
      {Command::kFocusNext,
       "focus/next",
       "Next control",
       "Gives the keyboard to the next control",
       {kKeyTab, false, false},
       "",
       true},
      {Command::kFocusPrevious,
       "focus/previous",
       "Previous control",
       "Gives the keyboard to the control before",
       {kKeyTab, false, true},
       "",
       true},
      {Command::kFocusMenu,
       "focus/menu",
       "Menus",
       "Gives the keyboard to the menus",
       {kKeyF10, false, false},
       "",
       true},
      {Command::kActivate,
       "focus/press",
       "Press the control",
       "Presses the control that has the keyboard; so does Space",
       {kKeyEnter, false, false},
       "",
       false},
      {Command::kCellLeft,
       "cell/left",
       "Cell: one to the left",
       "Chooses the cell one to the left",
       {kKeyLeft, false, true},
       "",
       false},
      {Command::kCellRight,
       "cell/right",
       "Cell: one to the right",
       "Chooses the cell one to the right",
       {kKeyRight, false, true},
       "",
       false},
      {Command::kCellUp,
       "cell/up",
       "Cell: one up",
       "Chooses the cell one up",
       {kKeyUp, false, true},
       "",
       false},
      {Command::kCellDown,
       "cell/down",
       "Cell: one down",
       "Chooses the cell one down",
       {kKeyDown, false, true},
       "",
       false},
  }};
  return kCommands;
}

const CommandInfo& command_info(Command command) {
  return all_commands()[static_cast<std::size_t>(command)];
}

std::string shortcut_text(const Shortcut& key) {
  if (key.key == kKeyNone) return "";
  std::string text = key.ctrl ? "Ctrl+" : "";
  if (key.shift) text += "Shift+";
  switch (key.key) {
    case kKeyRight:
      return text + "→";
    case kKeyLeft:
      return text + "←";
    case kKeyPageUp:
      return text + "PageUp";
    case kKeyPageDown:
      return text + "PageDown";
    case kKeyEscape:
      return text + "Esc";
    case kKeyF1:
      return text + "F1";
    case kKeySpace:
      return text + "Space";
    case kKeyHome:
      return text + "Home";
    case kKeyEnd:
      return text + "End";
    case kKeyBackspace:
      return text + "Backspace";
    case kKeyUp:
      return text + "↑";
    case kKeyDown:
      return text + "↓";
    case kKeyEnter:
      return text + "Enter";
    case kKeyTab:
      return text + "Tab";
    case kKeyF10:
      return text + "F10";
    case '=':
      return text + "+";
    default:
      return text + static_cast<char>(key.key);
  }
}

bool is_enabled(Command command, const AppState& state) {
  switch (command) {
    case Command::kUndo:
      return state.history.can_undo();
    case Command::kRedo:
      return state.history.can_redo();
    case Command::kNextHead:
    case Command::kPreviousHead:
    case Command::kToggleCompare:
      return shown_config(state).head_count() > 1;
    case Command::kNextLayer:
    case Command::kPreviousLayer:
      return shown_config(state).layers > 1;
    case Command::kActivate:
      return state.session.focus.visible;
    case Command::kNextStep:
    case Command::kPreviousStep:
    case Command::kCellLeft:
    case Command::kCellRight:
    case Command::kCellUp:
    case Command::kCellDown:
      return state.derived.trace != nullptr;
    default:
      return true;
  }
}

std::optional<Command> command_for(const Shortcut& key, bool in_field) {
  for (const CommandInfo& info : all_commands()) {
    if (info.key.key == kKeyNone || info.key.key != key.key) continue;
    if (info.key.ctrl != key.ctrl || info.key.shift != key.shift) continue;
    if (in_field && !info.in_fields) return std::nullopt;
    return info.command;
  }
  return std::nullopt;
}

std::string key_table_markdown() {
  std::string text = "| key | what it does |\n|---|---|\n";
  for (const CommandInfo& info : all_commands()) {
    if (info.key.key == kKeyNone) continue;
    text += "| " + shortcut_text(info.key) + " | " + std::string(info.label) + ": " +
            std::string(info.help) + " |\n";
  }
  return text;
}

}  // namespace headlight
