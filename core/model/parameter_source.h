// Where a model's parameters come from: the sandbox makes them from a seed; checkpoints will read
// them from files.
#pragma once

#include <memory>

#include "core/program.h"
#include "core/trace.h"

namespace headlight {

class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  /// The parameter that `spec` names, of exactly its shape.
  virtual std::shared_ptr<const Tensor> parameter(const TensorSpec& spec, const RunInput&) = 0;
};

}  // namespace headlight
