// How long things take, by a clock that nobody sets.
#pragma once

#include <chrono>

namespace headlight {

/// Seconds since some moment: only differences mean something.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How long `work` takes.
template <class F>
double milliseconds(const F& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

}  // namespace headlight
