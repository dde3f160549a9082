// Backend: runs operations over memory. The reference one is slow and plain; the others must agree
// with it.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/program.h"

namespace headlight {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Can this call be run, shapes and device limits included?
  virtual bool supports(const Program&, const OpCall&) const = 0;
  /// Runs the calls in order. `memory[id]` is where tensor `id` lives (aliases share); every input
  /// of a call is written before the call. Allocates nothing when run again with the same shapes.
  virtual void run(const Program&, std::span<const OpCall>, std::span<float* const> memory) = 0;
};

/// Plain loops in axis order, sums in double: the numbers that the others are measured against.
std::unique_ptr<Backend> make_reference_backend();

/// Eigen, on `threads` threads (at least 1). The result does not depend on their number.
std::unique_ptr<Backend> make_eigen_backend(int threads);

/// "reference" or "eigen"; throws UsageError for any other name.
std::unique_ptr<Backend> make_backend(std::string_view name, int threads);

}  // namespace headlight
