#include "core/graph/program.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/similar.h"

namespace headlight {

TensorId Program::find(std::string_view name) const {
  const auto found = by_name.find(std::string(name));
  return found == by_name.end() ? -1 : found->second;
}

TensorId Program::require(std::string_view name) const {
  const TensorId id = find(name);
  if (id >= 0) return id;
  std::vector<std::string_view> names;
  for (const TensorSpec& spec : tensors) names.push_back(spec.name);
  throw UsageError("this model has no tensor named '" + std::string(name) + "'; " +
                   say(Language::kEnglish, did_you_mean(name, names)) +
                   "`headlight trace --list` names them all");
}

TensorId Program::find(Role role, TensorId near) const {
  TensorId first = -1;
  for (std::size_t id = 0; id < tensors.size(); ++id) {
    const auto tensor = static_cast<TensorId>(id);
    if (tensors[id].role != role || is_gradient(tensor)) continue;
    if (tensors[id].place == tensors[near].place) return tensor;
    if (first < 0) first = tensor;
  }
  return first;
}

TensorId Program::resolve(TensorId id) const {
  while (tensors[id].kind == TensorKind::kAlias) id = tensors[id].source;
  return id;
}

int Program::producer(TensorId id) const {
  id = resolve(id);
  for (std::size_t c = 0; c < calls.size(); ++c) {
    if (calls[c].out == id) return static_cast<int>(c);
  }
  return -1;
}

TensorId Program::gradient(TensorId id) const {
  // The gradients themselves come last among the tensors, and have none.
  const auto place = static_cast<std::size_t>(id);
  return id < 0 || place >= gradients.size() ? -1 : gradients[place];
}

std::size_t Program::forward_steps() const {
  std::size_t count = 0;
  while (count < steps.size() && !steps[count].backward) ++count;
  return count;
}

int Program::step_of(TensorId id) const {
  if (is_gradient(id)) return backward_step_of(id);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].tensor == id) return static_cast<int>(s);
  }
  const TensorId source = resolve(id);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (int c : steps[s].calls) {
      if (calls[c].out == source) return static_cast<int>(s);
    }
  }
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (int c : steps[s].calls) {
      for (TensorId in : calls[c].in) {
        if (in == id || resolve(in) == source) return static_cast<int>(s);
      }
    }
  }
  return 0;
}

// Where the gradient comes in: the step that made the tensor, run in reverse. Of what no such
// step made (parameters, positions) the one that reads it.
int Program::backward_step_of(TensorId id) const {
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].tensor == id) return static_cast<int>(s);
  }
  const TensorId source = resolve(tensors[resolve(id)].source);
  const int maker = step_of(source);
  if (steps[maker].twin >= 0) return steps[maker].twin;
  for (const Step& step : steps) {
    if (step.backward || step.twin < 0) continue;
    for (int c : step.calls) {
      for (TensorId in : calls[c].in) {
        if (resolve(in) == source) return step.twin;
      }
    }
  }
  return static_cast<int>(forward_steps());
}

double call_flops(const Program& program, const OpCall& call) {
  const auto axes = [&](std::size_t i) -> std::span<const Axis> {
    if (i >= call.in.size()) return {};
    return program.tensors[place(call.in[i])].axes;
  };
  return call_flops(op_info(call.op), axes(0), program.tensors[place(call.out)].axes, axes(1));
}

std::vector<OpCall> calls_for(const Program& program, TensorId id) {
  std::vector<bool> needed(program.tensors.size(), false);
  needed[static_cast<std::size_t>(program.resolve(id))] = true;
  std::vector<OpCall> calls;
  for (std::size_t c = program.calls.size(); c-- > 0;) {
    const OpCall& call = program.calls[c];
    if (!needed[static_cast<std::size_t>(call.out)]) continue;
    for (const TensorId in : call.in) needed[static_cast<std::size_t>(program.resolve(in))] = true;
    calls.push_back(call);
  }
  std::reverse(calls.begin(), calls.end());
  return calls;
}

}  // namespace headlight
