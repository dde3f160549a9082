#include "core/graph/program_cost.h"

#include <algorithm>
#include <cmath>

#include "core/graph/options/attention_options.h"

namespace headlight {
namespace {

// In doubles: a slip of the finger may well ask for more than an integer holds.
double cells_of(std::span<const Axis> axes) {
  double cells = 1;
  for (const Axis& axis : axes) cells *= static_cast<double>(axis.size);
  return cells;
}

// In the arena each tensor begins on a line of its own.
double arena_bytes_of(double cells) {
  constexpr double kLine = kTensorAlignment / sizeof(float);
  return sizeof(float) * kLine * std::ceil(cells / kLine);
}

// Of (…, query, key), whatever attention asks and answers: how many pairs. Empty: it has none.
std::string_view pairs_of(std::span<const Axis> axes) {
  if (axes.size() < 3) return {};
  const std::string_view query = axes[axes.size() - 2].name, key = axes.back().name;
  if (key != "key" && key != "source_key") return {};
  if (query == "source_query") return "S²";
  if (query != "query") return {};
  return key == "key" ? "T²" : "T S";
}

std::span<const Axis> second_axes(const Program& p, const OpCall& call) {
  if (call.in.size() < 2) return {};
  return p.tensors[place(call.in[1])].axes;
}

double multiply_adds_of(const Program& p, const OpCall& call) {
  const OpInfo& info = op_info(call.op);
  if (info.work.per != WorkPer::kTerm && info.work.per != WorkPer::kPair) return 0;
  const std::vector<Axis>& out = p.tensors[place(call.out)].axes;
  // Of a window each number of the result meets all places of its weights, not one row alone.
  for (const TensorId in : call.in) {
    const TensorSpec& spec = p.tensors[place(in)];
    if (spec.kind == TensorKind::kParameter && spec.axes.size() > 1 && !info.is_product() &&
        spec.axes.back().name == out.back().name)
      return cells_of(out) / static_cast<double>(out.back().size) * cells_of(spec.axes);
  }
  return call_multiply_adds(info, p.tensors[place(call.in[0])].axes, out, second_axes(p, call));
}

// Adds up one program.
class Tally {
 public:
  explicit Tally(const Program& p) : p_(p) {
    cost_.operations.resize(all_ops().size());
    for (const TensorSpec& spec : p.tensors) {
      if (spec.kind == TensorKind::kParameter) add_parameter(spec);
      if (spec.kind == TensorKind::kInput) cost_.input_bytes += arena_bytes_of(cells_of(spec.axes));
    }
    step_of_call_.assign(p.calls.size(), nullptr);
    for (const Step& step : p.steps) {
      for (const int call : step.calls) step_of_call_[place(call)] = &step;
    }
    for (std::size_t c = 0; c < p.calls.size(); ++c) add_call(p.calls[c], step_of_call_[c]);
  }

  ProgramCost take() { return std::move(cost_); }

 private:
  void add_parameter(const TensorSpec& spec) {
    const RoleInfo& info = role_info(spec.role);
    const bool norm = spec.role == Role::kNormScale || spec.role == Role::kNormShift;
    const bool bias = info.parameter == ParameterKind::kBias && !norm;
    const bool grouped = norm || bias;
    const std::string symbol(info.symbol);
    const auto same = [&](const ParameterCost& row) {
      if (row.norm != norm || row.bias != bias) return false;
      if (norm) return true;
      return row.section == spec.place.section && row.stack == spec.place.stack &&
             (grouped || row.symbol == symbol);
    };
    auto row = std::ranges::find_if(cost_.parameters, same);
    if (row == cost_.parameters.end()) {
      cost_.parameters.push_back({spec.place.section, spec.place.stack, norm, bias, symbol, 0, 0});
      row = cost_.parameters.end() - 1;
    } else if (grouped &&
               (", " + row->symbol + ",").find(" " + symbol + ",") == std::string::npos) {
      row->symbol += ", " + symbol;
    }
    const double cells = cells_of(spec.axes);
    row->count += cells;
    if (spec.place.layer == 0) row->in_layer += cells;
    cost_.parameter_count += cells;
  }

  StepCost& row_of(const Step* step) {
    static const StepRow kNone;
    const StepRow& row = step ? step->row : kNone;
    const Section section = step ? step->section : Section::kPrediction;
    const Stack stack = step ? step->stack : Stack::kOnly;
    for (StepCost& known : cost_.steps) {
      if (known.row.title == row.title && known.section == section && known.stack == stack)
        return known;
    }
    cost_.steps.push_back({row, section, stack});
    return cost_.steps.back();
  }

  void add_call(const OpCall& call, const Step* step) {
    const std::vector<Axis>& out = p_.tensors[place(call.out)].axes;
    const OpInfo& info = op_info(call.op);
    const double cells = cells_of(out), bytes = arena_bytes_of(cells);
    const double flops =
        call_flops(info, p_.tensors[place(call.in[0])].axes, out, second_axes(p_, call));
    const double products = multiply_adds_of(p_, call);
    StepCost& row = row_of(step);
    row.numbers += cells;
    row.bytes += bytes;
    row.multiply_adds += products;
    if (const std::string_view pairs = pairs_of(out); !pairs.empty()) {
      row.pairs = pairs;
      cost_.pairs += cells;
      if (info.inputs[0] == InputKind::kScores) cost_.scores += cells;
    }
    cost_.activations += cells;
    cost_.activation_bytes += bytes;
    cost_.multiply_adds += products;
    add_backward(call, info, flops, products);
  }

