// The shell's second half: what is looked at, kept in line with the trace.
#include <algorithm>
#include <cmath>

#include "app/shell/shell.h"
#include "app/ui/frame/panels.h"
#include "core/graph/step_names.h"
#include "core/view/pane_layout.h"

namespace headlight {

void Shell::go_to(const std::string& tensor) {
  if (!state_.derived.trace) return;
  const Program& program = state_.derived.trace->program();
  const TensorId id = program.find(tensor);
  // A step that the edit just made brings along, as the mask of a model that had none.
  const bool changes = state_.derived.computing || !(state_.document() == computed_);
  awaited_step_ = id < 0 && changes ? tensor : "";
  if (id < 0) return;
  const Step& step = program.steps[static_cast<std::size_t>(program.step_of(id))];
  const std::string before = state_.session.step;
  state_.session.step = program.tensors[static_cast<std::size_t>(step.tensor)].name;
  if (state_.session.step != before) start_step_motion();
  if (step.layer >= 0) state_.session.layer = step.layer;
  state_.session.hovered.reset();
  pick_default();
  update_difference();
}

// What the run was asked for may have no step that goes backwards: before the first operation the
// walk ends, behind the logits it begins.
void Shell::go_to_awaited(const std::string& tensor) {
  if (!state_.derived.trace) return;
  const Program& program = state_.derived.trace->program();
  const bool gone = program.find(tensor) < 0 && without_gradient(tensor) != tensor;
  if (!gone || program.gradients.empty()) return go_to(tensor);
  const Step* step = current_step(state_);
  const bool at_begin = step && step->section == Section::kInput;
  const Step& back = at_begin ? program.steps.back() : program.steps[program.forward_steps()];
  go_to(program.tensors[static_cast<std::size_t>(back.tensor)].name);
}

void Shell::step_by(int direction) {
  if (!state_.derived.trace) return;
  const Program& program = state_.derived.trace->program();
  const TensorId id = program.find(state_.session.step);
  const int now = id < 0 ? 0 : program.step_of(id);
  const int next = std::clamp(now + direction, 0, static_cast<int>(program.steps.size()) - 1);
  const Step& step = program.steps[static_cast<std::size_t>(next)];
  go_to(program.tensors[static_cast<std::size_t>(step.tensor)].name);
}

// While a model is trained its trace is made many times a second, and nobody walks through it.
bool Shell::wants_gradients() const {
  return state_.session.backward && !state_.session.train.open;
}

// To the step that goes the other way; backwards once the run that brings the gradients has ended.
void Shell::on(const WalkBackward& a) {
  Session& s = state_.session;
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

void Shell::change_layer(int layer) {
  Session& s = state_.session;
  const int last = shown_config(state_).layers - 1;
  layer = std::clamp(layer, 0, last);
  s.layer = layer;
  const StepName at = split_name(s.step);
  if (at.layer >= 0 && at.layer != layer && state_.derived.trace) {
    // The first layer has a step of its own (the sum with the positions) that the others lack.
    const Program& program = state_.derived.trace->program();
    const std::string there = find_in_layer(program, at.stack, layer, at.rest);
    go_to(there.empty() ? pattern_of_layer(program, s.step, layer) : there);
  }
  update_difference();
}

void Shell::change_head(int head) {
  Session& s = state_.session;
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
  if (s.other_head == s.head) s.other_head = count > 1 ? (s.head + 1) % count : -1;
  update_difference();
}

void Shell::settle() {
  Session& s = state_.session;
  if (!state_.derived.trace) return;
  const Trace& trace = *state_.derived.trace;
  const int heads = trace.config().head_count();
  s.head = std::clamp(s.head, 0, heads - 1);
  s.layer = std::clamp(s.layer, 0, trace.config().layers - 1);
  if (s.other_head >= heads) s.other_head = -1;
  if (s.compare && s.other_head < 0) s.other_head = heads > 1 ? (s.head + 1) % heads : -1;
  if (s.compare && s.other_head == s.head) s.other_head = (s.head + 1) % heads;
  if (heads < 2) s.compare = false;
  const Program& program = trace.program();
  if (s.step.empty()) s.step = pattern_of_layer(program, "", s.layer);
  if (program.find(s.step) < 0) {
    // The step was switched off (no mask, no scale) or the model is of another kind: stay near it.
    s.step = nearest_step(program, s.step, s.layer);
    finish_motion();
  }
  s.hovered.reset();
  bool fits = false;
  if (s.picked) {
    const TensorView t = trace.find(s.picked->tensor);
    fits = t.data && s.picked->index.size() == t.axes.size();
    for (std::size_t a = 0; fits && a < t.axes.size(); ++a)
      fits = s.picked->index[a] < t.axes[a].size;
  }
  if (!fits) pick_default();
  update_difference();
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

void Shell::pick_default() {
  Session& s = state_.session;
  const Trace& trace = *state_.derived.trace;
  const TensorId id = trace.program().find(s.step);
  if (id < 0) return;
  const Step& step = trace.program().steps[static_cast<std::size_t>(trace.program().step_of(id))];
  // The same token's row as before, where there was one.
  std::optional<std::int64_t> row;
  if (s.picked) {
    const TensorView t = trace.find(s.picked->tensor);
    for (const char* axis : {"query", "position"}) {
      const int at = t.data ? t.find_dim(axis) : -1;
      if (at >= 0 && s.picked->index.size() == t.axes.size() && !row) {
        row = s.picked->index[static_cast<std::size_t>(at)];
      }
    }
  }
  const StepPage page = step_page(trace, step, s.head);
  const TensorId shown = default_tensor(trace, step, page);
  std::vector<std::int64_t> cell = default_cell(trace, step, s.head, row);
  // From scores to scale to mask to softmax the same key stays chosen.
  if (s.picked) {
    const TensorView before = trace.find(s.picked->tensor), now = trace.tensor(shown);
    const bool same_axes = before.data && before.axes.size() == 4 && now.axes.size() == 4 &&
                           (before.axes[3].name == "key" || before.axes[3].name == "source_key") &&
                           before.axes[3].name == now.axes[3].name &&
                           is_near(trace.program(), s.picked->tensor, step, s.layer);
    const bool fits =
        same_axes && s.picked->index.size() == 4 && s.picked->index[3] < now.axes[3].size;
    if (fits) cell[3] = s.picked->index[3];
  }
  s.picked =
      CellPick{trace.program().tensors[static_cast<std::size_t>(shown)].name, std::move(cell)};
}

void Shell::update_difference() {
  const Session& s = state_.session;
  Derived& d = state_.derived;
  d.difference.clear();
  d.largest_change = -1;
  if (!s.compare || s.other_head < 0 || !d.trace) return;
  const Step* shown = heads_step(state_);
  if (!shown || s.other_head >= d.trace->config().head_count()) return;
  const Step& step = *shown;
  const TensorView t = d.trace->tensor(step.tensor);
  const Pane a = step_page(*d.trace, step, s.head).lines[0].back().pane;
  const Pane b = step_page(*d.trace, step, s.other_head).lines[0].back().pane;
  float largest = 0;
  d.difference.reserve(static_cast<std::size_t>(a.rows * a.columns));
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) {
      const float x = t.data[pane_flat(a, r, c)], y = t.data[pane_flat(b, r, c)];
      d.difference.push_back(x == y ? 0.0f : x - y);  // −∞ − (−∞) is no difference
      const float change = std::fabs(d.difference.back());
      if (!(change > largest)) continue;
      largest = change;
      d.largest_change = static_cast<std::int64_t>(d.difference.size()) - 1;
    }
  }
  d.difference_range = measure_range(d.difference);
  ++d.difference_key;
}

}  // namespace headlight
