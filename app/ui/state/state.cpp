#include "app/ui/state/state.h"

#include <algorithm>

#include "core/lab/lab.h"
#include "core/run/model_input.h"

namespace headlight {

const Lab& shown_lab(const Document& document) {
  const std::span<const Lab> labs = all_labs();
  const auto found = std::ranges::find(labs, document.labs.lab, &Lab::id);
  return found == labs.end() ? labs.front() : *found;
}

Outcome shown_outcome(const AppState& state) {
  const Trace* trace = state.derived.trace.get();
  const auto& picked = state.session.picked;
  std::optional<std::int64_t> row;
  if (trace && picked) {
    const TensorView t = trace->find(picked->tensor);
    const Axis* axis = t.data ? find_row_axis(t.axes) : nullptr;
    if (axis && picked->index.size() == t.axes.size())
      row = picked->index[static_cast<std::size_t>(axis - t.axes.data())];
  }
  return outcome_of(trace, row);
}

bool is_as_trained(const AppState& state) {
  const auto& model = state.derived.model;
  if (!model || state.document().model != model->ref) return true;
  const Config& own = model->file.config;
  Config now = run_config(state.document().config, own);
  // What is kept or averaged beside it changes nothing of what the model says.
  now.fused_attention = own.fused_attention;
  now.average_weights = own.average_weights;
  return now == own;
}

bool can_have(const AppState& state, PositionKind kind) {
  const auto& model = state.derived.model;
  const Config& c = state.document().config;
  // Without attention nothing has queries and keys to act on; with memory places would repeat.
  const bool on_keys = kind == PositionKind::kRotary || kind >= PositionKind::kRelative;
  const bool counted = kind == PositionKind::kSinusoidal || kind == PositionKind::kLearned;
  if ((!c.attends() && on_keys) || (c.memory > 0 && counted)) return false;
  return state.document().model.empty() || (model && can_have(model->file.config, kind));
}

std::span<const float> said_as_trained(const AppState& state, const Outcome& outcome) {
  const AsTrained& before = state.derived.as_trained;
  const Document& now = state.document();
  const bool same = before.model == now.model && before.sentence == now.sentence &&
                    before.position == outcome.position &&
                    before.probabilities.size() == outcome.probabilities.size();
  if (!same) return {};
  return before.probabilities;
}

bool has_room(const AppState& state) {
  const Trace* trace = state.derived.trace.get();
  if (!trace || state.derived.cut) return false;
  // A mask is filled, and the row stays as long.
  if (trace->program().asks_for_masked() && !trace->input().masked.empty()) return true;
  if (trace->config().memory > 0) return true;  // a segment that is full is followed by another
  const auto& model = state.derived.model;
  const std::int64_t most = model && model->file.context > 0 ? model->file.context : INT64_MAX;
  return trace->length() < std::min<std::int64_t>(most, state.document().max_tokens);
}

bool can_go_on(const AppState& state) {
  const auto& model = state.derived.model;
  if (state.derived.trace && state.derived.trace->config().numbers) return false;
  return has_room(state) || (state.derived.trace && model && goes_on(*model));
}

}  // namespace headlight
