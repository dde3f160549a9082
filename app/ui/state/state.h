// AppState: the one value that the window shows. Panels read it; only the shell changes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/ui/state/requests.h"
#include "app/ui/state/session.h"
#include "core/base/message.h"
#include "core/check/nudge.h"
#include "core/document/document.h"
#include "core/explain/explain.h"
#include "core/explain/reach_picture.h"
#include "core/run/free_running.h"
#include "core/run/number_curve.h"
#include "core/run/runner.h"
#include "core/run/sentence_tokens.h"
#include "core/train/heads/trace_heads.h"
#include "core/view/device_cells.h"
#include "core/view/kernel_view.h"
#include "core/view/outcome.h"
#include "core/view/pane_layout.h"

namespace headlight {

struct MeasuredHeads;

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

// ---- what follows from the document and the session, again by who makes it ----

/// The run of the document, and who computes it.
struct ComputingDerived {
  Document asked;  // the document that the trace is of, or will be when `computing` has ended
  std::shared_ptr<const Trace> trace;  // the last one that could be made; null at the very start
  std::shared_ptr<const TraceHeads> heads;  // the scores of its heads
  std::string problem;  // why the document as it stands has no trace, in the person's language
  Message message;      // the same, for any language
  std::size_t tokens_in_sentence = 0;
  bool empty = false;  // the sentence has no token
  bool cut = false;
  std::size_t skipped = 0;             // tokens of the sentence before the trace's first
  std::size_t segments = 0;            // RunResult::segments
  std::shared_ptr<const Model> model;  // the trace's; null: the sandbox
  // The document's, though it may have no trace, as of an empty sentence; null: it is not open.
  std::shared_ptr<const Model> opened;
  // The weights of a document whose model is a run that is being trained; null: there are none.
  std::shared_ptr<const Model> run_model;
  // Of a trained encoder-decoder: what it reads and says, beside what it writes by itself.
  std::optional<ForcedAndFree> rows;
  // Of a model of numbers: what it says of all of them; null of others.
  std::shared_ptr<const NumberCurve> curve;
  double run_ms = 0;
  bool computing = false;
  // While it is: for how many seconds now, how far it is (0 to 1), and the name of the model that
  // is being opened; empty: a run.
  double waiting = 0, share = 0;
  std::string opening;
  GpuState gpu;
  std::shared_ptr<const BothRun> both;              // of the trace, when both have run it
  std::shared_ptr<const DeviceCells> device_cells;  // of the trace, where the window can draw them
  SizeChart sizes;
};

/// A row of the grid of all heads: one attention.
struct HeadsRow {
  int pattern = -1;                // the step that makes its weights,
  int step = -1;                   // and the one that is shown of it, as places in Program::steps
  std::vector<PagePane> pictures;  // by head
};
/// Made anew where the trace or the kind of step changes, not for every frame.
struct HeadsGrid {
  std::uint64_t serial = 0;    // of the trace
  std::vector<HeadsRow> rows;  // as TraceHeads::scores has them
  int current = -1;            // the row of the shown step, or of its layer
};

/// The heads of what is shown, measured on many sentences; the grid has its rows.
struct HeadsMeans {
  std::shared_ptr<const Model> model;          // whose heads; null: the sandbox's
  Document document;                           // with what settings; its sentence does not count
  std::size_t done = 0, count = 0;             // sentences
  std::shared_ptr<const MeasuredHeads> heads;  // null until all are done
  Message problem;                             // why there are none
};

struct HeadsDerived {
  HeadsGrid grid;
  std::optional<HeadsMeans> means;  // once asked for
  std::vector<float> difference;    // the two chosen heads, first minus second
  CellRange difference_range;
  std::uint64_t difference_key = 0;
  std::int64_t largest_change = -1;  // where `difference` is furthest from 0; -1: nowhere
  std::optional<Reach> reach;        // of the chosen cell, once it is known
  std::vector<float> reach_cells;    // the rows of `reach`, the last one first
  std::uint64_t reach_key = 0;
  bool reaching = false;  // another one is being computed
};

struct InspectorDerived {
  std::shared_ptr<const Inspected> inspected;  // null when no cell is picked
  std::optional<Nudged> nudged;                // of the picked cell, once asked for
  bool nudging = false;
};

/// What a trained model said of the sentence with the settings that it learned with.
struct AsTrained {
  std::string model, sentence;  // empty: nothing yet
  std::int64_t position = 0;
  std::vector<float> probabilities;
};

struct ContinuationDerived {
  SentenceTokens tokens;        // of the trace, where they stand in its sentence
  std::string tokens_sentence;  // that sentence: ComputingDerived::asked may have another by now
  std::uint64_t tokens_of = 0;  // the trace's serial
  bool writing = false;         // the model puts one token after the other
  AsTrained as_trained;
};

struct Derived : ComputingDerived,
                 HeadsDerived,
                 InspectorDerived,
                 ContinuationDerived,
                 CostDerived {};

enum class NoticeKind { kInfo, kWarning, kError };
/// A way on from what a notice says.
struct NoticeButton {
  std::string id;    // stable: "sandbox"
  std::string text;  // in the person's language
  Message label;     // the same, for any language
};
struct Notice {
  NoticeKind kind{};
  std::string text;  // in the person's language
  Message message;   // the same, for any language
  std::vector<NoticeButton> buttons;
  bool stays = false;  // until it is answered or holds no more; others go by themselves
  bool held = false;   // the mouse is over it: it waits
};

struct AppState {
  History history;
  // While the Train panel is open on a run that has learned nothing: what it shows of it. Nobody
  // has asked for it, so it is no change: not undone, not saved, gone with the panel.
  std::optional<Document> preview;
  Session session;
  Requests requests;
  Derived derived;
  TrainData train;
  RunsData runs;
  LabsData labs;
  std::vector<Notice> notices;  // the first is shown; the others wait until it has gone
  std::string session_path;     // where Ctrl+S saves; empty: not yet known
  /// What is shown; the person's own is history.now().
  const Document& document() const { return preview ? *preview : history.now(); }
};

/// The model whose numbers are on the screen: the trace's, which is older than the document's while
/// the document cannot be run.
inline const Config& shown_config(const AppState& state) {
  return state.derived.trace ? state.derived.trace->config() : state.document().config;
}

/// Is something said to be wrong? Hints, which could cover it, wait.
inline bool hints_wait(const AppState& state) {
  return !state.notices.empty() && state.notices.front().kind != NoticeKind::kInfo;
}

struct Lab;
/// The lab that the document chooses; the first one where it names none.
const Lab& shown_lab(const Document&);

/// What the shown model says of the sentence; of several [MASK]s what the chosen row's hides.
Outcome shown_outcome(const AppState&);
/// Has the document's model, if it is a trained one, the mask, the scale, the temperature and the
/// residual that it learned with?
bool is_as_trained(const AppState&);
/// Can the chosen model be run with these positions?
bool can_have(const AppState&, PositionKind);
/// What it said with these of the sentence and the place that are shown; empty where that is not
/// known.
std::span<const float> said_as_trained(const AppState&, const Outcome&);
/// Does the model read one more token than there are?
bool has_room(const AppState&);
/// Can the sentence have one more: is there room for it, or are the last tokens read?
bool can_go_on(const AppState&);  // what is said of numbers belongs to each, and goes on with none

}  // namespace headlight
