// A recurrent layer (Elman 1990, "Finding structure in time"): the state at each token is made of
// the token's row and of the state before, so that no step can begin before the last one is done.
#include <cmath>

#include "core/ops/mixers/recurrent.h"

namespace headlight {
namespace {

using recurrent::at;
using recurrent::Sizes;
using recurrent::StepOfRun;
using recurrent::Tangent;

// a (batch, position, state), U (state, next_state), present (batch, position)
//   -> (batch, position, state)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  constexpr std::string_view kExpected =
      "a (batch, position, n), U (n, n) and present (batch, position)";
  if (in.size() > 3) shape_error("recurrence", in, kExpected);
  return recurrent::shape("recurrence", in, 1, kExpected);
}

// What number j of the state was before its tanh: a[t, j] + Σ_k s[t − 1, k] · U[k, j]
double before_tanh(const StepOfRun& step, std::int64_t j) {
  const std::int64_t n = step.sizes.states;
  double sum = step.a(1)[j];
  for (std::int64_t k = 0; step.before >= 0 && k < n; ++k)
    sum += step.past(k) * step.in[1].data[k * n + j];
  return sum;
}

// s[t] = tanh(a[t] + s[t − 1] · U), from s[−1] = 0; reversed, from the last row to the first with
// s[t + 1]. Where row t is padding, the state stays what it is.
void forward(const OpArgs& args) {
  const Sizes z = recurrent::sizes_of(args.in);
  TensorView made = args.out;
  made.data = args.result;
  for (std::int64_t b = 0; b < z.batch; ++b) {
    for (std::int64_t i = 0; i < z.positions; ++i) {
      const std::int64_t row = recurrent::row_of_step(i, z.positions, args.params.reversed);
      const StepOfRun step = recurrent::step_of_run(args.in, made, args.params.reversed, b, row);
      for (std::int64_t j = 0; j < z.states; ++j) {
        const double s = step.is_token() ? std::tanh(before_tanh(step, j)) : step.past(j);
        args.result[(b * z.positions + row) * z.states + j] = static_cast<float>(s);
      }
    }
  }
}

// From the last step to the first, where D is what the steps behind t pass back (0 behind the
// last): G = ds[t] + D, da[t] += G · (1 − s[t]²), and for the step before D = da[t] · Uᵀ.
// dU[k, j] += Σ_t s[t − 1, k] · da[t, j]
void backward(const OpGradArgs& args) {
  const Sizes z = recurrent::sizes_of(args.in);
  const std::int64_t n = z.states;
  const float* u = args.in[1].data;
  std::vector<double> d_u(static_cast<std::size_t>(n * n), 0.0);
  for (std::int64_t b = 0; b < z.batch; ++b) {
    std::vector<double> back(static_cast<std::size_t>(n), 0.0), d_a = back;
    for (std::int64_t i = z.positions - 1; i >= 0; --i) {
      const std::int64_t row = recurrent::row_of_step(i, z.positions, args.params.reversed);
      const std::int64_t begin = (b * z.positions + row) * n;
      const StepOfRun step =
          recurrent::step_of_run(args.in, args.out, args.params.reversed, b, row);
      for (std::int64_t j = 0; j < n; ++j) back[at(j)] += args.d_out[begin + j];
      if (!step.is_token()) continue;
      for (std::int64_t j = 0; j < n; ++j) {
        const double s = step.state()[j];
        d_a[at(j)] = back[at(j)] * (1 - s * s);
        if (args.d_in[0])
          args.d_in[0][begin + j] = static_cast<float>(args.d_in[0][begin + j] + d_a[at(j)]);
      }
      for (std::int64_t k = 0; k < n; ++k) {
        double sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          sum += d_a[at(j)] * u[k * n + j];
          d_u[at(k * n + j)] += step.past(k) * d_a[at(j)];
        }
        back[at(k)] = sum;
      }
    }
  }
  for (std::int64_t i = 0; args.d_in[1] && i < n * n; ++i)
    args.d_in[1][i] = static_cast<float>(args.d_in[1][i] + d_u[at(i)]);
}

constexpr const char* kFormula = "tanh(a[t, j] + Σ_k s[t − 1, k] · U[k, j])";

// tanh(p) is written as p · tanh(p) / p, so that what p is made of adds up to it.
OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const StepOfRun step =
      recurrent::step_of_run(args.in, args.out, args.params.reversed, index[0], index[1]);
  const std::int64_t n = step.sizes.states, j = index[2];
  if (!step.is_token()) return recurrent::kept_state(step, j, "s[t − 1, j]");
  const double p = before_tanh(step, j), share = p == 0 ? 1.0 : std::tanh(p) / p;
  OpExplanation result;
  result.formula = kFormula;
  result.quantities = {{"p", p}, {"tanh(p) / p", share}};
  result.written = {math("tanh(", "\\tanh("), math(p), math(")", ")")};
  const std::vector<std::int64_t> own(index.begin(), index.end());
  result.terms.push_back({{0, own}, args.in[0].at(own), share, {}, "tanh(p) / p"});
  for (std::int64_t k = 0; step.before >= 0 && k < n; ++k) {
    const std::vector<std::int64_t> weight = {k, j};
    result.terms.push_back({{kResultCell, step.past_cell(k)},
                            step.past(k),
                            share * args.in[1].at(weight),
                            {{1, weight}},
                            "U · tanh(p) / p"});
  }
  return result;
}

// s[t, j] grows by (1 − s²) of what it is the tanh of.
Tangent tangent(const StepOfRun& step, const Tangent& before, int input,
                std::span<const std::int64_t> index) {
  const std::int64_t n = step.sizes.states;
  Tangent grows(before.size());
  for (std::int64_t j = 0; j < n; ++j) {
    double p = 0;
    for (std::int64_t k = 0; k < n; ++k) p += before[at(k)] * step.in[1].data[k * n + j];
    if (input == 0 && index[1] == step.row && index[2] == j) p += 1;
    if (input == 1 && index[1] == j) p += step.past(index[0]);
    const double s = step.state()[j];
    grows[at(j)] = (1 - s * s) * p;
  }
  return grows;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input == 2) return without_gradient();
  return recurrent::through_time(
      args, input, index, tangent,
      input == 0 ? "Σ_τ ds[τ] · ∂s[τ] / ∂a[t, j]" : "Σ_τ ds[τ] · ∂s[τ] / ∂U[k, j]");
}

std::string code(const CodeArgs& c, bool torch) {
  const std::string library = torch ? "torch" : "np";
  return recurrent::loop_code(
      c, "        state = " + library + ".tanh(" + c.in[0] + "[t] + state @ " + c.in[1] + ")\n",
      torch);
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  constexpr std::string_view kWhole[] = {""};
  return recurrent::panes(args, kWhole);
}

}  // namespace

const OpInfo& recurrence_op() {
  static const OpInfo info{
      .op = Op::kRecurrence,
      .id = "recurrence",
      .phrase = "the state after each token, from the one before",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = [](const CodeArgs& c) { return code(c, false); },
      .torch = [](const CodeArgs& c) { return code(c, true); },
      .inputs = {InputKind::kNumbers, InputKind::kNumbers, InputKind::kPresence},
      .errors = ErrorClass::kRows,
      .work = {.flops = 3, .per = WorkPer::kTerm},
      .trials = {"b 3 n, n n, b 3"},
      .is_sequential = true,
  };
  return info;
}

}  // namespace headlight
