// The machine's own limit, beside which the figures stand: a large product of matrices by Eigen.
#pragma once

// GCC 12 takes the deliberately undefined registers inside its own intrinsics for mistakes.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <Eigen/Core>
#include <chrono>

#include "core/base/thread_pool.h"

namespace headlight {

/// Seconds that f() takes.
template <class F>
double seconds(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A product of two square matrices by Eigen, its columns split between the threads.
class EigenProduct {
 public:
  explicit EigenProduct(int threads) : pool_(threads) {
    left_.setRandom(kSize, kSize);
    right_.setRandom(kSize, kSize);
    result_.setZero(kSize, kSize);
  }
  static constexpr Eigen::Index kSize = 2048;
  static double flops() { return 2.0 * kSize * kSize * kSize; }

  void run() {
    const Eigen::Index parts = pool_.threads();
    pool_.parallel_for(parts, [&](std::int64_t part, int) {
      const Eigen::Index begin = kSize * part / parts, end = kSize * (part + 1) / parts;
      result_.middleCols(begin, end - begin).noalias() =
          left_ * right_.middleCols(begin, end - begin);
    });
  }

 private:
  ThreadPool pool_;
  Eigen::MatrixXf left_, right_, result_;
};

}  // namespace headlight
