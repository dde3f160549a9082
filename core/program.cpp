#include "core/program.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/similar.h"

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
                   did_you_mean(name, names) + "`headlight trace --list` names them all");
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

int Program::step_of(TensorId id) const {
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
