// A gate at which the threads of a test wait until they are let through, so that what happens while
// something is slow can be looked at step by step.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>

namespace headlight::test {

class Gate {
 public:
  /// Waits until it may go on: at once, as long as the gate is open. Nobody waits for ever: a test
  /// that never opens it fails.
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    const bool opened = changed_.wait_for(lock, kLongest, [this] { return left_ > 0; });
    if (!opened) stuck_ = true;
    if (left_ != kOpen) --left_;
    ++passed_;
  }
  void close() { set(0); }
  void open() { set(kOpen); }
  void let_through(int count) { set(count); }

  /// Waits until so many have come to the gate, counted from its beginning.
  void wait_for(int arrived) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, kLongest, [&] { return arrived_ >= arrived; }));
  }
  int arrived() {
    const std::lock_guard lock(mutex_);
    return arrived_;
  }
  int passed() {
    const std::lock_guard lock(mutex_);
    return passed_;
  }
  /// Has somebody waited in vain?
  bool stuck() {
    const std::lock_guard lock(mutex_);
    return stuck_;
  }

 private:
  static constexpr int kOpen = std::numeric_limits<int>::max();
  static constexpr std::chrono::seconds kLongest{20};

  void set(int left) {
    const std::lock_guard lock(mutex_);
    left_ = left;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int left_ = kOpen, arrived_ = 0, passed_ = 0;
  bool stuck_ = false;
};

}  // namespace headlight::test
