// AppState: the one value that the window shows. Panels read it; only the shell changes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/ui/state/compute_state.h"
#include "app/ui/state/train_state.h"
#include "core/base/message.h"
#include "core/base/texts.h"
#include "core/check/nudge.h"
#include "core/document/document.h"
#include "core/explain/explain.h"
#include "core/explain/step_code.h"
#include "core/run/runner.h"
#include "core/view/color_vision.h"
#include "core/view/device_cells.h"
#include "core/view/kernel_view.h"

namespace headlight {

/// A cell by the name of its tensor, so that it outlives the trace it was picked in. The index is
/// the tensor's full one, batch included.
struct CellPick {
  std::string tensor;
  std::vector<std::int64_t> index;
  bool operator==(const CellPick&) const = default;
};

/// How far the making of the shown step has been played. The picture is a function of `clock`
/// alone, so that it can be scrubbed and tested.
struct Playback {
  bool shown = false;    // the stage shows the step in the making; off: the finished step
  bool playing = false;  // the clock runs
  double clock = 0;      // seconds of the step's own time
  float speed = 1;       // one of kSpeeds
};
inline constexpr float kSpeeds[] = {0.25f, 0.5f, 1, 2, 4};

enum class InspectorTab { kNumbers, kCode, kWords };
enum class HeadsView { kPictures, kLines };
/// What the mouse does to the mask on the stage while it is painted.
enum class Brush { kCell, kRow, kColumn, kTriangle };
/// Which numbers a picture's colours span: its own, or those of every head and layer of its kind.
enum class RangeMode { kPicture, kShared };
enum class PanelId { kNone, kRail, kStage, kHeads, kInspector };

/// A part of one axis of a large matrix: `zoom` 1 shows all of it, `start` (0..1 of the axis) is
/// where the shown part begins. It holds for axes of this kind only (axis_kind()).
struct AxisView {
  float zoom = 1, start = 0;
  std::string kind;
  bool operator==(const AxisView&) const = default;
};

/// The part of a page that the stage shows. Rows and columns are those of the page's result, shared
/// by every operand that has them; `inner` is the axis that only operands have, as the one that a
/// product sums over.
struct StageView {
  AxisView rows, columns, inner;
  bool operator==(const StageView&) const = default;
};

/// Asked for by keys: steps of zoom and of moving. The stage, which knows the sizes, carries it
/// out.
struct ViewRequest {
  int zoom = 0, right = 0, down = 0;
  bool follow = false;  // the picked cell is to be seen
  bool operator==(const ViewRequest&) const = default;
};

/// Sizes in design pixels that the person gave the panels by dragging; 0: as the window suggests.
struct PanelSizes {
  float rail = 0, inspector = 0, heads = 0;
  bool operator==(const PanelSizes&) const = default;
};

/// What a focused control does with the arrow keys: nothing, types, goes to its neighbour in the
/// menu bar, changes its value, or moves the chosen cell.
enum class FocusKind { kButton, kField, kMenu, kSlider, kPane };

/// The control that has the keyboard. What keys ask for is carried out by the next frame, which
/// knows the controls and their order.
struct Focus {
  std::string id;  // empty: none
  FocusKind kind = FocusKind::kButton;
  bool visible = false;  // reached by key: a ring is drawn. Clicked: only where Tab goes on from
  std::string opener;    // had the focus before a menu or sheet opened
  int move = 0;          // so many controls on
  int nudge = 0;         // a slider's steps
  bool activate = false;
  bool reveal = false;  // just arrived: scroll to it, type in it
};

/// What is left undone until "save the changes first?" has its answer.
enum class Leaving { kNone, kQuit, kNew, kOpen };

/// What the person has to answer before anything else goes on.
enum class Asking {
  kNothing,
  kLeave,      // there are unsaved changes: save, don't save, cancel
  kOverwrite,  // the file holds what this window has not read or written: save as, overwrite,
               // cancel
  kRecover,    // work that was not saved when Headlight ended: recover, discard, later
};
struct Question {
  Asking asking = Asking::kNothing;
  Leaving leaving = Leaving::kNone;  // what comes after, kLeave and kOverwrite
  std::string leaving_path;          // kOpen: what is to be opened
  std::string path;                  // kOverwrite: the file; kRecover: the session's own, or ""
  bool known = false;                // kOverwrite: the file was this session's own
  std::string sentence, when;        // kRecover: what was typed, and the time of day
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
  bool ask_path_to_open = false, ask_path_to_save = false, ask_path_to_model = false;
  std::string path_typed;
  bool quit = false;
  Language language = Language::kEnglish;

