#include "core/train/optim/schedule.h"

#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "core/base/error.h"
#include "core/train/optim/check_number.h"

namespace headlight {
namespace {
constexpr std::array kSchedules = {Choice<ScheduleKind>{ScheduleKind::kConstant, "constant"},
                                   Choice<ScheduleKind>{ScheduleKind::kCosine, "cosine"}};
}  // namespace

std::span<const Choice<ScheduleKind>> choices(ScheduleKind) { return kSchedules; }

void validate(const Schedule& s) {
  constexpr double kMaxSteps = 1e12, kUsualRate = 1e-3;
  expect_number("quantity.learning_rate", s.peak, 1e-9, 100, kUsualRate);
  expect_number("quantity.final_rate", s.floor, 0, s.peak, 0);
  expect_number("quantity.warmup", static_cast<double>(s.warmup), 0, kMaxSteps, 0);
  expect_number("quantity.steps", static_cast<double>(s.steps), 1, kMaxSteps, 1000);
  if (s.kind == ScheduleKind::kCosine && s.warmup >= s.steps) {
    throw UsageError(
        Message{"schedule.warmup_too_long",
                {{"warmup", std::to_string(s.warmup)}, {"steps", std::to_string(s.steps)}}});
  }
}

double learning_rate(const Schedule& s, std::int64_t step) {
  if (step < s.warmup) {
    return s.peak * static_cast<double>(step + 1) / static_cast<double>(s.warmup);
  }
  if (s.kind == ScheduleKind::kConstant) return s.peak;
  if (step >= s.steps) return s.floor;
  const double part =
      static_cast<double>(step - s.warmup) / static_cast<double>(s.steps - s.warmup);
  return s.floor + (s.peak - s.floor) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

}  // namespace headlight
