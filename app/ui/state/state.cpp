#include "app/ui/state/state.h"

namespace headlight {

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

bool has_room(const AppState& state) {
  const Trace* trace = state.derived.trace.get();
  if (!trace || state.derived.cut) return false;
  if (!trace->input().masked.empty()) return true;  // a mask is filled, the row stays as long
  const auto& model = state.derived.model;
  const std::int64_t most = model && model->file.context > 0 ? model->file.context : INT64_MAX;
  return trace->length() < std::min<std::int64_t>(most, state.document().max_tokens);
}

}  // namespace headlight
