// During long runs some cells are now and then computed again by the processor, from the numbers
// that the device has: a driver that turns wrong after its self-test is found before much is built
// on it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "app/gl/compute/tensors.h"
#include "core/base/error.h"
#include "core/check/cell_again.h"

namespace headlight {

/// The share of the time that a window and a training run let checks take.
inline constexpr double kSpotCheckShare = 0.01;

/// A result that is not as the processor finds it.
struct GlWrong {
  std::string name;  // of the operation ("softmax") or the optimizer ("adamw")
  enum class Kind { kForward, kBackward, kUpdate } kind = Kind::kForward;
  std::string shape;  // of the operation's result; of the parameter
  double error = 0, limit = 0;
};

/// Thrown for one. The message says what it is; of a training step also which steps are in doubt.
class WrongResult final : public Error {
 public:
  WrongResult(const Message& message, GlWrong what) : Error(message), wrong(std::move(what)) {}
  GlWrong wrong;
};

/// How far a cell may be off: its error is its difference, squared, over the square of the size of
/// what it is made of and stands among.
struct SpotJudge {
  double limit = 0;
  /// The error; infinite where one is no number and the other is.
  static double error(double got, double expected, double size);
};

/// When one is due, so that all of them together take no more than a share of the time, and what is
/// looked at.
class GlSpotChecks {
 public:
  GlSpotChecks(const GlCalls&, double share);

  void set_share(double share) { share_ = share; }
  double share() const { return share_; }
  /// A run of so many calls begins: which of them is to be checked; −1: none. Every second run that
  /// could have one has none, so that runs which take turns all have theirs.
  int choose(std::size_t calls);
  /// A number below `count`: another one each time.
  std::int64_t draw(std::int64_t count);
  /// Does the work, which is a check, and takes note of how long it takes; what the device had to
  /// do before does not count.
  template <class Work>
  void spend(const Work& work) {
    gl_.finish();
    const auto began = Clock::now();
    work();
    spent_ += std::chrono::duration<double>(Clock::now() - began).count();
  }
  /// A cell was as it should be, but for this share of what is allowed.
  void count_cell(double share_of_limit) {
    ++cells_;
    worst_ = std::max(worst_, share_of_limit);
  }
  std::int64_t cells() const { return cells_; }
  double worst() const { return worst_; }
  double seconds() const { return spent_; }

  /// These cells of a buffer, ascending, and nothing else of it. Valid until the next time.
  std::span<const float> bring(unsigned buffer, std::span<const std::int64_t> cells);

 private:
  using Clock = std::chrono::steady_clock;
  const GlCalls& gl_;
  double share_;
  Clock::time_point seen_;
  double passed_ = 0, spent_ = 0;  // seconds
  double worst_ = 0;
  std::uint64_t drawn_ = 0;
  std::int64_t cells_ = 0;
  GlTensors between_;  // slot 0: cells on their way
  std::vector<float> arrived_, wanted_;
};

}  // namespace headlight
