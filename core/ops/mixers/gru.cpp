// The gated recurrent unit (Cho et al. 2014, "Learning Phrase Representations using RNN
// Encoder–Decoder"), in the form of PyTorch's nn.GRU: a gate says of each number of the state how
// much of it stays, so that what was read long ago can be kept unchanged.
#include <cmath>

#include "core/ops/mixers/gru.h"

namespace headlight {

using recurrent::at;
using recurrent::Sizes;
using recurrent::StepOfRun;
using recurrent::Tangent;

namespace {

constexpr std::int64_t kGates = 3;  // r, z, n side by side

// a (batch, position, gate), U (state, gate), present (batch, position), c (gate, may be left out)
//   -> (batch, position, state), with gate = 3 · state
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  return recurrent::shape("gru", in, kGates,
                          "a (batch, position, 3n), U (n, 3n), present (batch, position) and c "
                          "(3n)");
}

// Σ_k s[t − 1, k] · U[k, column] + c[column]
double from_past(const StepOfRun& step, std::int64_t column) {
  const std::int64_t n = step.sizes.states;
  double sum = step.in.size() > 3 ? step.in[3].data[column] : 0.0;
  for (std::int64_t k = 0; step.before >= 0 && k < n; ++k)
    sum += step.past(k) * step.in[1].data[k * kGates * n + column];
  return sum;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

GruGates gates_of(const StepOfRun& step, std::int64_t j) {
  const std::int64_t n = step.sizes.states;
  const float* a = step.a(kGates);
  GruGates g;
  g.reset = logistic(a[j] + from_past(step, j));
  g.update = logistic(a[n + j] + from_past(step, n + j));
  g.past = from_past(step, 2 * n + j);
  g.before_tanh = a[2 * n + j] + g.reset * g.past;
  g.candidate = std::tanh(g.before_tanh);
  return g;
}

// r = σ(a_r[t] + s[t − 1] · U_r + c_r)
// z = σ(a_z[t] + s[t − 1] · U_z + c_z)
// n = tanh(a_n[t] + r · (s[t − 1] · U_n + c_n))
// s[t] = (1 − z) · n + z · s[t − 1], from s[−1] = 0; reversed, from the last row to the first with
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
        double s = step.past(j);
        if (step.is_token()) {
          const GruGates g = gates_of(step, j);
          s = (1 - g.update) * g.candidate + g.update * s;
        }
        args.result[(b * z.positions + row) * z.states + j] = static_cast<float>(s);
      }
    }
  }
}

// What the gradient of s[t, j], `d`, comes to before each gate's function.
struct GateGradients {
  double reset, update, candidate;
};
GateGradients gate_gradients(const GruGates& g, double past, double d) {
  const double candidate = d * (1 - g.update) * (1 - g.candidate * g.candidate);
  return {candidate * g.past * g.reset * (1 - g.reset),
          d * (past - g.candidate) * g.update * (1 - g.update), candidate};
}

// From the last step to the first, where D is what the steps behind t pass back (0 behind the
// last): G = ds[t] + D, which reaches what is inside the gates as
//   dn = G · (1 − z) · (1 − n²),  dr = dn · (s[t − 1] · U_n + c_n) · r (1 − r),
//   dz = G · (s[t − 1] − n) · z (1 − z)
// da[t] += (dr, dz, dn);  with h = (dr, dz, dn · r):  dc += h,  dU += s[t − 1]ᵀ · h,
// and for the step before D = G · z + h · Uᵀ.
class Backward {
 public:
  explicit Backward(const OpGradArgs& args)
      : args_(args), z_(recurrent::sizes_of(args.in)), wide_(kGates * z_.states) {
    d_u_.assign(at(z_.states * wide_), 0.0);
    d_c_.assign(at(wide_), 0.0);
  }

  void run() {
    for (std::int64_t b = 0; b < z_.batch; ++b) {
      back_.assign(at(z_.states), 0.0);
      for (std::int64_t i = z_.positions - 1; i >= 0; --i)
        step(b, recurrent::row_of_step(i, z_.positions, args_.params.reversed));
    }
    for (std::int64_t i = 0; args_.d_in[1] && i < z_.states * wide_; ++i) add(1, i, d_u_[at(i)]);
    for (std::int64_t i = 0; args_.in.size() > 3 && args_.d_in[3] && i < wide_; ++i)
      add(3, i, d_c_[at(i)]);
  }

 private:
  void add(std::size_t input, std::int64_t cell, double d) {
    float* cells = args_.d_in[input];
    cells[cell] = static_cast<float>(cells[cell] + d);
  }

