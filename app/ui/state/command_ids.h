// The commands: what stands in menus, has a key, or is found by Ctrl+K. Their table is
// app/ui/state/commands.cpp.
#pragma once

namespace headlight {

enum class Command {
  kFocusSentence,
  kNextStep,
  kPreviousStep,
  kToggleCausal,
  kNextHead,
  kPreviousHead,
  kNextLayer,
  kPreviousLayer,
  kUndo,
  kRedo,
  kOpen,
  kOpenModel,
  kRuns,
  kSave,
  kSaveAs,
  kToggleTheme,
  kToggleCompare,
  kToggleMeasured,
  kToggleHeads,
  kToggleInspector,
  kToggleModel,
  kToggleScale,
  kLarger,
  kSmaller,
  kResetSize,
  kKeys,
  kAbout,
  kLeaveField,
  kQuit,
  // motion
  kPlay,
  kRestartStep,
  kSkipStep,
  kFaster,
  kSlower,
  // inspector
  kTabNumbers,
  kTabCode,
  kTabWords,
  kBack,
  kCopyText,
  kCopyLatex,
  kCopyTable,
  // heads
  kToggleLines,
  // look
  kToggleRange,
  kNextVision,
  kToggleRail,
  kMaximize,
  kResetView,
  kZoomIn,
  kZoomOut,
  kViewLeft,
  kViewRight,
  kViewUp,
  kViewDown,
  kResetPanels,
  kHints,
  kToggleLanguage,
  // habits
  kNew,
  kPalette,
  // keyboard
  kFocusNext,
  kFocusPrevious,
  kFocusMenu,
  kActivate,
  kCellLeft,
  kCellRight,
  kCellUp,
  kCellDown,
  kShowBackward,
  // training
  kTrain,
  kTrainPlay,
  kTrainStep,
  kTrainSame,
  kTrainNew,
  kTrainFilm,
  kTrainKeep,
  // processor and graphics card
  kComputeCpu,
  kComputeGpu,
  kComputeBoth,
  kNextCompute,
  kCompareBackends,
  kKernel,
  // what is looked at, as files
  kSavePicture,
  kSaveNumbers,
  // what a model takes
  kCost,
  kPresets,
  // masks of one's own
  kSwitchHead,
  kMaskFile,
  kForced,  // and free running
  kLabs,
  kCount  // none: how many there are
};
/// A command as a type of its own, so that each is handled by a function of its own.
template <Command kCommand>
struct Is {};

}  // namespace headlight
