// The learning rate of each step: a pure function, so that a run that goes on after a break, or a
// curve in a chart, needs nothing but the number of the step.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/config.h"

namespace headlight {

enum class ScheduleKind { kConstant, kCosine };
/// "constant", "cosine"
std::span<const Choice<ScheduleKind>> choices(ScheduleKind);

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double peak = 1e-3;         // after the warm-up
  double floor = 0;           // cosine: where it ends
  std::int64_t warmup = 0;    // steps; 0: none
  std::int64_t steps = 1000;  // cosine: the length of the run, warm-up included
};

/// Throws UsageError: a rate that is not from 1e-9 to 100, a floor over the peak, no step at all, a
/// cosine whose warm-up takes all of them.
void validate(const Schedule&);

/// The rate of step `step`, counted from 0. During the warm-up peak · (step + 1) / warmup, so that
/// no step is lost and the last of them has the peak; then the peak, or
///
///   floor + (peak − floor) · (1 + cos(π · (step − warmup) / (steps − warmup))) / 2
///
/// (Loshchilov and Hutter 2017, equation 5, without restarts), and the floor from `steps` on.
double learning_rate(const Schedule&, std::int64_t step);

}  // namespace headlight
