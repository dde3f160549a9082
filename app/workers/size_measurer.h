// Time against size: one document run with more and more tokens, on the processor and on the
// graphics card.
#pragma once

#include <memory>

#include "app/ui/state/compute_state.h"
#include "core/run/runner.h"

namespace headlight {

class Gpu;
struct RunRequest;

/// Runs with memory and a backend of its own, so that what is shown keeps its.
class SizeMeasurer {
 public:
  SizeMeasurer(RunLimits, std::unique_ptr<Backend>);
  /// Measures twice as many tokens as the chart's last point has, and adds them to it. Is a further
  /// point worth its time? What went wrong, if anything, stands in SizeChart::problem.
  bool add_point(const RunRequest&, Gpu&, SizeChart&);
  /// The processor's.
  Backend& backend() { return *backend_; }

 private:
  Runner runner_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace headlight
