#include "core/train/metrics/curve_summary.h"

#include <cmath>

namespace headlight {
namespace {

void take_in(CurvePiece& piece, const CurvePiece& more) {
  for (std::size_t v = 0; v < kStepValues; ++v) {
    const auto &low = more.low[v], &high = more.high[v];
    if (low.step < 0) continue;
    if (piece.low[v].step < 0 || low.value < piece.low[v].value) piece.low[v] = low;
    if (piece.high[v].step < 0 || high.value > piece.high[v].value) piece.high[v] = high;
  }
}

}  // namespace

double step_value(const TrainStep& step, StepValue value) {
  switch (value) {
    case StepValue::kNorm:
      return step.gradient_norm;
    case StepValue::kRate:
      return step.learning_rate;
    case StepValue::kClassLoss:
      return step.loss - step.hidden_loss;
    case StepValue::kHiddenLoss:
      return step.hidden_loss;
    default:
      return step.loss;
  }
}

void CurveSummary::add(const TrainStep& step) {
  CurvePiece piece;
  for (std::size_t v = 0; v < kStepValues; ++v) {
    const double value = step_value(step, static_cast<StepValue>(v));
    if (std::isfinite(value)) piece.low[v] = piece.high[v] = {step.step, value};
  }
  if (!pieces_.empty() && in_last_ < width_) {
    take_in(pieces_.back(), piece);
    ++in_last_;
    return;
  }
  if (pieces_.size() == kMaxPieces) {
    for (std::size_t i = 0; i < kMaxPieces / 2; ++i) {
      CurvePiece both = pieces_[2 * i];
      take_in(both, pieces_[2 * i + 1]);
      pieces_[i] = both;
    }
    pieces_.resize(kMaxPieces / 2);
    width_ *= 2;
  }
  pieces_.push_back(piece);
  in_last_ = 1;
}

}  // namespace headlight