  void step(std::int64_t b, std::int64_t row) {
    const std::int64_t n = z_.states, begin = b * z_.positions + row;
    const StepOfRun step =
        recurrent::step_of_run(args_.in, args_.out, args_.params.reversed, b, row);
    for (std::int64_t j = 0; j < n; ++j) back_[at(j)] += args_.d_out[begin * n + j];
    if (!step.is_token()) return;
    std::vector<double> h(at(wide_)), kept(at(n));
    for (std::int64_t j = 0; j < n; ++j) {
      const GruGates g = gates_of(step, j);
      const GateGradients d = gate_gradients(g, step.past(j), back_[at(j)]);
      kept[at(j)] = back_[at(j)] * g.update;
      h[at(j)] = d.reset;
      h[at(n + j)] = d.update;
      h[at(2 * n + j)] = d.candidate * g.reset;
      if (!args_.d_in[0]) continue;
      add(0, begin * wide_ + j, d.reset);
      add(0, begin * wide_ + n + j, d.update);
      add(0, begin * wide_ + 2 * n + j, d.candidate);
    }
    for (std::int64_t c = 0; c < wide_; ++c) d_c_[at(c)] += h[at(c)];
    for (std::int64_t k = 0; k < n; ++k) {
      double sum = kept[at(k)];
      for (std::int64_t c = 0; c < wide_; ++c) {
        sum += h[at(c)] * args_.in[1].data[k * wide_ + c];
        d_u_[at(k * wide_ + c)] += step.past(k) * h[at(c)];
      }
      back_[at(k)] = sum;
    }
  }

  const OpGradArgs& args_;
  const Sizes z_;
  const std::int64_t wide_;
  std::vector<double> back_, d_u_, d_c_;
};

void backward(const OpGradArgs& args) { Backward(args).run(); }

constexpr const char* kFormula = "(1 − z) · n + z · s[t − 1, j]";

// tanh(p) is written as p · tanh(p) / p, so that what p is made of adds up to it. All three gates
// read the state before and the row: their cells are named beside the factor.
OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const StepOfRun step =
      recurrent::step_of_run(args.in, args.out, args.params.reversed, index[0], index[1]);
  const std::int64_t n = step.sizes.states, j = index[2], b = index[0], t = index[1];
  if (!step.is_token()) return recurrent::kept_state(step, j, "s[t − 1, j]");
  const GruGates g = gates_of(step, j);
  const double share = g.before_tanh == 0 ? 1.0 : g.candidate / g.before_tanh;
  const double heard = (1 - g.update) * share;
  OpExplanation result;
  result.formula = kFormula;
  result.quantities = {{"r", g.reset}, {"z", g.update},    {"p", g.before_tanh},
                       {"h", g.past},  {"n", g.candidate}, {"s[t − 1]", step.past(j)}};
  result.written = {math("(1 − ", "(1 - "),   math(g.update),     math(") × ", ") \\times "),
                    math(g.candidate),        math(" + ", " + "), math(g.update),
                    math(" × ", " \\times "), math(step.past(j))};
  const auto cells = [&](int input, std::vector<std::int64_t> at_gate) {
    std::vector<InputCell> all;
    for (std::int64_t gate = 0; gate < 2; ++gate) {
      at_gate.back() = gate * n + j;
      all.push_back({input, at_gate});
    }
    return all;
  };
  const std::vector<std::int64_t> own = {b, t, 2 * n + j};
  result.terms.push_back(
      {{0, own}, args.in[0].at(own), heard, cells(0, own), "(1 − z) · tanh(p) / p"});
  for (std::int64_t k = 0; step.before >= 0 && k < n; ++k) {
    const std::vector<std::int64_t> weight = {k, 2 * n + j};
    std::vector<InputCell> from = cells(1, weight);
    from.insert(from.begin(), {1, weight});
    double factor = args.in[1].at(weight) * g.reset * heard;
    if (k == j) factor += g.update;
    result.terms.push_back(
        {{kResultCell, step.past_cell(k)},
         step.past(k),
         factor,
         std::move(from),
         k == j ? "U · r · (1 − z) · tanh(p) / p + z" : "U · r · (1 − z) · tanh(p) / p"});
  }
  if (args.in.size() > 3) {
    const std::vector<std::int64_t> bias = {2 * n + j};
    result.terms.push_back({{3, bias},
                            args.in[3].at(bias),
                            g.reset * heard,
                            cells(3, bias),
                            "r · (1 − z) · tanh(p) / p"});
  }
  return result;
}

