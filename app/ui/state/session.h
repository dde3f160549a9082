// Session: how the document is looked at. One part for each controller that changes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/ui/state/compute_state.h"
#include "app/ui/state/cost_state.h"
#include "app/ui/state/labs_state.h"
#include "app/ui/state/requests.h"
#include "app/ui/state/saved_runs.h"
#include "app/ui/state/train_state.h"
#include "core/base/texts.h"
#include "core/explain/step_code.h"
#include "core/view/color_vision.h"

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

/// What the window is for.
enum class Mode { kSteps, kTrain, kLabs };
enum class InspectorTab { kNumbers, kCode, kWords };
enum class HeadsView { kPictures, kLines, kReach };
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

/// Sizes in design pixels that the person gave the panels by dragging; 0: as the window suggests.
struct PanelSizes {
  float rail = 0, inspector = 0, heads = 0;
  bool operator==(const PanelSizes&) const = default;
};

/// What a focused control does with the arrow keys: nothing, types, goes to its neighbour in the
/// menu bar, changes its value, moves the chosen cell, or goes to its neighbour in a grid; of a
/// kGridCell the Tab key knows nothing.
enum class FocusKind { kButton, kField, kMenu, kSlider, kPane, kGrid, kGridCell };

/// The control that has the keyboard.
struct Focus {
  std::string id;  // empty: none
  FocusKind kind = FocusKind::kButton;
  bool visible = false;  // reached by key: a ring is drawn. Clicked: only where Tab goes on from
  std::string opener;    // had the focus before a menu or sheet opened
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
  kFind,       // the session's weights are not where they were: find, random ones, cancel
  kChanged,    // they are others than when it was saved: find, use them
  kNotKept,    // a training run could not be saved before the window ends: elsewhere, quit, cancel
  kRemove,     // a saved run: remove, cancel
};
struct Question {
  Asking asking = Asking::kNothing;
  Leaving leaving = Leaving::kNone;  // what comes after, kLeave and kOverwrite
  std::string leaving_path;          // kOpen: what is to be opened
  // kOverwrite: the file; kRecover: the session's own, or ""; kFind, kChanged: the weights' folder,
  // or ""; kRemove: the run's folder.
  std::string path;
  Message problem;             // kNotKept: why
  bool known = false;          // kOverwrite: the file was this session's own
  std::string sentence, when;  // kRecover: what was typed, and the time of day
};

// ---- the session's parts: each is changed by one controller alone (app/shell/controllers) ----

/// The step, the layer, the head and the cell that are looked at.
struct StepsSession {
  std::string step;  // name of the tensor whose step is shown
  int layer = 0, head = 0;
  bool backward = false;  // gradients are computed as well, so that the rail can run in reverse
  std::optional<CellPick> picked, hovered;
  std::vector<CellPick> trail;  // the cells gone through on the way to the picked one, oldest first
  bool all_terms = false;       // of the picked cell the small terms are listed as well
  Playback playback;
};

struct HeadsSession {
  bool measured = false;  // scores are means over many sentences, not of the shown one
  int other_head = -1;    // the head to compare with; -1: none
  bool compare = false;   // the stage shows both heads and their difference
  HeadsView heads_view = HeadsView::kPictures;
  std::int64_t reach_word = -1;  // see ChooseReachWord
  std::vector<int> line_heads;   // whose lines are drawn; empty: the chosen head's
  Brush brush = Brush::kCell;
  bool brush_one_head = false;  // it forbids keys to the chosen head alone
};

struct InspectorSession {
  InspectorTab inspector_tab = InspectorTab::kNumbers;
  std::string lit_tensor;  // named in words under the mouse: lit on the stage, and back
  CodeLibrary library = CodeLibrary::kNumpy;
  bool kernel = false;       // instead of it: the shader that makes the cell on the graphics card
  std::string copied_by;     // the id of the button that says so, until something else is looked at
  std::string target_typed;  // what the list of targets is narrowed to
};

/// How things look: colours, language, what is zoomed into, which panels are there.
struct LookSession {
  Mode mode = Mode::kSteps;
  bool dark = false;
  float scale = 1.0f;
  Language language = Language::kEnglish;
  StageView view;
  RangeMode range = RangeMode::kShared;
  Vision vision = Vision::kFull;
  PanelSizes sizes;
  std::optional<bool> rail_open, heads_open,
      inspector_open;  // unset: as the window's size suggests
  bool rail_shown = true, heads_shown = true, inspector_shown = true;  // as the last frame's did
  PanelId last_opened = PanelId::kNone;  // by hand: stays open where there is room for one only
  PanelId maximized = PanelId::kNone;
  int hint = -1;  // which hint of the first start is shown; -1: none
};

/// What keys go to.
struct KeyboardSession {
  Focus focus;
  std::string menu;  // the open one; keys stay in it
  bool palette_open = false;
  std::string palette_typed;
  int palette_choice = 0;
};

struct DocumentSession {
  int text_revision = 0;  // grows when the sentence changes other than by typing
};

struct FilesSession {
  Question question;
  std::vector<std::string> recent;  // session files, newest first
  bool quit = false;                // the window is to end
};

/// A line of a list of files.
struct FileLine {
  std::string name;
  bool folder = false;  // that can be gone into
  bool model = false;   // the folder of a saved model
  bool operator==(const FileLine&) const = default;
};

/// What asks for a path: the desktop's own dialog, or a sheet with a list of folders and files.
struct DialogSession {
  Sheet path_sheet = Sheet::kNone;   // the open sheet
  bool desktop_dialog = false;       // the desktop's is open instead
  std::string path_typed;            // a name in the folder, or a path
  std::string path_folder;           // whose lines are listed
  std::vector<FileLine> path_lines;  // folders first, by name
  Message path_problem;              // why the last one was not taken
  std::string export_tensor;         // of which a picture or the numbers are asked for
};

struct ComputingSession {
  ComputeMode compute = ComputeMode::kCpu;
  ComputeRequest compute_request = ComputeRequest::kAutomatic;
  bool compute_sizes = false;  // of the sheet: time against size, instead of the table
};

/// What is looked at: not part of the document, not undone.
struct Session : StepsSession,
                 HeadsSession,
                 InspectorSession,
                 LookSession,
                 KeyboardSession,
                 DocumentSession,
                 FilesSession,
                 DialogSession,
                 ComputingSession,
                 CostSession {
  TrainSession train;
  RunsSession runs;
  LabsSession labs;
};

}  // namespace headlight
