#include "app/ui/state/commands.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>

namespace headlight {

std::span<const CommandInfo> all_commands() {
  static constexpr auto kCommands = std::to_array<CommandInfo>({
      {Command::kFocusSentence, "sentence/focus", {'L', true, false}, "Edit", true, 30},
      {Command::kNextStep, "step/next", {kKeyRight, false, false}, "Go", false, 10},
      {Command::kPreviousStep, "step/previous", {kKeyLeft, false, false}, "Go", false, 11},
      {Command::kToggleCausal, "attn/causal_mask", {'M', false, false}, "Edit", false, 40},
      {Command::kNextHead, "head/next", {']', false, false}, "Go", false, 22},
      {Command::kPreviousHead, "head/previous", {'[', false, false}, "Go", false, 23},
      {Command::kNextLayer, "layer/next", {kKeyPageDown, false, false}, "Go", false, 20},
      {Command::kPreviousLayer, "layer/previous", {kKeyPageUp, false, false}, "Go", false, 21},
      {Command::kUndo, "edit/undo", {'Z', true, false}, "Edit", true, 10},
      {Command::kRedo, "edit/redo", {'Z', true, true}, "Edit", true, 11},
      {Command::kOpen, "file/open", {'O', true, false}, "File", true, 11},
      {Command::kOpenModel, "file/open_model", {'O', true, true}, "File", true, 12},
      {Command::kRuns, "file/runs", {'R', true, false}, "File", true, 13},
      {Command::kSave, "file/save", {'S', true, false}, "File", true, 20},
      {Command::kSaveAs, "file/save_as", {'S', true, true}, "File", true, 21},
      {Command::kToggleTheme, "view/theme", {'T', true, false}, "View", true, 10},
      {Command::kToggleCompare, "heads/compare", {'C', false, false}, "View", false, 40},
      {Command::kToggleMeasured, "heads/measured", {kKeyNone, false, false}, "View", false, 43},
      {Command::kToggleHeads, "view/heads", {'H', false, false}, "View", false, 31},
      {Command::kToggleInspector, "view/inspector", {'I', false, false}, "View", false, 32},
      {Command::kToggleModel, "model/settings", {'E', true, false}, "Edit", true, 31},
      {Command::kToggleScale, "attn/scale", {'D', false, false}, "Edit", false, 41},
      {Command::kLarger, "view/larger", {'=', true, false}, "View", true, 20},
      {Command::kSmaller, "view/smaller", {'-', true, false}, "View", true, 21},
      {Command::kResetSize, "view/reset_size", {'0', true, false}, "View", true, 22},
      {Command::kKeys, "help/keys", {kKeyF1, false, false}, "Help", true, 12},
      {Command::kAbout, "help/about", {}, "Help", true, 20},
      {Command::kLeaveField, "field/leave", {kKeyEscape, false, false}, "", true},
      {Command::kQuit, "file/quit", {'Q', true, false}, "File", true, 90},
      {Command::kPlay, "motion/play", {kKeySpace, false, false}, "Go", false, 30},
      {Command::kRestartStep, "motion/restart", {kKeyHome, false, false}, "Go", false, 31},
      {Command::kSkipStep, "motion/skip", {kKeyEnd, false, false}, "Go", false, 32},
      {Command::kFaster, "motion/faster", {'.', false, false}, "Go", false, 33},
      {Command::kSlower, "motion/slower", {',', false, false}, "Go", false, 34},
      {Command::kTabNumbers, "inspector/numbers", {'1', false, false}, "Go", false, 40},
      {Command::kTabCode, "inspector/code", {'2', false, false}, "Go", false, 41},
      {Command::kTabWords, "inspector/words", {'3', false, false}, "Go", false, 42},
      {Command::kBack, "inspector/back", {kKeyBackspace, false, false}, "Go", false, 44},
      {Command::kCopyText, "copy/text", {'C', true, false}, "Edit", false, 20},
      {Command::kCopyLatex, "copy/latex", {'C', true, true}, "Edit", false, 21},
      {Command::kCopyTable, "copy/table", {kKeyNone, false, false}, "Edit", false, 22},
      {Command::kToggleLines, "heads/lines", {'L', false, false}, "View", false, 41},
      {Command::kToggleRange, "view/range", {'R', false, false}, "View", false, 42},
      {Command::kNextVision, "view/vision", {kKeyNone, false, false}, "View", true, 12},
      {Command::kToggleRail, "view/rail", {'S', false, false}, "View", false, 30},
      {Command::kMaximize, "view/maximize", {'F', false, false}, "View", false, 33},
      {Command::kResetView, "view/reset_view", {'0', false, false}, "View", false, 52},
      {Command::kZoomIn, "view/zoom_in", {'=', false, false}, "View", false, 50},
      {Command::kZoomOut, "view/zoom_out", {'-', false, false}, "View", false, 51},
      {Command::kViewLeft, "view/left", {kKeyLeft, true, false}, "View", false, 53},
      {Command::kViewRight, "view/right", {kKeyRight, true, false}, "View", false, 54},
      {Command::kViewUp, "view/up", {kKeyUp, true, false}, "View", false, 55},
      {Command::kViewDown, "view/down", {kKeyDown, true, false}, "View", false, 56},
      {Command::kResetPanels, "view/reset_panels", {kKeyNone, false, false}, "View", true, 34},
      {Command::kHints, "help/hints", {kKeyNone, false, false}, "Help", true, 10},
      {Command::kToggleLanguage, "view/language", {'G', true, false}, "View", true, 11},
      {Command::kNew, "file/new", {'N', true, false}, "File", true, 10},
      {Command::kPalette, "help/palette", {'K', true, false}, "Help", true, 11},
      {Command::kFocusNext, "focus/next", {kKeyTab, false, false}, "", true},
      {Command::kFocusPrevious, "focus/previous", {kKeyTab, false, true}, "", true},
      {Command::kFocusMenu, "focus/menu", {kKeyF10, false, false}, "", true},
      {Command::kActivate, "focus/press", {kKeyEnter, false, false}, "", false},
      {Command::kCellLeft, "cell/left", {kKeyLeft, false, true}, "", false},
      {Command::kCellRight, "cell/right", {kKeyRight, false, true}, "", false},
      {Command::kCellUp, "cell/up", {kKeyUp, false, true}, "", false},
      {Command::kCellDown, "cell/down", {kKeyDown, false, true}, "", false},
      {Command::kShowBackward, "show/backward", {'B', false, false}, "Go", false, 12},
      {Command::kTrain, "train/open", {'T', false, false}, "Run", false, 10},
      {Command::kTrainPlay, "train/play", {'P', false, false}, "Run", false, 20},
      {Command::kTrainStep, "train/step", {'N', false, false}, "Run", false, 21},
      {Command::kTrainSame, "train/same", {kKeyNone, false, false}, "Run", false, 30},
      {Command::kTrainNew, "train/new", {kKeyNone, false, false}, "Run", false, 31},
      {Command::kTrainFilm, "train/film", {kKeyNone, false, false}, "Run", false, 22},
      {Command::kTrainKeep, "train/keep", {kKeyNone, false, false}, "Run", false, 40},
      {Command::kComputeCpu, "compute/cpu", {kKeyNone, false, false}, "Edit", true, 50},
      {Command::kComputeGpu, "compute/gpu", {kKeyNone, false, false}, "Edit", true, 51},
      {Command::kComputeBoth, "compute/both", {kKeyNone, false, false}, "Edit", true, 52},
      {Command::kNextCompute, "compute/next", {'G', false, false}, "Edit", false, 53},
      {Command::kCompareBackends, "compute/open", {'K', false, false}, "Edit", false, 54},
      {Command::kKernel, "inspector/kernel", {'4', false, false}, "Go", false, 43},
      {Command::kSavePicture, "file/save_picture", {kKeyNone, false, false}, "File", true, 30},
      {Command::kSaveNumbers, "file/save_numbers", {kKeyNone, false, false}, "File", true, 31},
      {Command::kCost, "model/cost", {kKeyNone, false, false}, "Edit", true, 32},
      {Command::kPresets, "model/presets", {kKeyNone, false, false}, "Edit", true, 33},
      {Command::kSwitchHead, "heads/switch", {'X', false, false}, "Edit", false, 42},
      {Command::kMaskFile, "mask/load", {kKeyNone, false, false}, "Edit", true, 43},
      {Command::kForced, "forced/open", {kKeyNone, false, false}, "Edit", true, 34},
      {Command::kLabs, "labs/open", {'W', false, false}, "Run", false, 11},
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
    case Command::kToggleLines:
    case Command::kToggleMeasured:
      return shown_config(state).keeps_pattern();
    case Command::kHints:
      return !hints_wait(state);
    case Command::kNextHead:
    case Command::kPreviousHead:
    case Command::kToggleCompare:
      return shown_config(state).head_count() > 1;
    case Command::kNextLayer:
    case Command::kPreviousLayer:
      return shown_config(state).layers > 1;
    case Command::kSwitchHead:
      return state.derived.trace && shown_config(state).attends() && shown_config(state).layers > 0;
    case Command::kMaskFile:
      return shown_config(state).attends();
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
      return state.session.mode == Mode::kSteps;  // the others have none to show
    case Command::kTrainFilm:
      return state.train.run.snapshots.size() > 1;
    case Command::kTrainKeep:
      return state.train.run.live != nullptr;
    case Command::kSavePicture:
    case Command::kSaveNumbers:
      return state.session.mode == Mode::kLabs ? state.labs.result != nullptr
                                               : state.derived.trace && !state.derived.empty &&
                                                     state.session.mode == Mode::kSteps;
    case Command::kComputeGpu:
    case Command::kComputeBoth:
    case Command::kNextCompute:
      return state.derived.gpu.phase != GpuPhase::kAbsent;
    default:
      return true;
  }
}

std::span<const MenuInfo> all_menus() {
  static const auto kMenus = [] {
    std::array<MenuInfo, 6> menus = {{{"File", "menu.file", {}},
                                      {"Edit", "menu.edit", {}},
                                      {"Go", "menu.go", {}},
                                      {"View", "menu.view", {}},
                                      {"Run", "menu.run", {}},
                                      {"Help", "menu.help", {}}}};
    for (MenuInfo& menu : menus) {
      for (const CommandInfo& info : all_commands()) {
        if (info.menu == menu.name) menu.commands.push_back(&info);
      }
      std::stable_sort(menu.commands.begin(), menu.commands.end(),
                       [](const auto* a, const auto* b) { return a->place < b->place; });
    }
    return menus;
  }();
  return kMenus;
}

std::optional<bool> is_on(Command command, const AppState& state) {
  const Session& s = state.session;
  const auto tab = [&](InspectorTab wanted) { return !s.kernel && s.inspector_tab == wanted; };
  switch (command) {
    case Command::kToggleCausal:
      return shown_config(state).mask.is_causal();
    case Command::kToggleScale:
      return shown_config(state).scale;
    case Command::kToggleCompare:
      return s.compare;
    case Command::kToggleMeasured:
      return s.measured;
    case Command::kToggleLines:
      return s.heads_view == HeadsView::kLines;
    case Command::kToggleRange:
      return s.range == RangeMode::kShared;
    case Command::kToggleRail:
      return s.rail_shown;
    case Command::kToggleHeads:
      return s.heads_shown;
    case Command::kToggleInspector:
      return s.inspector_shown;
    case Command::kMaximize:
      return s.maximized != PanelId::kNone;
    case Command::kTabNumbers:
      return tab(InspectorTab::kNumbers);
    case Command::kTabCode:
      return tab(InspectorTab::kCode);
    case Command::kTabWords:
      return tab(InspectorTab::kWords);
    case Command::kComputeCpu:
      return s.compute == ComputeMode::kCpu;
    case Command::kComputeGpu:
      return s.compute == ComputeMode::kGpu;
    case Command::kComputeBoth:
      return s.compute == ComputeMode::kBoth;
    case Command::kTrain:
      return s.mode == Mode::kTrain;
    case Command::kLabs:
      return s.mode == Mode::kLabs;
    case Command::kTrainPlay:
      return state.train.run.status.phase == TrainPhase::kRunning;
    case Command::kTrainFilm:
      return s.train.film;
    default:
      return std::nullopt;
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
