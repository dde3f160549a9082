// What a builder of programs is made of: tensors, operations and steps are added to the end of a
// program, each with its role and its place. Which ones, and in which order, the builder knows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

class ProgramPieces {
 protected:
  ProgramPieces(const Config& config, const RunShape& shape) : c(config) {
    p.config = config;
    p.shape = shape;
  }

  // A tensor to be made: its name, in the layers without "blocks.0.", and what it is for.
  struct Named {
    std::string name;
    Role role{};
  };

  Axis batch() const { return {"batch", p.shape.batch}; }
  Axis position() const { return {"position", p.shape.positions}; }
  Axis source() const { return {"source", p.shape.source}; }
  Axis d_model() const { return {"d_model", c.d_model}; }
  int next_call() const { return static_cast<int>(p.calls.size()); }
  const std::vector<Axis>& axes_of(TensorId id) const { return p.tensors[id].axes; }

  TensorId add(Named named, std::vector<Axis> axes, TensorKind kind, TensorId source = -1) {
    const auto id = static_cast<TensorId>(p.tensors.size());
    p.by_name.emplace(named.name, id);
    p.tensors.push_back({std::move(named.name),
                         std::move(axes),
                         kind,
                         source,
                         named.role,
                         {stack_, section_, layer_},
                         std::string(role_info(named.role).symbol)});
    return id;
  }

  TensorId input(std::string name, std::vector<Axis> axes, Role role) {
    return add({std::move(name), role}, std::move(axes), TensorKind::kInput);
  }

  TensorId parameter(const std::string& name, std::vector<Axis> axes, Role role) {
    const TensorId id = add({name, role}, std::move(axes), TensorKind::kParameter);
    p.tensors[id].file_name = name;
    return id;
  }

  // Another name for a tensor that a switched-off step would only have copied.
  TensorId alias(const Named& named, TensorId source, std::vector<Axis> axes) {
    const std::string full = prefix_ + named.name;
    if (p.tensors[source].name == full) return source;
    return add({full, named.role}, std::move(axes), TensorKind::kAlias, source);
  }

  // With another symbol in figures than what its role has.
  TensorId called(std::string symbol, TensorId id) {
    p.tensors[id].symbol = std::move(symbol);
    return id;
  }

  TensorId compute(Op op, std::vector<TensorId> in, const Named& named, OpParams params = {}) {
    std::vector<TensorView> views;
    for (TensorId id : in) views.push_back(p.look(id));
    const TensorId out = add({prefix_ + named.name, named.role}, op_info(op).shape(views, params),
                             TensorKind::kActivation);
    p.calls.push_back({op, std::move(in), out, params});
    return out;
  }

  // A step of the calls from `first` on.
  void show(StepRow row, std::size_t first, TensorId tensor) {
    std::vector<int> calls;
    for (std::size_t i = first; i < p.calls.size(); ++i) calls.push_back(static_cast<int>(i));
    p.steps.push_back({std::move(row), section_, layer_, std::move(calls), tensor, stack_});
  }

  // One operation, and the step that shows it.
  TensorId call(StepRow row, Op op, std::vector<TensorId> in, const Named& named,
                OpParams params = {}) {
    const std::size_t first = p.calls.size();
    const TensorId out = compute(op, std::move(in), named, params);
    show(std::move(row), first, out);
    return out;
  }

  TensorId linear(StepRow row, TensorId x, TensorId w, const Named& bias, const Named& named) {
    return linear(std::move(row), x, w, bias, named, c.bias);
  }
  TensorId linear(StepRow row, TensorId x, TensorId w, const Named& bias, const Named& named,
                  bool has_bias) {
    std::vector<TensorId> in = {x, w};
    if (has_bias) in.push_back(parameter(bias.name, {axes_of(w).back()}, bias.role));
    return call(std::move(row), Op::kLinear, std::move(in), named);
  }

  const Config& c;
  Program p;
  Stack stack_ = Stack::kOnly;
  Section section_ = Section::kInput;
  int layer_ = -1;             // -1 outside the layers
  std::string root_, prefix_;  // "decoder.", "decoder.blocks.0."
};

}  // namespace headlight
