#include "core/autodiff/gradient_program.h"

#include <algorithm>

#include "core/graph/step_names.h"

namespace headlight {
namespace {

void name_gradient(Program& p, TensorId of, TensorKind kind, TensorId source) {
  TensorSpec own = p.tensors[place(of)];
  own.name = gradient_name(own.name);
  own.kind = kind;
  own.source = source;
  own.symbol = own.symbol.find(' ') == own.symbol.npos ? "d" + own.symbol : "d(" + own.symbol + ")";
  const auto id = static_cast<TensorId>(p.tensors.size());
  p.by_name.emplace(own.name, id);
  p.tensors.push_back(std::move(own));
  p.gradients[place(of)] = id;
}

// The tensors that a gradient reaches, by TensorId; aliases go by their owners.
std::vector<bool> reached(const Backward& pass) {
  const Program& p = pass.program();
  std::vector<bool> all(p.tensors.size(), false);
  all[place(p.loss)] = true;
  for (std::size_t c = p.calls.size(); c-- > 0;) {
    const OpCall& call = p.calls[c];
    for (std::size_t i = 0; all[place(call.out)] && i < call.in.size(); ++i) {
      const std::size_t owner = place(p.resolve(call.in[i]));
      const bool fixed = op_info(call.op).is_fixed(i);
      if (!fixed && p.tensors[owner].kind != TensorKind::kInput) all[owner] = true;
    }
  }
  return all;
}

bool passes(const Program& p, const OpCall& call, std::size_t i) {
  return !op_info(call.op).is_fixed(i) && p.gradient(call.in[i]) >= 0 && p.gradient(call.out) >= 0;
}

bool goes_back(const Program& p, const Step& step) {
  return std::any_of(step.calls.begin(), step.calls.end(), [&](int c) {
    const OpCall& call = p.calls[static_cast<std::size_t>(c)];
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      if (passes(p, call, i)) return true;
    }
    return false;
  });
}

}  // namespace

Program with_gradients(const Backward& pass) {
  Program p = pass.program();
  const std::vector<bool> has = reached(pass);
  const std::size_t forward = p.tensors.size();
  p.gradients.assign(forward, -1);
  for (std::size_t id = 0; id < forward; ++id) {
    if (has[id]) {
      const auto of = static_cast<TensorId>(id);
      name_gradient(p, of, TensorKind::kGradient, of);
    }
  }
  for (std::size_t id = 0; id < forward; ++id) {
    const TensorId owner = p.gradients[place(p.resolve(static_cast<TensorId>(id)))];
    if (p.tensors[id].kind == TensorKind::kAlias && owner >= 0)
      name_gradient(p, static_cast<TensorId>(id), TensorKind::kAlias, owner);
  }
  for (std::size_t s = p.steps.size(); s-- > 0;) {
    if (!goes_back(p, p.steps[s])) continue;
    Step back = p.steps[s];
    back.tensor = p.gradient(back.tensor);
    back.backward = true;
    back.twin = static_cast<int>(s);
    p.steps[s].twin = static_cast<int>(p.steps.size());
    p.steps.push_back(std::move(back));
  }
  return p;
}

std::vector<GradientPart> gradient_parts(const Program& p, TensorId tensor) {
  std::vector<GradientPart> parts;
  const TensorId owner = p.resolve(tensor);
  for (std::size_t c = p.calls.size(); c-- > 0;) {
    const OpCall& call = p.calls[c];
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      if (p.resolve(call.in[i]) == owner && passes(p, call, i))
        parts.push_back({static_cast<int>(c), static_cast<int>(i)});
    }
  }
  return parts;
}

}  // namespace headlight
