#include "app/ui/state/commands.h"

#include <array>
#include <iterator>
#include <unordered_map>

namespace headlight {

std::span<const CommandInfo> all_commands() {
  static constexpr auto kCommands = std::to_array<CommandInfo>({
      {Command::kFocusSentence, "sentence/focus", {'L', true, false}, "Edit", true},
      {Command::kNextStep, "step/next", {kKeyRight, false, false}, "Go", false},
      {Command::kPreviousStep, "step/previous", {kKeyLeft, false, false}, "Go", false},
      {Command::kToggleCausal, "attn/causal_mask", {'M', false, false}, "Edit", false},
      {Command::kNextHead, "head/next", {']', false, false}, "Go", false},
      {Command::kPreviousHead, "head/previous", {'[', false, false}, "Go", false},
      {Command::kNextLayer, "layer/next", {kKeyPageDown, false, false}, "Go", false},
      {Command::kPreviousLayer, "layer/previous", {kKeyPageUp, false, false}, "Go", false},
      {Command::kUndo, "edit/undo", {'Z', true, false}, "Edit", true},
      {Command::kRedo, "edit/redo", {'Z', true, true}, "Edit", true},
      {Command::kOpen, "file/open", {'O', true, false}, "File", true},
      {Command::kOpenModel, "file/open_model", {'O', true, true}, "File", true},
      {Command::kRuns, "file/runs", {'R', true, false}, "File", true},
      {Command::kSave, "file/save", {'S', true, false}, "File", true},
      {Command::kSaveAs, "file/save_as", {'S', true, true}, "File", true},
      {Command::kToggleTheme, "view/theme", {'T', true, false}, "View", true},
      {Command::kToggleCompare, "heads/compare", {'C', false, false}, "View", false},
      {Command::kToggleHeads, "view/heads", {'H', false, false}, "View", false},
      {Command::kToggleInspector, "view/inspector", {'I', false, false}, "View", false},
      {Command::kToggleModel, "model/settings", {'E', true, false}, "Edit", true},
      {Command::kToggleScale, "attn/scale", {'D', false, false}, "Edit", false},
      {Command::kLarger, "view/larger", {'=', true, false}, "View", true},
      {Command::kSmaller, "view/smaller", {'-', true, false}, "View", true},
      {Command::kResetSize, "view/reset_size", {'0', true, false}, "View", true},
      {Command::kKeys, "help/keys", {kKeyF1, false, false}, "Help", true},
      {Command::kAbout, "help/about", {}, "Help", true},
      {Command::kLeaveField, "field/leave", {kKeyEscape, false, false}, "", true},
      {Command::kQuit, "file/quit", {'Q', true, false}, "File", true},
      {Command::kPlay, "motion/play", {kKeySpace, false, false}, "Go", false},
      {Command::kRestartStep, "motion/restart", {kKeyHome, false, false}, "Go", false},
      {Command::kSkipStep, "motion/skip", {kKeyEnd, false, false}, "Go", false},
      {Command::kFaster, "motion/faster", {'.', false, false}, "Go", false},
      {Command::kSlower, "motion/slower", {',', false, false}, "Go", false},
      {Command::kTabNumbers, "inspector/numbers", {'1', false, false}, "Go", false},
      {Command::kTabCode, "inspector/code", {'2', false, false}, "Go", false},
      {Command::kTabWords, "inspector/words", {'3', false, false}, "Go", false},
      {Command::kBack, "inspector/back", {kKeyBackspace, false, false}, "Go", false},
      {Command::kCopyText, "copy/text", {'C', true, false}, "Edit", false},
      {Command::kCopyLatex, "copy/latex", {'C', true, true}, "Edit", false},
      {Command::kCopyTable, "copy/table", {kKeyNone, false, false}, "Edit", false},
      {Command::kToggleLines, "heads/lines", {'L', false, false}, "View", false},
      {Command::kToggleRange, "view/range", {'R', false, false}, "View", false},
      {Command::kNextVision, "view/vision", {kKeyNone, false, false}, "View", true},
      {Command::kToggleRail, "view/rail", {'S', false, false}, "View", false},
      {Command::kMaximize, "view/maximize", {'F', false, false}, "View", false},
      {Command::kResetView, "view/reset_view", {'0', false, false}, "View", false},
      {Command::kZoomIn, "view/zoom_in", {'=', false, false}, "View", false},
      {Command::kZoomOut, "view/zoom_out", {'-', false, false}, "View", false},
      {Command::kViewLeft, "view/left", {kKeyLeft, true, false}, "View", false},
      {Command::kViewRight, "view/right", {kKeyRight, true, false}, "View", false},
      {Command::kViewUp, "view/up", {kKeyUp, true, false}, "View", false},
      {Command::kViewDown, "view/down", {kKeyDown, true, false}, "View", false},
      {Command::kResetPanels, "view/reset_panels", {kKeyNone, false, false}, "View", true},
      {Command::kHints, "help/hints", {kKeyNone, false, false}, "Help", true},
      {Command::kToggleLanguage, "view/language", {'G', true, false}, "View", true},
      {Command::kNew, "file/new", {'N', true, false}, "File", true},
      {Command::kPalette, "help/palette", {'K', true, false}, "Help", true},
      {Command::kFocusNext, "focus/next", {kKeyTab, false, false}, "", true},
      {Command::kFocusPrevious, "focus/previous", {kKeyTab, false, true}, "", true},
      {Command::kFocusMenu, "focus/menu", {kKeyF10, false, false}, "", true},
      {Command::kActivate, "focus/press", {kKeyEnter, false, false}, "", false},
      {Command::kCellLeft, "cell/left", {kKeyLeft, false, true}, "", false},
      {Command::kCellRight, "cell/right", {kKeyRight, false, true}, "", false},
      {Command::kCellUp, "cell/up", {kKeyUp, false, true}, "", false},
      {Command::kCellDown, "cell/down", {kKeyDown, false, true}, "", false},
      {Command::kShowBackward, "show/backward", {'B', false, false}, "Go", false},
      {Command::kTrain, "train/open", {'T', false, false}, "Train", false},
      {Command::kTrainPlay, "train/play", {'P', false, false}, "Train", false},
      {Command::kTrainStep, "train/step", {'N', false, false}, "Train", false},
      {Command::kTrainSame, "train/same", {kKeyNone, false, false}, "Train", false},
      {Command::kTrainNew, "train/new", {kKeyNone, false, false}, "Train", false},
      {Command::kTrainFilm, "train/film", {kKeyNone, false, false}, "Train", false},
      {Command::kTrainKeep, "train/keep", {kKeyNone, false, false}, "Train", false},
      {Command::kComputeCpu, "compute/cpu", {kKeyNone, false, false}, "Edit", true},
      {Command::kComputeGpu, "compute/gpu", {kKeyNone, false, false}, "Edit", true},
      {Command::kComputeBoth, "compute/both", {kKeyNone, false, false}, "Edit", true},
      {Command::kNextCompute, "compute/next", {'G', false, false}, "Edit", false},
      {Command::kCompareBackends, "compute/open", {'K', false, false}, "Edit", false},
      {Command::kKernel, "inspector/kernel", {'4', false, false}, "Go", false},
  });
  static_assert(kCommands.size() == static_cast<std::size_t>(Command::kCount));
  return kCommands;
}

const CommandInfo& command_info(Command command) {
  return all_commands()[static_cast<std::size_t>(command)];
}

std::string_view command_label(Language language, Command command) {
  return tr(language, "command." + std::string(command_info(command).id));
}

std::string_view command_help(Language language, Command command) {
  return tr(language, "command." + std::string(command_info(command).id) + ".help");
}

std::string command_hint(Language language, Command command) {
  return std::string(command_label(language, command)) + "  " +
         shortcut_text(command_info(command).key);
}

Shortcut second_answer(Asking asking) {
  switch (asking) {
    case Asking::kOverwrite:
      return {'O', true, false};
    case Asking::kLeave:
    case Asking::kRecover:
      return {'D', true, false};
    case Asking::kFind:
      return {'R', true, false};
    case Asking::kNotKept:
      return {'Q', true, false};
    default:
      return {};
  }
}

std::string shortcut_text(const Shortcut& key) {
  if (key.key == kKeyNone) return "";
  std::string text = key.ctrl ? "Ctrl+" : "";
  if (key.shift) text += "Shift+";
  static const std::unordered_map<int, std::string_view> kNames = {
      {kKeyRight, "→"},       {kKeyLeft, "←"},
      {kKeyUp, "↑"},          {kKeyDown, "↓"},
      {kKeyPageUp, "PageUp"}, {kKeyPageDown, "PageDown"},
      {kKeyEscape, "Esc"},    {kKeyF1, "F1"},
      {kKeySpace, "Space"},   {kKeyHome, "Home"},
      {kKeyEnd, "End"},       {kKeyBackspace, "Backspace"},
      {kKeyEnter, "Enter"},   {kKeyTab, "Tab"},
      {kKeyF10, "F10"},       {'=', "+"}};
  const auto named = kNames.find(key.key);
  return named != kNames.end() ? text + std::string(named->second)
                               : text + static_cast<char>(key.key);
}

bool is_enabled(Command command, const AppState& state) {
  switch (command) {
    case Command::kUndo:
      return state.history.can_undo() && !state.preview;
    case Command::kRedo:
      return state.history.can_redo() && !state.preview;
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
    case Command::kPlay:
    case Command::kRestartStep:
      return state.derived.trace != nullptr && !state.derived.empty;
    case Command::kSkipStep:
      return state.session.playback.shown;
    case Command::kFaster:
      return state.session.playback.speed < *(std::end(kSpeeds) - 1);
    case Command::kSlower:
      return state.session.playback.speed > *std::begin(kSpeeds);
    case Command::kShowBackward:
      return !state.session.train.open;  // which has no steps to show
    case Command::kTrainFilm:
      return state.train.run.snapshots.size() > 1;
    case Command::kTrainKeep:
      return state.train.run.live != nullptr;
    case Command::kComputeGpu:
    case Command::kComputeBoth:
    case Command::kNextCompute:
      return state.derived.gpu.phase != GpuPhase::kAbsent;
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

}  // namespace headlight
