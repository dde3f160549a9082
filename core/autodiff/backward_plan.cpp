#include "core/autodiff/backward_plan.h"

#include <algorithm>

namespace headlight {
namespace {

// May a gradient reach input i of this call?
bool passes(const Program& program, const OpCall& call, std::size_t i) {
  if (op_info(call.op).is_fixed(i)) return false;
  return program.tensors[place(program.resolve(call.in[i]))].kind != TensorKind::kInput;
}

}  // namespace

// First, from the end, what leads to L and how often each tensor is read on the way. Then, again
// from the end, whether a gradient is the first to reach a tensor: it is written, later ones are
// added, and nothing has to be cleared before a backward pass.
BackwardPlan plan_backward(const Program& p, std::span<const TensorId> seeds) {
  const std::size_t count = p.tensors.size();
  std::vector<bool> leads(count, false);
  for (const TensorId seed : seeds) leads[place(p.resolve(seed))] = true;
  const std::vector<bool> seeded = leads;
  std::vector<int> uses(count, 0);
  for (std::size_t c = p.calls.size(); c-- > 0;) {
    const OpCall& call = p.calls[c];
    for (std::size_t i = 0; leads[place(call.out)] && i < call.in.size(); ++i) {
      if (!passes(p, call, i)) continue;
      leads[place(p.resolve(call.in[i]))] = true;
      ++uses[place(p.resolve(call.in[i]))];
    }
  }
  BackwardPlan plan;
  for (std::size_t id = 0; id < count; ++id) {
    plan.owners.push_back(p.resolve(static_cast<TensorId>(id)));
  }
  std::vector<bool> reached = seeded;
  for (std::size_t c = p.calls.size(); c-- > 0;) {
    const OpCall& call = p.calls[c];
    if (!leads[place(call.out)]) continue;
    BackwardCall step{static_cast<int>(c), {}};
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      if (!passes(p, call, i)) continue;
      const std::size_t source = place(p.resolve(call.in[i]));
      const bool activation = p.tensors[source].kind == TensorKind::kActivation;
      if (op_info(call.op).shares_gradient && activation && uses[source] == 1 && !seeded[source]) {
        // A summand that nothing else reads has the sum's gradient: one memory for both.
        plan.owners[source] = plan.owners[place(call.out)];
      } else {
        step.uses[i] = reached[source] ? GradientUse::kAdded : GradientUse::kWritten;
      }
      reached[source] = true;
    }
    const bool idle = std::all_of(step.uses.begin(), step.uses.end(),
                                  [](GradientUse use) { return use == GradientUse::kNone; });
    if (!idle) plan.calls.push_back(step);
  }
  for (TensorId& owner : plan.owners)
    owner = plan.owners[place(owner)];  // aliases of such summands
  return plan;
}

}  // namespace headlight
