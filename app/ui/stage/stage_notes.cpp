// What is out of the ordinary on a page, said in words: a picture alone does not tell it.
#include <algorithm>
#include <cmath>

#include "app/ui/compute/compute_view.h"
#include "app/ui/stage/stage_view.h"
#include "core/base/number_text.h"
#include "core/explain/arithmetic.h"
#include "core/model/lacks_head.h"
#include "core/run/model_input.h"
#include "core/train/data/text_source.h"

namespace headlight {
namespace {

using Note = StageNote;

std::string cell_name(const Trace& trace, TensorId id, std::int64_t flat) {
  return cell_title(trace, {id, unravel(trace.tensor(id).axes, flat)}, token_label);
}

// The mask puts −∞ where it forbids: there it is no surprise.
bool masks(const Program& program, TensorId id) {
  const auto is_mask = [&](TensorId of) {
    const Role role = program.tensors[place(of)].role;
    return role == Role::kMask || role == Role::kAddedMask;
  };
  if (is_mask(id)) return true;
  const int producer = program.producer(id);
  if (producer < 0) return false;
  const OpCall& call = program.calls[place(producer)];
  return op_info(call.op).input_of(InputKind::kMask) >= 0 || std::ranges::any_of(call.in, is_mask);
}

void note_tensor(std::vector<Note>& notes, const Ui& ui, const Trace& trace, const PagePane& p) {
  const TensorView t = trace.tensor(p.tensor);
  const Anomalies& anomalies = trace.anomalies(p.tensor);
  const std::string& symbol = trace.program().tensors[static_cast<std::size_t>(p.tensor)].symbol;
  const auto say = [&](std::string_view id, std::int64_t count, std::int64_t first) {
    notes.push_back({ui.tr(id, {{"n", count_text(count)},
                                {"all", count_text(t.size())},
                                {"what", symbol},
                                {"where", cell_name(trace, p.tensor, first)}}),
                     true});
  };
  if (anomalies.nan > 0) say("stage.note.nan", anomalies.nan, anomalies.first_nan);
  if (anomalies.infinite > 0 && !masks(trace.program(), p.tensor))
    say("stage.note.infinite", anomalies.infinite, anomalies.first_infinite);
  const bool matrix = p.pane.role != PaneRole::kRowVector && p.pane.rows * p.pane.columns > 1;
  // What the sentence and the settings give (masks, which tokens count) is mostly all the same.
  const bool given =
      trace.program().tensors[static_cast<std::size_t>(p.tensor)].kind == TensorKind::kInput;
  if (anomalies.all_equal && matrix && !given) {
    notes.push_back({ui.tr(
        "stage.note.equal",
        {{"n", count_text(t.size())}, {"what", symbol}, {"value", number_text(t.data[0], 5)}})});
  }
}

// Rows without an allowed key, on the pages where the mask acts.
void note_mask(std::vector<Note>& notes, const Ui& ui, const Trace& trace, const Step& step) {
  const Program& program = trace.program();
  const TensorId masked = program.find(Role::kMaskedScores, step.tensor);
  const auto place_of = [&](TensorId id) { return program.tensors[place(id)].place; };
  if (masked < 0 || place_of(masked) != place_of(step.tensor)) return;
  const OpCall& call = program.calls[place(program.producer(masked))];
  const TensorId mask = call.in[place(op_info(call.op).input_of(InputKind::kMask))];
  const bool acts = program.makes(step, Role::kMaskedScores) ||
                    program.makes(step, Role::kPattern) || program.makes(step, Role::kHeadOutput);
  if (!acts || step.backward) return;
  const std::int64_t empty = trace.anomalies(mask).empty_rows;
  const std::int64_t all = trace.tensor(mask).axes[1].size;
  if (empty == all) {
    notes.push_back({std::string(ui.tr("stage.note.all_masked"))});
  } else if (empty > 0) {
    notes.push_back(
        {ui.tr("stage.note.rows_masked", {{"n", count_text(empty)}, {"all", count_text(all)}})});
  }
}

// A model that fills [MASK] has nothing to fill.
void note_no_mask(std::vector<Note>& notes, const AppState& state, const Ui& ui, const Step& step) {
  const Trace& trace = *state.derived.trace;
  const bool predicts = step.section == Section::kPrediction || step.calls.empty();
  const auto& model = state.derived.model;
  if (model && lacks_head(*model)) {
    if (predicts && step.tensor != trace.program().probabilities)  // whose sentence says it
      notes.push_back({std::string(ui.tr("next.no_head"))});
    return;
  }
  if (trace.program().asks_for_masked() && trace.input().masked.empty() && predicts)
    notes.push_back({ui.tr(!model || knows_mask(*model) ? "stage.note.no_mask" : "next.no_mask_id",
                           {{"mask", std::string(mask_name(model.get()))}})});
}

// A model that judges pairs of sentences has only one.
void note_no_second(std::vector<Note>& notes, const AppState& state, const Ui& ui,
                    const Step& step) {
  const auto& model = state.derived.model;
  const std::vector<int>& segments = state.derived.trace->input().segment_ids;
  const bool predicts = step.section == Section::kPrediction || step.calls.empty();
  if (model && model->file.task == kNextSentenceTask && predicts && !segments.empty() &&
      segments.back() == 0)
    notes.push_back({std::string(ui.tr("stage.note.no_second"))});
}

// A row of equal scores: softmax has nothing to prefer.
void note_even_row(std::vector<Note>& notes, const AppState& state, const Ui& ui, const Step& step,
                   const StepPage& page) {
  const Trace& trace = *state.derived.trace;
  if (!trace.program().makes(step, Role::kPattern) || step.backward) return;
  const ChosenCell cell = chosen_cell(state, step, page);
  const PagePane& scores = page.lines[0].front();
  const float* data = trace.tensor(scores.tensor).data;
  std::int64_t allowed = 0, last = -1;
  float low = INFINITY, high = -INFINITY;
  for (std::int64_t c = 0; c < scores.pane.columns; ++c) {
    const float x = data[pane_flat(scores.pane, cell.row, c)];
    if (std::isnan(x)) return;
    if (x == -INFINITY) continue;
    ++allowed;
    last = c;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  if (allowed < 2 || low != high) return;
  const PagePane& weights = page.lines[0].back();
  const float weight = trace.tensor(weights.tensor).data[pane_flat(weights.pane, cell.row, last)];
  notes.push_back({ui.tr("stage.note.even_row",
                         {{"n", count_text(allowed)}, {"value", number_text(weight, 4)}})});
}

}  // namespace

std::vector<StageNote> stage_notes(const AppState& state, const Ui& ui, const Step& step,
                                   const StepPage& page, bool brief) {
  const Trace& trace = *state.derived.trace;
  std::vector<Note> notes;
  if (state.derived.computing) {
    notes.push_back({std::string(ui.tr("stage.note.computing"))});
  } else if (!state.derived.problem.empty()) {
    notes.push_back({std::string(ui.tr("stage.note.old"))});
  }
  if (const CallDifference* d = difference_of(state, step))
    notes.push_back({difference_words(state, ui, *d, brief), !d->within()});
  std::vector<TensorId> said;
  for (const auto& line : page.lines) {
    for (const PagePane& p : line) {
      const TensorId id = trace.program().resolve(p.tensor);
      if (std::find(said.begin(), said.end(), id) != said.end()) continue;
      said.push_back(id);
      note_tensor(notes, ui, trace, p);
    }
  }
  note_no_mask(notes, state, ui, step);
  note_no_second(notes, state, ui, step);
  note_mask(notes, ui, trace, step);
  note_even_row(notes, state, ui, step, page);
  constexpr std::size_t kMax = 3;  // the first are the causes
  if (notes.size() > kMax) notes.resize(kMax);
  return notes;
}

float stage_notes_height(const Ui& ui, float width, const std::vector<StageNote>& notes) {
  float height = 0;
  for (const Note& note : notes)
    height += ui.wrapped_height(ui.fonts.control, width - ui.px(12), note.text) + ui.px(3);
  return height;
}

float draw_stage_notes(Ui& ui, ImVec2 at, float width, const std::vector<StageNote>& notes) {
  float height = 0;
  for (const Note& note : notes) {
    const float y = at.y + height + ui.px(3);
    const Color color = note.loud ? ui.theme.error : ui.theme.text;
    const float line =
        ui.wrapped(ui.fonts.control, {at.x + ui.px(12), y}, width - ui.px(12), color, note.text);
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, y}, {at.x + ui.px(3), y + line - ui.px(3)},
                                              to_u32(color), ui.px(1));
    height += line + ui.px(3);
  }
  return height;
}

}  // namespace headlight
