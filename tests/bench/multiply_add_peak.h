// The machine's own limit: how many multiply-adds its threads can do when nothing else holds them
// up. No memory is read, and no sum waits for another.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/thread_pool.h"

namespace headlight {

class MultiplyAddPeak {
 public:
  explicit MultiplyAddPeak(int threads);

  /// Floating-point operations of one run, on all threads together: 2 for each multiply-add.
  double flops() const;
  /// Takes some tens of milliseconds.
  void run();

 private:
  ThreadPool pool_;
  std::vector<float> sums_;  // one of each thread, so that the loops have a result
};

}  // namespace headlight
