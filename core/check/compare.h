// Two runs of one program on two backends, laid side by side: how far each result is off, and
// where.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/run/trace.h"

namespace headlight {

/// How far cells are from those that they should be.
struct CellDifference {
  double largest = 0;       // |got − expected|; infinite where one is no number and the other is
  std::int64_t place = -1;  // of the largest; -1 where all are equal
  /// Normalised mean square: Σ (got − expected)² / Σ expected². Infinite where the two do not agree
  /// on which cells are infinite or NaN.
  double error = 0;
};

/// `least` is the size (root mean square) that `expected` is taken to have at least, so that of
/// what rounding left the rounding is not measured. Both spans have the same length.
CellDifference difference(std::span<const float> got, std::span<const float> expected,
                          double least = 0);

/// What is asked of an operation in a whole run. A result also has the errors of what it was made
/// from, so no more is asked of it than of those.
struct ErrorLimits {
  double sums = 1e-10;  // cell by cell, and sums of products: 1e-5 of the size, squared
  double rows = 1e-9;   // softmax, norms, activations, losses
  double of(Op) const;
  /// Where a graphics card's own arithmetic is at work.
  static ErrorLimits of_hardware() { return {1e-7, 1e-7}; }
};

/// One result of a run, or a gradient of its backward pass.
struct CallDifference {
  int call =
      -1;  // its place in Program::calls: what made the result, or what completed the gradient
  int step = -1;  // that shows it
  TensorId tensor = -1;
  bool backward = false;
  CellDifference cells;
  std::vector<std::int64_t> index;  // of the largest difference; empty where all are equal
  double limit = 0;                 // of cells.error: ErrorLimits, or that of what it was made from
  bool within() const { return cells.error <= limit; }
};

/// In the order in which they were computed.
struct Comparison {
  std::vector<CallDifference> calls;
  std::optional<std::size_t> first_beyond;  // the first that is not within its limit
};

/// `got` beside `expected`: two traces of equal programs and inputs, with the backward pass where
/// they have one. Throws UsageError for traces of different programs or tokens.
Comparison compare_traces(const Trace& got, const Trace& expected, const ErrorLimits& limits = {});

}  // namespace headlight
