// CurveSummary: a run's curves in a few thousand pieces, however long the run is, so that a chart
// costs the same after a million steps.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/train/learner.h"

namespace headlight {

/// The last two of a run that learns both: their sum is the loss.
enum class StepValue { kLoss, kNorm, kRate, kClassLoss, kHiddenLoss };
inline constexpr std::size_t kStepValues = 5;
double step_value(const TrainStep&, StepValue);

/// A stretch of steps: the lowest and the highest of each value, and where they are. Values that
/// are no number are left out; with none, the steps are −1.
struct CurvePiece {
  struct Extreme {
    std::int64_t step = -1;
    double value = 0;
  };
  std::array<Extreme, kStepValues> low, high;
};

class CurveSummary {
 public:
  void add(const TrainStep&);
  std::span<const CurvePiece> pieces() const { return pieces_; }
  /// Steps of a piece; doubles when there are too many pieces.
  std::int64_t width() const { return width_; }
  static constexpr std::size_t kMaxPieces = 4096;

 private:
  std::vector<CurvePiece> pieces_;
  std::int64_t width_ = 1, in_last_ = 0;
};

}  // namespace headlight
