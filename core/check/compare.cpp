#include "core/check/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/autodiff/gradient_program.h"
#include "core/base/error.h"

namespace headlight {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double root_mean_square(std::span<const float> cells) {
  double sum = 0;
  for (const float cell : cells) sum += static_cast<double>(cell) * cell;
  return cells.empty() ? 0 : std::sqrt(sum / static_cast<double>(cells.size()));
}

CallDifference compared(const Trace& got, const Trace& expected, TensorId tensor, double least) {
  CallDifference d;
  d.tensor = tensor;
  d.step = expected.program().step_of(tensor);
  const TensorView cells = expected.tensor(tensor);
  d.cells = difference(got.tensor(tensor).cells(), cells.cells(), least);
  if (d.cells.place >= 0) d.index = unravel(cells.axes, d.cells.place);
  return d;
}

// Gradients well below those of the parameters are what rounding left of sums that cancel.
double least_gradient(const Trace& trace) {
  const Program& program = trace.program();
  double sum = 0, cells = 0;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorId d = program.gradient(static_cast<TensorId>(id));
    if (program.tensors[id].kind != TensorKind::kParameter || d < 0) continue;
    const TensorView gradient = trace.tensor(d);
    const auto size = static_cast<double>(gradient.size());
    sum += std::pow(root_mean_square(gradient.cells()), 2) * size;
    cells += size;
  }
  return cells > 0 ? 1e-3 * std::sqrt(sum / cells) : 0;
}

// What only makes the probabilities has no part in the loss.
bool has_gradient(const Program& program, const OpCall& call) {
  return call.out == program.loss || program.gradient(program.resolve(call.out)) >= 0;
}

// What is known of one result, or of one gradient, for what is made from it.
struct Known {
  double limit = 0;
  double error = 0;
};

// Of a call or of its gradients: no result is asked to be nearer than what it was made from, nor
// one of numbers that nearly cancel nearer than their errors make it.
double limit_of(const Trace& trace, const OpCall& call, std::span<const Known> results,
                const ErrorLimits& limits) {
  const Program& program = trace.program();
  const OpInfo& info = op_info(call.op);
  double limit = limits.of(call.op);
  for (const TensorId in : call.in)
    limit = std::max(limit, results[place(program.resolve(in))].limit);
  if (!info.error_growth) return limit;
  const TensorView first = trace.tensor(call.in[0]);
  const double growth = info.error_growth({{&first, 1}, trace.tensor(call.out), call.params});
  // Four times as much: the errors of those cells that count may be larger than the others'.
  const double error = 16 * results[place(program.resolve(call.in[0]))].error;
  return error > 0 ? std::max(limit, error * growth * growth) : limit;
}

// Terms that nearly cancel leave their errors and little else. How many times as much they are as
// their sums, squared, over some of the gradient's cells.
double cancelled(const Trace& trace, TensorId gradient) {
  constexpr std::int64_t kLooked = 64, kApart = 7919;  // a prime, so not all of one column
  const Program& program = trace.program();
  const TensorView cells = trace.tensor(gradient);
  const auto parts =
      gradient_parts(program, program.tensors[place(program.resolve(gradient))].source);
  double terms = 0, sums = 0;
  for (std::int64_t k = 0; k < kLooked; ++k) {
    const std::int64_t i = k * kApart % cells.size();
    sums += static_cast<double>(cells.data[i]) * cells.data[i];
    for (const GradientPart& part : parts) {
      const OpCall& call = program.calls[place(part.call)];
      const OpInfo& info = op_info(call.op);
      if (!info.explain_gradient) continue;
      std::vector<TensorView> in;
      for (const TensorId id : call.in) in.push_back(trace.tensor(id));
      const OpGradArgs args{in,
                            trace.tensor(call.out),
                            call.params,
                            trace.tensor(program.gradient(call.out)).data,
                            {}};
      const auto index = unravel(in[place(part.input)].axes, i);
      for (const OpTerm& term : info.explain_gradient(args, part.input, index).terms)
        terms += std::pow(term.value * term.factor, 2);
    }
  }
  return sums > 0 && std::isfinite(terms) ? std::max(1.0, terms / sums) : 1;
}

