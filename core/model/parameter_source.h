// Where a model's parameters come from: the sandbox makes them from a seed, a trained model has
// them.
#pragma once

#include <memory>

#include "core/graph/program.h"
#include "core/graph/run_input.h"

namespace headlight {

class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  /// The parameter that `spec` names: its cells in row-major order. A trained model's may go on
  /// with further rows, of positions that the run has not.
  virtual std::shared_ptr<const Tensor> parameter(const TensorSpec& spec, const RunInput&) = 0;
};

}  // namespace headlight