  Playback playback;

  InspectorTab inspector_tab = InspectorTab::kNumbers;
  std::vector<CellPick> trail;  // the cells gone through on the way to the picked one, oldest first
  std::string lit_tensor;       // named in words under the mouse: lit on the stage, and back
  bool all_terms = false;       // the small terms are listed as well
  CodeLibrary library = CodeLibrary::kNumpy;
  bool kernel = false;    // instead of it: the shader that makes the cell on the graphics card
  std::string copied;     // on its way to the clipboard
  std::string copied_by;  // the id of the button that says so, until something else is looked at

  HeadsView heads_view = HeadsView::kPictures;
  std::vector<int> line_heads;  // whose lines are drawn; empty: the chosen head's

  Brush brush = Brush::kCell;

  std::string target_typed;  // what the list of targets is narrowed to
  bool backward = false;     // gradients are computed as well, so that the rail can run in reverse

  StageView view;
  ViewRequest view_request;
  RangeMode range = RangeMode::kShared;
  Vision vision = Vision::kFull;
  PanelSizes sizes;
  std::optional<bool> rail_open;
  bool rail_shown = true;
  PanelId last_opened = PanelId::kNone;  // by hand: stays open where there is room for one only
  PanelId maximized = PanelId::kNone;
  int hint = -1;  // which hint of the first start is shown; -1: none
  Focus focus;

  bool palette_open = false;
  std::string palette_typed;
  int palette_choice = 0;
  Question question;
  std::vector<std::string> recent;  // session files, newest first

  ComputeMode compute = ComputeMode::kCpu;
  ComputeRequest compute_request = ComputeRequest::kAutomatic;
  bool compute_open = false;   // the sheet with both side by side
  bool compute_sizes = false;  // of it: time against size, instead of the table

  TrainSession train;
};

/// What the inspector shows. Made when the cell, the step or the trace changes, because the terms
/// of a wide model are too many to be found anew for every frame.
struct Inspected {
  std::uint64_t serial = 0;  // of the trace
  CellPick cell;
  Explanation explanation;
  std::optional<CellRef> special_from;  // where a NaN or an infinity came in
  std::string step;
  CodeLibrary library{};
  StepCode code;
  std::optional<KernelView> kernel;
};

/// A gradient that was checked by moving its cell.
struct Nudged {
  std::uint64_t serial = 0;  // of the trace
  CellPick cell;             // the gradient's
  Nudge nudge;
  double gradient = 0;
};

/// What follows from the document.
struct Derived {
  std::shared_ptr<const Trace> trace;  // the last one that could be made; null at the very start
  std::string problem;  // why the document as it stands has no trace, in the person's language
  Message message;      // the same, for any language
  std::size_t tokens_in_sentence = 0;
  bool empty = false;  // the sentence has no token
  bool cut = false;
  std::shared_ptr<const Model> model;  // the trace's; null: the sandbox
  double run_ms = 0;
  bool computing = false;
  std::vector<float> difference;  // the two chosen heads, first minus second
  CellRange difference_range;
  std::uint64_t difference_key = 0;
  std::int64_t largest_change = -1;            // where `difference` is furthest from 0; -1: nowhere
  std::shared_ptr<const Inspected> inspected;  // null when no cell is picked
  std::optional<Nudged> nudged;                // of the picked cell, once asked for
  bool nudging = false;
  GpuState gpu;
  std::shared_ptr<const BothRun> both;              // of the trace, when both have run it
  std::shared_ptr<const DeviceCells> device_cells;  // of the trace, where the window can draw them
  SizeChart sizes;
};

enum class NoticeKind { kInfo, kWarning, kError };
struct Notice {
  NoticeKind kind{};
  std::string text;  // in the person's language
  Message message;   // the same, for any language
};

struct AppState {
  History history;
  Session session;
  Derived derived;
  TrainData train;
  std::vector<Notice> notices;
  std::string session_path;  // where Ctrl+S saves; empty: not yet known
  const Document& document() const { return history.now(); }
};

/// The model whose numbers are on the screen: the trace's, which is older than the document's while
/// the document cannot be run.
inline const Config& shown_config(const AppState& state) {
  return state.derived.trace ? state.derived.trace->config() : state.document().config;
}

}  // namespace headlight