// Gradients in the order in which the backward pass completes them: with the first call that reads
// a tensor, which runs last in reverse.
void add_gradients(const Trace& got, const Trace& expected, const ErrorLimits& limits,
                   std::span<const Known> results, Comparison& comparison) {
  const Program& program = expected.program();
  std::vector<int> first_reader(program.tensors.size(), -1);
  for (std::size_t c = program.calls.size(); c-- > 0;) {
    if (!has_gradient(program, program.calls[c])) continue;
    for (const TensorId in : program.calls[c].in)
      first_reader[place(program.resolve(in))] = static_cast<int>(c);
  }
  const double least = least_gradient(expected);
  std::vector<bool> seen(program.tensors.size());
  std::vector<double> limit(program.tensors.size());
  for (std::size_t c = program.calls.size(); c-- > 0;) {
    const OpCall& call = program.calls[c];
    if (!has_gradient(program, call)) continue;
    const double asked = std::max(limit[place(program.resolve(call.out))],
                                  limit_of(expected, call, results, limits));
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const std::size_t source = place(program.resolve(call.in[i]));
      const TensorId gradient = program.gradient(static_cast<TensorId>(source));
      if (gradient < 0) continue;
      limit[source] = std::max(limit[source], asked);
      if (seen[source] || first_reader[source] != static_cast<int>(c)) continue;
      if (!expected.tensor(gradient).data || !got.tensor(gradient).data) continue;
      seen[source] = true;
      double size = least;
      // The gradient of the keys' bias, which softmax does not feel, is all rounding: that of a
      // bias is measured against at least the size of its weights'.
      if (op_info(call.op).inputs[i] == InputKind::kHeadBias) {
        const TensorId weight = program.gradient(call.in[1]);
        size = std::max(size, root_mean_square(expected.tensor(weight).cells()));
      }
      CallDifference d = compared(got, expected, gradient, size);
      d.call = static_cast<int>(c);
      d.backward = true;
      d.limit = limit[source];
      // Four times as much: the errors of those terms that count may be twice the others'. What is
      // made from it does not inherit that, so it does not add up from step to step.
      if (!d.within()) d.limit = 4 * (limit[source] *= cancelled(expected, gradient));
      comparison.calls.push_back(std::move(d));
    }
  }
}

}  // namespace

CellDifference difference(std::span<const float> got, std::span<const float> expected,
                          double least) {
  CellDifference d;
  double error = 0, power = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double g = got[i], e = expected[i];
    double off = std::fabs(g - e);
    if (!std::isfinite(g) || !std::isfinite(e)) {
      off = g == e || (std::isnan(g) && std::isnan(e)) ? 0 : kInfinity;
    } else {
      power += e * e;
    }
    error += off * off;
    if (off <= d.largest) continue;
    d.largest = off;
    d.place = static_cast<std::int64_t>(i);
  }
  power = std::max(power, least * least * static_cast<double>(expected.size()));
  d.error = error == 0 || error == kInfinity || power == 0 ? error : error / power;
  return d;
}

double ErrorLimits::of(Op op) const {
  return op_info(op).errors == ErrorClass::kRows ? rows : sums;
}

Comparison compare_traces(const Trace& got, const Trace& expected, const ErrorLimits& limits) {
  const Program &program = expected.program(), &other = got.program();
  const bool same = program.config == other.config && program.shape == other.shape &&
                    program.tensors.size() == other.tensors.size() &&
                    program.calls.size() == other.calls.size() &&
                    program.gradients.size() == other.gradients.size() &&
                    got.input().ids == expected.input().ids &&
                    got.input().source_ids == expected.input().source_ids;
  if (!same) throw UsageError(Message{"compare.different"});
  Comparison comparison;
  std::vector<Known> results(program.tensors.size());
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    CallDifference d = compared(got, expected, program.calls[c].out, 0);
    d.call = static_cast<int>(c);
    d.limit = limit_of(expected, program.calls[c], results, limits);
    results[place(program.resolve(program.calls[c].out))] = {d.limit, d.cells.error};
    comparison.calls.push_back(std::move(d));
    for (const Trace* trace : {&got, &expected}) trace->forget(program.calls[c].out, 0);
  }
  if (!program.gradients.empty()) add_gradients(got, expected, limits, results, comparison);
  for (std::size_t i = 0; i < comparison.calls.size() && !comparison.first_beyond; ++i) {
    if (!comparison.calls[i].within()) comparison.first_beyond = i;
  }
  return comparison;
}

}  // namespace headlight
