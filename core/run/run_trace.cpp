#include "core/run/run_trace.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/program_memory.h"

namespace headlight {

std::shared_ptr<const Trace> run_trace(std::shared_ptr<const Program> program, RunInput input,
                                       ParameterSource& weights, Backend& backend) {
  const RunShape& shape = program->shape;
  const bool fits = shape.batch == 1 && input.ids.size() == input.tokens.size() &&
                    static_cast<std::int64_t>(input.ids.size()) == shape.positions &&
                    static_cast<std::int64_t>(input.source_ids.size()) == shape.source &&
                    input.source_ids.size() == input.source_tokens.size();
  if (!fits) {
    throw UsageError("a run of one row of " + std::to_string(shape.positions) + " tokens and " +
                     std::to_string(shape.source) + " source tokens was expected; got " +
                     std::to_string(input.ids.size()) + " and " +
                     std::to_string(input.source_ids.size()));
  }
  auto trace = std::make_shared<Trace>();
  trace->arena_.resize(arena_cells(*program));
  trace->memory_.assign(program->tensors.size(), nullptr);
  trace->parameters_.assign(program->tensors.size(), nullptr);
  lay_out(*program, trace->arena_.data(), trace->memory_);
  for (std::size_t id = 0; id < program->tensors.size(); ++id) {
    if (program->tensors[id].kind != TensorKind::kParameter) continue;
    trace->parameters_[id] = weights.parameter(program->tensors[id], input);
    // Backends only write the outputs of calls, and no call writes a parameter.
    trace->memory_[id] = const_cast<float*>(trace->parameters_[id]->data.data());
  }
  share_aliases(*program, trace->memory_);
  fill_inputs(*program, input.ids, input.source_ids, trace->memory_);
  backend.set_constants(trace->parameters_);
  backend.run(*program, program->calls, trace->memory_);
  trace->program_ = std::move(program);
  trace->input_ = std::move(input);
  trace->backend_ = backend.name();
  return trace;
}

}  // namespace headlight
