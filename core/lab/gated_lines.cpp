#include "core/lab/gated_lines.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/random.h"

namespace headlight {

double curve_x(std::size_t i) {
  return -1 + 2 * static_cast<double>(i) / static_cast<double>(kCurvePoints - 1);
}
double curve_y(double x) { return x < 0 ? -0.8 - 1.2 * x : 0.5 + 0.4 * x; }

namespace {

constexpr int kCurveSteps = 2000, kCurveEvery = 50, kNetUnits = 3;
constexpr double kGateRate = 0.5, kNetRate = 0.1;
// How far an expert may miss a point and still count as the one that explains it.
constexpr double kSpread = 0.25;

// Expert e says slope · x + height, and the gate weighs it by softmax(turn · x + start).
struct Lines {
  std::vector<double> slope, height, turn, start;
};

MixedLines mix(const Lines& l) {
  const std::size_t experts = l.slope.size();
  MixedLines m;
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    const double x = curve_x(i), y = curve_y(x);
    std::vector<double> s;
    for (std::size_t e = 0; e < experts; ++e) s.push_back(l.turn[e] * x + l.start[e]);
    const double largest = std::ranges::max(s);
    double sum = 0, mean = 0;
    for (double& one : s) sum += one = std::exp(one - largest);
    std::size_t best = 0;
    for (std::size_t e = 0; e < experts; ++e) {
      m.gate.push_back(s[e] / sum);
      m.lines.push_back(l.slope[e] * x + l.height[e]);
      mean += m.gate.back() * m.lines.back();
      if (s[e] > s[best]) best = e;
    }
    m.mean.push_back(mean);
    const double miss = m.lines[i * experts + best] - y;
    m.error += (mean - y) * (mean - y) / kCurvePoints;
    m.alone += miss * miss / kCurvePoints;
  }
  return m;
}

// One step of gradient descent. "mean": the squared error of the experts' mean. "competition":
// −log Σ gate · exp(−miss² / 2σ²), times σ², in which each expert answers for itself (Jacobs et al.
// 1991, equation 1.3).
void step_lines(Lines& l, const MixedLines& m, bool competition) {
  const std::size_t experts = l.slope.size();
  Lines d{std::vector<double>(experts), std::vector<double>(experts), std::vector<double>(experts),
          std::vector<double>(experts)};
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    const double x = curve_x(i), y = curve_y(x), miss = m.mean[i] - y;
    const double *gate = &m.gate[i * experts], *line = &m.lines[i * experts];
    std::vector<double> explains(experts);  // how much of the point each expert does
    double sum = 0;
    for (std::size_t e = 0; e < experts; ++e)
      sum += explains[e] =
          gate[e] * std::exp(-(y - line[e]) * (y - line[e]) / (2 * kSpread * kSpread));
    for (std::size_t e = 0; e < experts; ++e) {
      const double share = sum > 0 ? explains[e] / sum : 0;
      const double d_line = competition ? share * (line[e] - y) : 2 * miss * gate[e];
      const double d_score =
          competition ? gate[e] - share : 2 * miss * gate[e] * (line[e] - m.mean[i]);
      d.slope[e] += d_line * x / kCurvePoints, d.height[e] += d_line / kCurvePoints;
      d.turn[e] += d_score * x / kCurvePoints, d.start[e] += d_score / kCurvePoints;
    }
  }
  for (std::size_t e = 0; e < experts; ++e) {
    l.slope[e] -= kGateRate * d.slope[e], l.height[e] -= kGateRate * d.height[e];
    l.turn[e] -= kGateRate * d.turn[e], l.start[e] -= kGateRate * d.start[e];
  }
}

// Three tanh units and no gate: Σ out · tanh(in · x + bias) + last.
struct Net {
  std::array<double, kNetUnits> in{}, bias{}, out{};
  double last = 0;
};

// The error before a step of gradient descent, and what it says of each point.
double step_net(Net& n, std::vector<double>& says) {
  Net d;
  double error = 0;
  says.clear();
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    const double x = curve_x(i), y = curve_y(x);
    std::array<double, kNetUnits> h{};
    double value = n.last;
    for (std::size_t u = 0; u < kNetUnits; ++u)
      value += n.out[u] * (h[u] = std::tanh(n.in[u] * x + n.bias[u]));
    says.push_back(value);
    error += (value - y) * (value - y) / kCurvePoints;
    const double back = 2 * (value - y) / kCurvePoints;
    d.last += back;
    for (std::size_t u = 0; u < kNetUnits; ++u) {
      const double inner = back * n.out[u] * (1 - h[u] * h[u]);
      d.out[u] += back * h[u], d.in[u] += inner * x, d.bias[u] += inner;
    }
  }
  for (std::size_t u = 0; u < kNetUnits; ++u) {
    n.in[u] -= kNetRate * d.in[u], n.bias[u] -= kNetRate * d.bias[u];
    n.out[u] -= kNetRate * d.out[u];
  }
  n.last -= kNetRate * d.last;
  return error;
}

}  // namespace

// The first weights are rounded to float32, because they are kept so.
LearnedCurve learn_curve(std::uint64_t number, std::size_t experts, bool competition,
                         const std::function<void(double)>& tell) {
  const std::uint64_t draw = scatter(number);
  LearnedCurve r;
  for (std::size_t i = 0; i < 4 * experts; ++i)
    r.lines_before.push_back(static_cast<float>(0.5 * normal(scatter(draw + 1), i)));
  for (std::size_t i = 0; i < 3 * kNetUnits; ++i)
    r.net_before.push_back(static_cast<float>(normal(scatter(draw + 2), i)));
  const auto part = [&](std::size_t p) {
    return std::vector<double>(
        r.lines_before.begin() + static_cast<std::ptrdiff_t>(p * experts),
        r.lines_before.begin() + static_cast<std::ptrdiff_t>((p + 1) * experts));
  };
  Lines lines{part(0), part(1), part(2), part(3)};
  Net net;
  for (std::size_t u = 0; u < kNetUnits; ++u) {
    net.in[u] = static_cast<double>(r.net_before[u]);
    net.bias[u] = static_cast<double>(r.net_before[kNetUnits + u]);
    net.out[u] = static_cast<double>(r.net_before[2 * kNetUnits + u]);
  }
  for (int step = 0; step <= kCurveSteps; ++step) {
    r.mixed = mix(lines);
    const double error = step_net(net, r.net_says);
    if (step % kCurveEvery == 0) {
      tell(static_cast<double>(step) / kCurveSteps);
      r.steps.push_back(step), r.errors.push_back(r.mixed.error), r.net_errors.push_back(error);
    }
    step_lines(lines, r.mixed, competition);
  }
  return r;
}

}  // namespace headlight
