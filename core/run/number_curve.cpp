#include "core/run/number_curve.h"

#include <algorithm>
#include <numeric>

#include "core/model/sandbox.h"
#include "core/ops/numbers/grid.h"
#include "core/run/run_trace.h"
#include "core/text/number_words.h"

namespace headlight {
namespace {

// Column `i` of a tensor whose rows are the tokens'.
std::vector<double> column(const TensorView& t, std::int64_t i) {
  const std::int64_t width = t.axes.back().size;
  std::vector<double> cells;
  for (std::int64_t row = 0; row < t.size() / width; ++row)
    cells.push_back(t.data[row * width + i]);
  return cells;
}

TensorId last_of(const Program& program, Role role) {
  TensorId last = -1;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    if (program.tensors[id].role == role && !program.is_gradient(static_cast<TensorId>(id)))
      last = static_cast<TensorId>(id);
  }
  return last;
}

const OpCall& maker(const Program& program, TensorId id) {
  return program.calls[place(program.producer(id))];
}

// How the experts' outputs reach the head.
struct Path {
  bool direct = false;   // nothing but a sum stands between
  TensorId stream = -1;  // what is added to their mixture; −1: nothing
};

Path path_to_head(const Program& program, TensorId outputs, TensorId means) {
  const auto mixes = [&](TensorId id) {
    const int call = program.producer(id);
    if (call < 0) return false;
    const auto& in = program.calls[place(call)].in;
    return std::ranges::find(in, outputs) != in.end();
  };
  const TensorId read = program.resolve(maker(program, means).in[0]);
  if (mixes(read)) return {true, -1};
  if (program.producer(read) < 0 || program.tensors[place(read)].role != Role::kResidual) return {};
  const std::vector<TensorId>& in = maker(program, read).in;
  if (in.size() != 2 || !mixes(in[1])) return {};
  return {true, in[0]};
}

// (what the expert says + the stream) · w_y + b_y
std::vector<double> said_alone(const Trace& trace, TensorId means, const float* rows,
                               TensorId stream) {
  const OpCall& head = maker(trace.program(), means);
  const TensorView w = trace.tensor(head.in[1]);
  const std::int64_t width = w.axes[0].size, tokens = trace.length();
  const float* before = stream < 0 ? nullptr : trace.tensor(stream).data;
  std::vector<double> y;
  for (std::int64_t t = 0; t < tokens; ++t) {
    double sum = head.in.size() > 2 ? trace.tensor(head.in[2]).data[0] : 0;
    for (std::int64_t f = 0; f < width; ++f) {
      const double cell = static_cast<double>(rows[t * width + f]) +
                          static_cast<double>(before ? before[t * width + f] : 0);
      sum += cell * static_cast<double>(w.data[f]);
    }
    y.push_back(sum);
  }
  return y;
}

void add_experts(const Trace& trace, TensorId means, NumberCurve& curve) {
  const Program& program = trace.program();
  const TensorId outputs = last_of(program, Role::kExpertOutputs);
  if (outputs < 0) return;
  TensorId weights = last_of(program, Role::kBestWeights);
  if (weights < 0) weights = last_of(program, Role::kGateWeights);
  const Path path = path_to_head(program, outputs, means);
  const TensorView made = trace.tensor(outputs);
  const std::int64_t each = made.axes[2].size * made.axes[3].size;
  for (std::int64_t e = 0; e < made.axes[1].size; ++e) {
    NumberCurve::Expert expert{{}, column(trace.tensor(weights), e)};
    if (path.direct && curve.components.empty())
      expert.y = said_alone(trace, means, made.data + e * each, path.stream);
    curve.experts.push_back(std::move(expert));
  }
}

}  // namespace

bool has_curve(const Config& c) {
  return c.numbers && !c.mixes() && c.positions == PositionKind::kNone;
}

std::shared_ptr<const Trace> grid_trace(const Config& config, int numbers, ParameterSource& weights,
                                        Backend& backend) {
  RunShape shape;
  shape.positions = shape.vocab = numbers;
  shape.in_place = true;
  RunInput input;
  input.tokens = input.vocab = grid_words(numbers);
  input.ids.resize(static_cast<std::size_t>(numbers));
  std::iota(input.ids.begin(), input.ids.end(), 0);
  return run_trace(std::make_shared<const Program>(build_program(config, shape)), std::move(input),
                   weights, backend);
}

NumberCurve number_curve(const Trace& trace) {
  const Program& program = trace.program();
  const TensorId means = last_of(program, Role::kMeans);
  NumberCurve curve;
  curve.x = column(trace.tensor(last_of(program, Role::kNumber)), 0);
  const auto all = static_cast<std::int64_t>(curve.x.size());
  if (trace.config().components == 0) {
    curve.y = column(trace.tensor(means), 0);
  } else {
    const TensorView weights = trace.tensor(last_of(program, Role::kComponentWeights));
    const TensorView spreads = trace.tensor(last_of(program, Role::kLogSpreads));
    for (std::int64_t k = 0; k < trace.config().components; ++k) {
      NumberCurve::Component component{column(trace.tensor(means), k), column(spreads, k),
                                       column(weights, k)};
      for (double& spread : component.spread) spread = spread_of(spread, all);
      curve.components.push_back(std::move(component));
    }
  }
  add_experts(trace, means, curve);
  return curve;
}

std::shared_ptr<const NumberCurve> curve_of(const Trace& trace,
                                            const std::shared_ptr<const Model>& model) {
  constexpr double kMostBytes = 8e6;  // of what is over within a frame
  const Config& config = trace.config();
  const std::int64_t numbers = trace.program().shape.vocab;
  if (!has_curve(config)) return nullptr;
  if (memory_needed(config, {.batch = 1, .positions = numbers, .vocab = numbers}) > kMostBytes)
    return nullptr;
  const std::unique_ptr<Backend> backend = make_cpu_backend(1);
  SandboxModel sandbox(config.seed);
  ModelParameters learned;
  if (model) learned.use(model);
  ParameterSource& weights = model ? static_cast<ParameterSource&>(learned) : sandbox;
  return std::make_shared<const NumberCurve>(
      number_curve(*grid_trace(config, static_cast<int>(numbers), weights, *backend)));
}

}  // namespace headlight