  // The gradient of each operand of a product is a product of the same size. Biases are only sums.
  void add_backward(const OpCall& call, const OpInfo& info, double flops, double products) {
    OpCost& op = cost_.operations[static_cast<std::size_t>(&info - all_ops().data())];
    op.calls += 1;
    op.flops += flops;
    bool any = false;
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const TensorSpec& in = p_.tensors[place(p_.resolve(call.in[i]))];
      const bool bias = in.kind == TensorKind::kParameter &&
                        role_info(in.role).parameter != ParameterKind::kMatrix;
      if (bias || in.kind == TensorKind::kInput || info.is_fixed(i)) continue;
      any = true;
      op.backward_flops += flops;
      cost_.backward_multiply_adds += products;
    }
    op.backward_calls += any ? 1 : 0;
  }

  const Program& p_;
  std::vector<const Step*> step_of_call_;
  ProgramCost cost_;
};

// As many as fit, found by halves.
template <class Fits>
std::int64_t most_that_fit(std::int64_t most, const Fits& fits) {
  std::int64_t low = 0, high = most;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// a + times · (a − b), number by number: what further layers take.
void extend(double& a, double b, double times) { a += times * (a - b); }

void extend(ProgramCost& two, const ProgramCost& one, double times) {
  for (std::size_t i = 0; i < two.parameters.size(); ++i)
    extend(two.parameters[i].count, one.parameters[i].count, times);
  for (std::size_t i = 0; i < two.steps.size(); ++i) {
    extend(two.steps[i].numbers, one.steps[i].numbers, times);
    extend(two.steps[i].bytes, one.steps[i].bytes, times);
    extend(two.steps[i].multiply_adds, one.steps[i].multiply_adds, times);
  }
  for (std::size_t i = 0; i < two.operations.size(); ++i) {
    for (double OpCost::*number :
         {&OpCost::calls, &OpCost::flops, &OpCost::backward_calls, &OpCost::backward_flops})
      extend(two.operations[i].*number, one.operations[i].*number, times);
  }
  for (double ProgramCost::*number :
       {&ProgramCost::parameter_count, &ProgramCost::input_bytes, &ProgramCost::activation_bytes,
        &ProgramCost::activations, &ProgramCost::pairs, &ProgramCost::scores,
        &ProgramCost::multiply_adds, &ProgramCost::backward_multiply_adds})
    extend(two.*number, one.*number, times);
}

}  // namespace

ProgramCost program_cost(const Config& config, const RunShape& shape, bool training) {
  const auto cost = [&](int layers) {
    Config c = config;
    c.layers = layers;
    return Tally(sketch_program(c, shape, training)).take();
  };
  // Every layer has the same tensors: two programs tell what one more takes. Where some have a
  // window and some have none, there are more masks than such a small program has.
  if (config.layers <= 2 || !config.local_layers.empty()) return cost(config.layers);
  ProgramCost two = cost(2);
  extend(two, cost(1), config.layers - 2);
  return two;
}

double memory_needed(const Config& config, const RunShape& shape) {
  return program_cost(config, shape).run_bytes();
}

double fused_saving(const Config& config, const RunShape& shape) {
  if (!config.can_fuse_attention()) return 0;
  Config kept = config, fused = config;
  kept.fused_attention = false;
  fused.fused_attention = true;
  return memory_needed(kept, shape) - memory_needed(fused, shape);
}

RunShape with_tokens(RunShape shape, std::int64_t tokens) {
  const std::int64_t before = std::max<std::int64_t>(shape.source, 1);
  if (shape.source > 0) {
    shape.positions = std::max<std::int64_t>(tokens * shape.positions / before, 1);
    shape.source = tokens;
  } else {
    shape.positions = tokens;
  }
  // A table of positions has a row for each of them.
  if (shape.context > 0) shape.context = std::max(shape.context, shape.positions);
  if (shape.context_source > 0) shape.context_source = std::max(shape.context_source, shape.source);
  return shape;
}

int most_layers(const Config& config, const RunShape& shape, double bytes, MemoryNeeded& needed) {
  return static_cast<int>(most_that_fit(config.layers, [&](std::int64_t layers) {
    Config c = config;
    c.layers = static_cast<int>(layers);
    drop_unfit_options(c);
    return needed(c, shape) <= bytes;
  }));
}

std::int64_t most_tokens(const Config& config, const RunShape& shape, double bytes,
                         MemoryNeeded& needed) {
  return most_that_fit(shape.source > 0 ? shape.source : shape.positions, [&](std::int64_t tokens) {
    return needed(config, with_tokens(shape, tokens)) <= bytes;
  });
}

double predicted_seconds(const ProgramCost& cost, std::span<const OpRate> rates, bool backward) {
  double seconds = 0;
  for (std::size_t i = 0; i < std::min(cost.operations.size(), rates.size()); ++i) {
    const OpCost& op = cost.operations[i];
    seconds += op.calls * rates[i].call + op.flops * rates[i].flop;
    if (backward) seconds += op.backward_calls * rates[i].call + op.backward_flops * rates[i].flop;
  }
  return seconds;
}

}  // namespace headlight
