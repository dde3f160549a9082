// Experts and a gate learn a curve of two straight parts by gradient descent, in plain loops,
// beside one network without a gate.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace headlight {

inline constexpr std::size_t kCurvePoints = 64;
/// Where the points lie, and how high: at 0 the curve jumps.
double curve_x(std::size_t point);
double curve_y(double x);

struct MixedLines {
  std::vector<double> gate, lines;  // (point, expert)
  std::vector<double> mean;         // of the experts, by the gate's weights
  double error = 0, alone = 0;      // mean square: of that mean, and of the best expert alone
};

struct LearnedCurve {
  std::vector<float> lines_before, net_before;  // what they began with: (4, expert), (3, unit)
  MixedLines mixed;
  std::vector<double> net_says;
  std::vector<double> steps, errors, net_errors;  // every 50 steps
};

/// `competition`: each expert answers for itself (Jacobs et al. 1991); else the squared error of
/// their mean is learned from. `tell` is given the share that is done.
LearnedCurve learn_curve(std::uint64_t draw, std::size_t experts, bool competition,
                         const std::function<void(double)>& tell);

}  // namespace headlight
