#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "core/graph/program_cost.h"
#include "core/graph/program_memory.h"

namespace headlight::test_program_cost {
namespace {

Config small_model(int layers = 2) {
  Config c;
  c.layers = layers;
  c.heads = 3;
  c.d_model = 12;
  return c;
}

double sum(const ProgramCost& cost, double StepCost::*number) {
  double all = 0;
  for (const StepCost& row : cost.steps) all += row.*number;
  return all;
}

const StepCost& step_named(const ProgramCost& cost, std::string_view title) {
  for (const StepCost& row : cost.steps) {
    if (row.row.title == title) return row;
  }
  FAIL("no step " << std::string(title));
  return cost.steps[0];
}

double parameters_named(const ProgramCost& cost, std::string_view symbol) {
  double all = 0;
  for (const ParameterCost& row : cost.parameters) {
    if (row.symbol == symbol) all += row.count;
  }
  return all;
}

// By hand: T = 5, d = 12, three heads of width 4, hidden 48, seven words.
TEST_CASE("cost: parameters, scores and products of a decoder, counted by hand") {
  const ProgramCost cost = program_cost(small_model(), {1, 5, 7});
  const double d = 12, t = 5, hidden = 48, vocab = 7, layers = 2, heads = 3;
  CHECK(parameters_named(cost, "W_E") == vocab * d);
  for (const char* name : {"W_Q", "W_K", "W_V", "W_O"})
    CHECK(parameters_named(cost, name) == layers * d * d);
  CHECK(parameters_named(cost, "b_Q, b_K, b_V, b_O") == layers * 4 * d);
  CHECK(parameters_named(cost, "W_in") == layers * d * hidden);
  CHECK(parameters_named(cost, "w, b") == (2 * layers + 1) * 2 * d);
  CHECK(parameters_named(cost, "W_U") == d * vocab);
  double all = 0;
  for (const ParameterCost& row : cost.parameters) all += row.count;
  CHECK(all == cost.parameter_count);
  CHECK(cost.scores == layers * heads * t * t);
  CHECK(cost.pairs == 4 * cost.scores);  // raw, scaled, masked, weights
  const double products =
      layers * (4 * t * d * d + 2 * t * t * d + 2 * t * d * hidden) + t * d * vocab;
  CHECK(cost.multiply_adds == products);
  CHECK(sum(cost, &StepCost::multiply_adds) == products);
  CHECK(sum(cost, &StepCost::bytes) == cost.activation_bytes);
  CHECK(sum(cost, &StepCost::numbers) == cost.activations);
  CHECK(step_named(cost, "step.scores").pairs == "T²");
}

// The encoder's own, the decoder's own, and those of each token of the row to each of the source.
TEST_CASE("cost: scores of an encoder-decoder are those of its three attentions") {
  Config c = small_model();
  c.form = ModelForm::kTranslate;
  const RunShape shape{.batch = 1, .positions = 4, .vocab = 7, .source = 6};
  const ProgramCost cost = program_cost(c, shape);
  CHECK(cost.scores == 2 * 3 * (6 * 6 + 4 * 4 + 4 * 6));
  std::vector<std::string_view> pairs;
  for (const StepCost& row : cost.steps)
    if (row.row.title.starts_with("step.scores")) pairs.push_back(row.pairs);
  CHECK(pairs == std::vector<std::string_view>{"S²", "T²", "T S"});
}

// Biases and norms apart, each product has two gradients, each a product of the same size.
TEST_CASE("cost: backward takes twice the products of forward") {
  const ProgramCost cost = program_cost(small_model(), {3, 5, 7}, true);
  CHECK(cost.backward_multiply_adds == 2 * cost.multiply_adds);
  CHECK(cost.multiply_adds == 3 * program_cost(small_model(), {1, 5, 7}).multiply_adds);
}

TEST_CASE("cost: what many layers take follows from two, and equals what their program has") {
  for (const PositionKind positions :
       {PositionKind::kLearned, PositionKind::kT5, PositionKind::kTransformerXl}) {
    for (const ModelForm form : {ModelForm::kTokens, ModelForm::kTranslate}) {
      Config c = small_model(7);
      c.positions = positions;
      c.form = form;
      RunShape shape{.batch = 2, .positions = 5, .vocab = 7};
      if (form == ModelForm::kTranslate) shape.source = 6;
      const Program whole = build_program(c, shape);
      const ProgramCost cost = program_cost(c, shape);
      double parameters = 0, flops = 0, counted = 0;
      for (const TensorSpec& spec : whole.tensors) {
        if (spec.kind == TensorKind::kParameter)
          parameters += static_cast<double>(cell_count(spec.axes));
      }
      for (const OpCall& call : whole.calls)
        flops +=
            call_flops(op_info(call.op), whole.look(call.in[0]).axes, whole.look(call.out).axes,
                       call.in.size() > 1 ? whole.look(call.in[1]).axes : std::span<const Axis>());
      for (const OpCost& op : cost.operations) counted += op.flops;
      CHECK(cost.parameter_count == parameters);
      CHECK(counted == flops);
      CHECK(cost.arena_bytes() == static_cast<double>(arena_cells(whole) * sizeof(float)));
      CHECK(memory_needed(c, shape) == cost.run_bytes());
    }
  }
}

TEST_CASE("cost: layers with a window have a mask of their own, and it is counted") {
  Config c = small_model(7);
  const RunShape shape{.batch = 2, .positions = 5, .vocab = 7};
  const double plain = program_cost(c, shape).input_bytes;
  Config open = c;
  open.mask.kind = MaskKind::kNone;
  const double mask = plain - program_cost(open, shape).input_bytes;
  CHECK(mask >= 4 * 2 * 5 * 5);
  c.local_window = 2;
  c.local_layers = {1, 3, 5};
  CHECK(program_cost(c, shape).input_bytes == plain + mask);
  CHECK(memory_needed(c, shape) == program_cost(c, shape).run_bytes());
  c.local_layers = {0, 1, 2, 3, 4, 5, 6};  // in place of the other one
  const ProgramCost cost = program_cost(c, shape);
  CHECK(cost.input_bytes == plain);
  CHECK(cost.arena_bytes() ==
        static_cast<double>(arena_cells(build_program(c, shape)) * sizeof(float)));
  CHECK(most_layers(c, shape, cost.run_bytes() / 2) < 7);
}

TEST_CASE("cost: a convolution multiplies by all places of its window") {
  Config c = small_model(1);
  c.mixer = MixerKind::kConvolution;
  c.kernel = 5;
  const ProgramCost five = program_cost(c, {1, 6, 7});
  c.kernel = 1;
  CHECK(five.multiply_adds - program_cost(c, {1, 6, 7}).multiply_adds == 6 * 4 * 12 * 12);
}

TEST_CASE("cost: as many layers and tokens fit as are said to, and not one more") {
  Config c = small_model(20);
  const RunShape shape{1, 64, 30};
  const double bytes = memory_needed(c, shape) / 2;
  const int layers = most_layers(c, shape, bytes);
  const auto with_layers = [&](int n) {
    Config fewer = c;
    fewer.layers = n;
    return memory_needed(fewer, shape);
  };
  CHECK(with_layers(layers) <= bytes);
  CHECK(with_layers(layers + 1) > bytes);
  const std::int64_t tokens = most_tokens(c, shape, bytes);
  CHECK(memory_needed(c, with_tokens(shape, tokens)) <= bytes);
  CHECK(memory_needed(c, with_tokens(shape, tokens + 1)) > bytes);
  CHECK(most_layers(c, shape, 1) == 0);
  CHECK(most_tokens(c, shape, 1) == 0);
}

TEST_CASE("cost: absurd sizes are numbers") {
  Config c;
  c.layers = kMaxLayers;
  c.heads = kMaxHeads;
  c.d_model = kMaxWidth;
  c.attention = AttentionKind::kWide;
  const ProgramCost cost = program_cost(c, {1, 65536, 65536}, true);
  CHECK(std::isfinite(cost.backward_multiply_adds));
  CHECK(cost.multiply_adds > 1e18);
}

TEST_CASE("cost: predicted time is the sum of the calls', and of their work") {
  const ProgramCost cost = program_cost(small_model(), {1, 5, 7});
  std::vector<OpRate> rates(all_ops().size(), OpRate{1, 0});
  const auto calls = static_cast<double>(build_program(small_model(), {1, 5, 7}).calls.size());
  CHECK(predicted_seconds(cost, rates) == calls);
  CHECK(predicted_seconds(cost, rates, true) > 1.5 * calls);
  CHECK(predicted_seconds(cost, rates, true) <= 2 * calls);
  rates.assign(all_ops().size(), OpRate{0, 2});
  double flops = 0;
  for (const OpCost& op : cost.operations) flops += op.flops;
  CHECK(predicted_seconds(cost, rates) == doctest::Approx(2 * flops));
  CHECK(predicted_seconds(cost, {}) == 0);
}

}  // namespace
}  // namespace headlight::test_program_cost
