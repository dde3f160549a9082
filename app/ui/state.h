// AppState: the one value that the window shows. Panels read it; only the shell changes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/document.h"
#include "core/explain.h"
#include "core/runner.h"

namespace headlight {

/// A cell by the name of its tensor, so that it outlives the trace it was picked in. The index is
/// the tensor's full one, batch included.
struct CellPick {
  std::string tensor;
  std::vector<std::int64_t> index;
  bool operator==(const CellPick&) const = default;
};

/// What is looked at: not part of the document, not undone.
struct Session {
  std::string step;  // name of the tensor whose step is shown
  int layer = 0, head = 0;
  int other_head = -1;   // the head to compare with; -1: none
  bool compare = false;  // the stage shows both heads and their difference
  std::optional<CellPick> picked, hovered;
  bool dark = false;
  float scale = 1.0f;
  bool model_open = false, keys_open = false, about_open = false;
  std::optional<bool> heads_open, inspector_open;    // unset: as the window's size suggests
  bool heads_shown = true, inspector_shown = true;   // what the last frame's size suggested
  bool focus_sentence = false, leave_field = false;  // asked for, cleared once done
  int text_revision = 0;  // grows when the sentence changes other than by typing
  bool ask_path_to_open = false, ask_path_to_save = false;
  std::string path_typed;
  bool quit = false;
};

/// What follows from the document.
struct Derived {
  std::shared_ptr<const Trace> trace;  // the last one that could be made; null at the very start
  std::string problem;                 // why the document as it stands has no trace
  std::size_t tokens_in_sentence = 0;
  bool empty = false;  // the sentence has no token
  bool cut = false;
  double run_ms = 0;
  bool computing = false;
  std::vector<float> difference;  // the two chosen heads, first minus second
  std::uint64_t difference_key = 0;
};

enum class NoticeKind { kInfo, kWarning, kError };
struct Notice {
  NoticeKind kind{};
  std::string text;
};

struct AppState {
  History history;
  Session session;
  Derived derived;
  std::vector<Notice> notices;
  std::string session_path;  // where Ctrl+S saves; empty: not yet known
  const Document& document() const { return history.now(); }
};

/// The model whose numbers are on the screen: the trace's, which is older than the document's while
/// the document cannot be run.
inline const Config& shown_config(const AppState& state) {
  return state.derived.trace ? state.derived.trace->config() : state.document().config;
}

// ---- actions: what panels ask for ----

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
  kSave,
  kSaveAs,
  kToggleTheme,
  kToggleCompare,
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
};

struct DoEdit {
  Edit edit;
  std::string group;
};
struct EndEdit {};
struct DoCommand {
  Command command{};
};
struct GoToStep {
  std::string tensor;
};
struct ChooseLayer {
  int layer = 0;
};
struct ChooseHead {
  int head = 0;
};
struct CompareHead {
  int head = -1;
};
struct PickCell {
  CellPick cell;
  bool follow = false;  // also go to the step that makes it
};
struct HoverCell {
  std::optional<CellPick> cell;
};
struct DismissNotice {
  std::size_t index = 0;
};
struct OpenFile {
  std::string path;
};
struct SaveFile {
  std::string path;
};
struct TypePath {
  std::string text;
};
struct ClosePopups {};
struct FocusDone {};
/// What the window's size folds by itself.
struct Folded {
  bool heads_shown = true, inspector_shown = true;
};

using Action = std::variant<DoEdit, EndEdit, DoCommand, GoToStep, ChooseLayer, ChooseHead,
                            CompareHead, PickCell, HoverCell, DismissNotice, OpenFile, SaveFile,
                            TypePath, ClosePopups, FocusDone, Folded>;

}  // namespace headlight
