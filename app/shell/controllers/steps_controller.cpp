#include "app/shell/controllers/steps_controller.h"

#include <algorithm>

#include "app/ui/experts/stage_experts.h"
#include "app/ui/frame/panels.h"
#include "core/graph/step_names.h"
#include "core/view/pane_layout.h"

namespace headlight {

StepsController::StepsController(const Shared& shared, StepsSession& session)
    : Controller(shared), session_(session) {}

void StepsController::take_trace() {
  settle();
  if (!awaited_step_.empty()) go_to_awaited(std::exchange(awaited_step_, ""));
}

void StepsController::go_to(const std::string& tensor) {
  if (!state_.derived.trace) return;
  const Program& program = state_.derived.trace->program();
  const TensorId id = program.find(tensor);
  // A step that the edit just made brings along, as the mask of a model that had none.
  const Derived& d = state_.derived;
  const bool changes = d.computing || !same_run(state_.document(), d.asked);
  awaited_step_ = id < 0 && changes ? tensor : "";
  if (id < 0) return;
  const Step& step = program.steps[static_cast<std::size_t>(program.step_of(id))];
  if (await_layer_ && await_layer_(step.tensor)) return;
  const std::string before = session_.step;
  session_.step = program.tensors[static_cast<std::size_t>(step.tensor)].name;
  if (session_.step != before) start_step_motion();
  if (step.layer >= 0) session_.layer = step.layer;
  session_.hovered.reset();
  pick_default();
}

// What the run was asked for may have no step that goes backwards: before the first operation the
// pass ends, behind the logits it begins.
void StepsController::go_to_awaited(const std::string& tensor) {
  if (!state_.derived.trace) return;
  const Program& program = state_.derived.trace->program();
  const bool gone = program.find(tensor) < 0 && without_gradient(tensor) != tensor;
  if (!gone || program.gradients.empty()) return go_to(tensor);
  const Step* step = current_step(state_);
  const bool at_begin = step && step->section == Section::kInput;
  const Step& back = at_begin ? program.steps.back() : program.steps[program.forward_steps()];
  go_to(program.tensors[static_cast<std::size_t>(back.tensor)].name);
}

void StepsController::step_by(int direction) {
  if (!state_.derived.trace) return;
  const Program& program = state_.derived.trace->program();
  const TensorId id = program.find(session_.step);
  const int now = id < 0 ? 0 : program.step_of(id);
  const int next = std::clamp(now + direction, 0, static_cast<int>(program.steps.size()) - 1);
  const Step& step = program.steps[static_cast<std::size_t>(next)];
  go_to(program.tensors[static_cast<std::size_t>(step.tensor)].name);
}

// To the step that goes the other way; backwards once the run that brings the gradients has ended.
void StepsController::on(const ShowBackward& a) {
  StepsSession& s = session_;
  const Step* step = current_step(state_);
  if (a.backward == s.backward && step && step->backward == a.backward) return;
  s.backward = a.backward;
  awaited_step_.clear();
  if (!step) return;
  const Program& program = state_.derived.trace->program();
  if (step->twin >= 0 && step->backward != a.backward)
    return go_to(program
                     .tensors[static_cast<std::size_t>(
                         program.steps[static_cast<std::size_t>(step->twin)].tensor)]
                     .name);
  if (!a.backward || step->backward) return;
  if (!program.gradients.empty()) return go_to_awaited(gradient_name(s.step));
  awaited_step_ = gradient_name(s.step);
}

void StepsController::on(const ChooseLayer& a) {
  StepsSession& s = session_;
  const int layer = std::clamp(a.layer, 0, std::max(shown_config(state_).layers - 1, 0));
  const StepName at = split_name(s.step);
  if (at.layer < 0 || at.layer == layer || !state_.derived.trace) {
    s.layer = layer;
    return;
  }
  // The first layer has a step of its own (the sum with the positions) that the others lack.
  const Program& program = state_.derived.trace->program();
  const std::string there = find_in_layer(program, at.stack, layer, at.rest);
  go_to(there.empty() ? mixing_of_layer(program, s.step, layer) : there);
}

void StepsController::go_to_head(int head) {
  StepsSession& s = session_;
  const int count = shown_config(state_).head_count();
  s.head = (head % count + count) % count;
  // The picked cell moves to the same place of the other head.
  if (s.picked && state_.derived.trace) {
    const TensorView t = state_.derived.trace->find(s.picked->tensor);
    const int axis = t.data ? t.find_dim("head") : -1;
    if (axis >= 0 && s.picked->index.size() == t.axes.size()) {
      s.picked->index[static_cast<std::size_t>(axis)] = s.head;
    } else {
      pick_default();
    }
  }
}

void StepsController::on(Is<kShowBackward>) {
  const Step* step = current_step(state_);
  on(ShowBackward{!step || !step->backward});
}

// Looking at another document (AppState::preview) changes nothing of where the person was: a trace
// of it has come, or one of their own again.
void StepsController::keep_place() {
  StepsSession& s = session_;
  const std::string& model = state_.history.now().model;
  if (state_.preview && !away_) {
    away_ = true;
    kept_ = {model,    s.step,          s.layer,       s.head,
             s.picked, picked_by_hand_, shown_tokens_, shown_source_};
  }
  if (state_.preview || !std::exchange(away_, false) || kept_.model != model) return;
  s.step = kept_.step;
  s.layer = kept_.layer;
  s.head = kept_.head;
  s.picked = kept_.picked;
  picked_by_hand_ = kept_.picked_by_hand;
  shown_tokens_ = kept_.tokens;
  shown_source_ = kept_.source;
}

void StepsController::settle() {
  StepsSession& s = session_;
  if (!state_.derived.trace) return;
  const Trace& trace = *state_.derived.trace;
  keep_place();
  s.head = std::clamp(s.head, 0, trace.config().head_count() - 1);
  s.layer = std::clamp(s.layer, 0, std::max(trace.config().layers - 1, 0));
  const Program& program = trace.program();
  if (s.step.empty()) s.step = mixing_of_layer(program, "", s.layer);
  if (program.find(s.step) < 0) {
    // The step was switched off (no mask, no scale) or the model is of another kind: stay near it.
    s.step = nearest_step(program, s.step, s.layer);
    finish_motion();
  }
  s.hovered.reset();
  // Of another sentence the same place would be just any, unless its tokens are still those that
  // the person chose.
  const RunInput& input = trace.input();
  const bool other = input.tokens != shown_tokens_ || input.source_tokens != shown_source_;
  if (other && s.picked && !(picked_by_hand_ && same_tokens(trace, *s.picked))) {
    s.picked.reset();
    picked_by_hand_ = false;
  }
  if (!s.picked || !has_cell(trace, *s.picked)) pick_default();
  if (!other) return;
  shown_tokens_ = input.tokens;
  shown_source_ = input.source_tokens;
}

// Are the tokens of the cell's row and column those that they were when it was chosen?
bool StepsController::same_tokens(const Trace& trace, const CellPick& cell) const {
  const TensorView t = trace.find(cell.tensor);
  if (!t.data || cell.index.size() != t.axes.size()) return false;
  for (std::size_t a = 0; a < t.axes.size(); ++a) {
    if (!counts_tokens(t.axes[a].name)) continue;
    const bool source = t.axes[a].name.starts_with("source");
    const auto& before = source ? shown_source_ : shown_tokens_;
    const auto& now = source ? trace.input().source_tokens : trace.input().tokens;
    const auto at = static_cast<std::size_t>(cell.index[a]);
    if (at >= before.size() || at >= now.size() || before[at] != now[at]) return false;
  }
  return true;
}

namespace {

// Is the tensor of this layer, and of the step's stack and direction?
bool is_near(const Program& program, std::string_view tensor, const Step& step, int layer) {
  const TensorId id = program.require(tensor);
  const Place& there = program.tensors[static_cast<std::size_t>(id)].place;
  return there.layer == layer && there.stack == step.stack &&
         program.is_gradient(id) == step.backward;
}

}  // namespace

void StepsController::pick_default() {
  StepsSession& s = session_;
  const Trace& trace = *state_.derived.trace;
  const TensorId id = trace.program().find(s.step);
  if (id < 0) return;
  const Step& step = trace.program().steps[static_cast<std::size_t>(trace.program().step_of(id))];
  // The same token's row as before, where there was one.
  std::optional<std::int64_t> row;
  if (s.picked) {
    const TensorView t = trace.find(s.picked->tensor);
    if (t.data) row = same_row(t, s.picked->index, trace.tensor(step.tensor));
  }
  // What a model says at [MASK] is what it was trained for.
  const std::vector<int>& masked = trace.input().masked;
  const bool predicts = step.section == Section::kPrediction && !masked.empty() &&
                        trace.tensor(step.tensor).find_dim("position") >= 0;
  if (predicts && !(row && picked_by_hand_)) row = masked.front();
  const std::int64_t part = shown_part(state_);
  const StepPage page = step_page(trace, step, part);
  const TensorId shown = default_tensor(trace, step, page);
  std::vector<std::int64_t> cell = default_cell(trace, step, part, row);
  // From scores to scale to mask to softmax the same key stays chosen.
  if (s.picked) {
    const TensorView before = trace.find(s.picked->tensor), now = trace.tensor(shown);
    const bool same_axes = before.data && before.axes.size() == 4 && now.axes.size() == 4 &&
                           (before.axes[3].name == "key" || before.axes[3].name == "source_key") &&
                           before.axes[3].name == now.axes[3].name &&
                           is_near(trace.program(), s.picked->tensor, step, s.layer);
    const bool fits =
        same_axes && s.picked->index.size() == 4 && s.picked->index[3] < now.axes[3].size;
    if (fits) {
      std::vector<std::int64_t> kept = cell;
      kept[3] = s.picked->index[3];
      // Where nothing comes back (a key that was forbidden), another has more to say.
      if (!step.backward || now.data[flat_index(now.axes, kept)] != 0) cell = std::move(kept);
    }
  }
  s.picked =
      CellPick{trace.program().tensors[static_cast<std::size_t>(shown)].name, std::move(cell)};
}

}  // namespace headlight