// By how much the number at `index` acts on gate `gate` of number j in this very step.
double acts(const StepOfRun& step, int input, std::span<const std::int64_t> index,
            std::int64_t gate, std::int64_t j) {
  if (index.back() != gate * step.sizes.states + j) return 0;
  if (input == 0) return index[1] == step.row ? 1 : 0;
  return input == 1 ? step.past(index[0]) : 1;
}

Tangent tangent(const StepOfRun& step, const Tangent& before, int input,
                std::span<const std::int64_t> index) {
  const std::int64_t n = step.sizes.states;
  Tangent grows(before.size());
  for (std::int64_t j = 0; j < n; ++j) {
    const GruGates g = gates_of(step, j);
    double past[kGates] = {0, 0, 0};  // how what comes from the state before grows, by gate
    for (std::int64_t gate = 0; gate < kGates; ++gate) {
      for (std::int64_t k = 0; k < n; ++k)
        past[gate] += before[at(k)] * step.in[1].data[k * kGates * n + gate * n + j];
      if (input != 0) past[gate] += acts(step, input, index, gate, j);
    }
    const auto row = [&](std::int64_t gate) {
      return input == 0 ? acts(step, input, index, gate, j) : 0.0;
    };
    const double reset = g.reset * (1 - g.reset) * (row(0) + past[0]);
    const double update = g.update * (1 - g.update) * (row(1) + past[1]);
    const double inner = row(2) + reset * g.past + g.reset * past[2];
    const double candidate = (1 - g.candidate * g.candidate) * inner;
    grows[at(j)] = update * (step.past(j) - g.candidate) + (1 - g.update) * candidate +
                   g.update * before[at(j)];
  }
  return grows;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input == 2) return without_gradient();
  constexpr const char* kFormulas[] = {"Σ_τ ds[τ] · ∂s[τ] / ∂a[t, j]",
                                       "Σ_τ ds[τ] · ∂s[τ] / ∂U[k, j]", "",
                                       "Σ_τ ds[τ] · ∂s[τ] / ∂c[j]"};
  return recurrent::through_time(args, input, index, tangent,
                                 kFormulas[static_cast<std::size_t>(input)]);
}

std::string code(const CodeArgs& c, bool torch) {
  const std::string library = torch ? "torch" : "np";
  const std::string bias = c.in.size() > 3 ? " + " + c.in[3] : "";
  const std::string n = std::to_string(c.args.out.axes.back().size);
  const std::string gate = torch ? "torch.sigmoid(" : "1 / (1 + np.exp(-(";
  const std::string end = torch ? ")\n" : ")))\n";
  const auto part = [&](const char* name, int at_gate) {
    return std::string(name) + "[" + (at_gate == 0 ? "" : std::to_string(at_gate) + " * n") + ":" +
           (at_gate == 2 ? "" : std::to_string(at_gate + 1) + " * n") + "]";
  };
  std::string update = "        x, h = " + c.in[0] + "[t], state @ " + c.in[1] + bias + "\n";
  update += "        r = " + gate + part("x", 0) + " + " + part("h", 0) + end;
  update += "        z = " + gate + part("x", 1) + " + " + part("h", 1) + end;
  update += "        new = " + library + ".tanh(" + part("x", 2) + " + r * " + part("h", 2) + ")\n";
  update += "        state = (1 - z) * new + z * state\n";
  return "n = " + n + "\n" + recurrent::loop_code(c, update, torch);
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  constexpr std::string_view kLetters[kGates] = {"r", "z", "n"};
  return recurrent::panes(args, kLetters);
}

}  // namespace

GruGates gru_gates(const OpArgs& args, std::span<const std::int64_t> index) {
  return gates_of(
      recurrent::step_of_run(args.in, args.out, args.params.reversed, index[0], index[1]),
      index[2]);
}

const OpInfo& gru_op() {
  static const OpInfo info{
      .op = Op::kGru,
      .id = "gru",
      .phrase = "the state after each token, kept or renewed by gates",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = [](const CodeArgs& c) { return code(c, false); },
      .torch = [](const CodeArgs& c) { return code(c, true); },
      .inputs = {InputKind::kNumbers, InputKind::kNumbers, InputKind::kPresence,
                 InputKind::kNumbers},
      .errors = ErrorClass::kRows,
      .work = {.flops = 3, .per = WorkPer::kTerm},
      .trials = {"b 3 3n, n 3n, b 3, 3n", "b 3 3n, n 3n, b 3"},
      .is_sequential = true,
  };
  return info;
}

}  // namespace headlight
