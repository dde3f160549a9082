#include "app/ui/state/compute_state.h"

#include <algorithm>
#include <cmath>

namespace headlight {

double CallTimes::of(const CallDifference& d) const {
  const auto& times = d.backward ? backward : forward;
  const auto found = times.find(d.call);
  return found == times.end() ? -1 : found->second;
}

std::optional<double> crossover(const std::vector<SizePoint>& points) {
  const auto wins = [](const SizePoint& p) { return p.gpu_ms < p.cpu_ms; };
  std::size_t first = points.size();
  while (first > 0 && wins(points[first - 1])) --first;
  if (first == points.size()) return std::nullopt;
  const SizePoint& after = points[first];
  if (first == 0) return static_cast<double>(after.tokens);
  // Where the ratio of the times is 1, on a straight line between the two points.
  const SizePoint& before = points[first - 1];
  const double a = std::log(before.gpu_ms / before.cpu_ms);
  const double b = std::log(after.gpu_ms / after.cpu_ms);
  const double part = a <= 0 ? 0 : a / (a - b);
  const double from = std::log(static_cast<double>(before.tokens));
  const double to = std::log(static_cast<double>(after.tokens));
  return std::exp(from + part * (to - from));
}

std::string short_device(const std::string& renderer) {
  const std::size_t end = std::min(renderer.find(" ("), renderer.find('/'));
  return renderer.substr(0, std::min(end, std::size_t{40}));
}

}  // namespace headlight
