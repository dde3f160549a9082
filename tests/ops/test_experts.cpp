// Mixtures of experts: numbers known by hand, ties, what the load costs, and what a config may ask
// for.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/graph/program.h"
#include "core/model/init.h"
#include "core/ops/op.h"

namespace headlight::test_experts {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor tensor(std::vector<Axis> axes, const std::vector<float>& cells) {
  REQUIRE(cell_count(axes) == static_cast<std::int64_t>(cells.size()));
  return {"in", std::move(axes), FloatBuffer(cells.begin(), cells.end())};
}

// Each backend's result of one call.
std::vector<std::vector<float>> results(Op op, std::vector<Tensor> in, const OpParams& params) {
  Program p;
  OpCall call{op, {}, static_cast<TensorId>(in.size()), params};
  std::vector<TensorView> views;
  for (const Tensor& t : in) {
    call.in.push_back(static_cast<TensorId>(p.tensors.size()));
    p.tensors.push_back({t.name, t.axes, TensorKind::kInput});
    views.push_back(view(t));
  }
  p.tensors.push_back({"result", op_info(op).shape(views, params), TensorKind::kActivation});
  p.calls.push_back(call);
  std::vector<std::vector<float>> all;
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(make_reference_backend());
  backends.push_back(make_cpu_backend(2));
  for (const auto& backend : backends) {
    std::vector<float> out(static_cast<std::size_t>(cell_count(p.tensors.back().axes)), kNan);
    std::vector<float*> memory;
    for (Tensor& t : in) memory.push_back(t.data.data());
    memory.push_back(out.data());
    backend->run(p, p.calls, memory);
    all.push_back(std::move(out));
  }
  return all;
}

void expect(Op op, const std::vector<Tensor>& in, const std::vector<double>& cells,
            const OpParams& params = {}) {
  for (const std::vector<float>& out : results(op, in, params)) {
    REQUIRE(out.size() == cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      CAPTURE(i);
      if (std::isnan(cells[i]))
        CHECK(std::isnan(out[i]));
      else
        CHECK(out[i] == doctest::Approx(cells[i]).epsilon(1e-6));
    }
  }
}

OpParams best_of(std::int64_t best, float factor = 1) {
  OpParams params;
  params.best = best;
  params.factor = factor;
  return params;
}

std::vector<Axis> gate(std::int64_t tokens, std::int64_t experts) {
  return {{"batch", 1}, {"position", tokens}, {"expert", experts}};
}

std::string refusal(const Config& c) {
  try {
    validate(c);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

Config with_experts(int experts, int best) {
  Config c;
  c.heads = 2;
  c.d_model = 8;
  c.d_hidden = 6;
  c.experts = experts;
  c.top_experts = best;
  return c;
}

}  // namespace

TEST_CASE("experts: each multiplies by its own matrix") {
  const Tensor w = tensor({{"expert", 2}, {"d_model", 2}, {"hidden", 1}}, {1, 2, 10, 20});
  const Tensor b = tensor({{"expert", 2}, {"hidden", 1}}, {0.5f, -1});
  const Tensor shared = tensor({{"batch", 1}, {"position", 2}, {"feature", 2}}, {1, 1, 2, 0});
  expect(Op::kExpertLinear, {shared, w, b}, {3.5, 2.5, 29, 19});
  const Tensor own =
      tensor({{"batch", 1}, {"expert", 2}, {"position", 1}, {"feature", 2}}, {1, 1, 2, 3});
  expect(Op::kExpertLinear, {own, w}, {3, 80});
}

TEST_CASE("experts: the best keep their share, and of equal weights the first") {
  const Tensor g = tensor(gate(2, 4), {0.1f, 0.4f, 0.2f, 0.3f, 0.25f, 0.25f, 0.25f, 0.25f});
  expect(Op::kTopExperts, {g}, {0, 4.0 / 7, 0, 3.0 / 7, 0.5, 0.5, 0, 0}, best_of(2));
  // A single one keeps the weight that the gate gave it.
  expect(Op::kTopExperts, {g}, {0, 0.4, 0, 0, 0.25, 0, 0, 0}, best_of(1));
  expect(Op::kTopExperts, {g}, {0.1, 0.4, 0.2, 0.3, 0.25, 0.25, 0.25, 0.25}, best_of(0));
  expect(Op::kTopExperts, {g}, {0.1, 0.4, 0.2, 0.3, 0.25, 0.25, 0.25, 0.25}, best_of(9));
  // No weight at all is no division by 0; what is no number is not hidden.
  expect(Op::kTopExperts, {tensor(gate(1, 2), {0, 0})}, {0, 0}, best_of(2));
  expect(Op::kTopExperts, {tensor(gate(1, 2), {kNan, 0.5f})}, {kNan, kNan}, best_of(2));
}

TEST_CASE("experts: the mixture is their weighted sum, and who has no weight is left out") {
  const Tensor g = tensor(gate(2, 2), {0.25f, 0.75f, 1, 0});
  const Tensor y =
      tensor({{"batch", 1}, {"expert", 2}, {"position", 2}, {"feature", 1}}, {4, 5, 8, kNan});
  expect(Op::kMix, {g, y}, {7, 5});
}

TEST_CASE("experts: the load costs C when it is even, and C · E when one does it all") {
  const Tensor even = tensor(gate(2, 2), {0.75f, 0.25f, 0.25f, 0.75f});
  const Tensor all = tensor({{"batch", 1}, {"position", 2}}, {1, 1});
  const Tensor targets = tensor({{"batch", 1}, {"position", 3}}, {4, -1, 0});
  expect(Op::kLoadBalance, {even, all, targets}, {0.5, 0, 0.5}, best_of(0, 0.5f));
  const Tensor one = tensor(gate(2, 2), {1, 0, 1, 0});
  expect(Op::kLoadBalance, {one, all, targets}, {1, 0, 1}, best_of(0, 0.5f));
  // Padding has no part in it, and with two best of two each has half of the choices.
  const Tensor first = tensor({{"batch", 1}, {"position", 2}}, {1, 0});
  const Tensor label = tensor({{"batch", 1}}, {2});
  expect(Op::kLoadBalance, {even, first, label}, {0.5 * 2 * 0.75}, best_of(1, 0.5f));
  expect(Op::kLoadBalance, {even, first, label}, {0.5}, best_of(2, 0.5f));
  const Tensor nobody = tensor({{"batch", 1}, {"position", 2}}, {0, 0});
  expect(Op::kLoadBalance, {even, nobody, label}, {0}, best_of(1, 0.5f));
}

TEST_CASE("experts: a config that cannot be says what to do") {
  CHECK(refusal(with_experts(4, 2)).empty());
  CHECK(refusal(with_experts(1, 1)).empty());
  CHECK(refusal(with_experts(4, 5)).find("Choose at most 4") != std::string::npos);
  CHECK(refusal(with_experts(-1, 0)).find("number of experts") != std::string::npos);
  CHECK(refusal(with_experts(kMaxExperts + 1, 0)).find("number of experts") != std::string::npos);
  Config c = with_experts(4, 0);
  c.block = BlockKind::kAttention;
  CHECK(refusal(c).find("--block pre-norm") != std::string::npos);
  c = with_experts(4, 0);
  c.activation = Activation::kSwiglu;
  CHECK(refusal(c).find("swiglu") != std::string::npos);
  c = with_experts(4, 0);
  c.balance = kNan;
  CHECK(refusal(c).find("load balance") != std::string::npos);
  c.balance = -1;
  CHECK(refusal(c).find("load balance") != std::string::npos);
}

TEST_CASE("experts: the program has a gate, the best, the experts and their mixture") {
  Config c = with_experts(3, 2);
  c.layers = 1;
  c.balance = 0.1;
  const Program p = build_training_program(c, {2, 5, 7});
  const auto shape = [&](const char* name) { return shape_text(p.look(p.require(name)).axes); };
  CHECK(shape("blocks.0.mlp.gate_scores") == "(batch 2, position 5, expert 3)");
  CHECK(shape("blocks.0.mlp.gate_best") == "(batch 2, position 5, expert 3)");
  CHECK(shape("blocks.0.mlp.expert_post") == "(batch 2, expert 3, position 5, hidden 6)");
  CHECK(shape("blocks.0.mlp.expert_out") == "(batch 2, expert 3, position 5, feature 8)");
  CHECK(shape("blocks.0.mlp_out") == "(batch 2, position 5, feature 8)");
  CHECK(shape("blocks.0.mlp.balance") == "(batch 2, position 5)");
  CHECK(shape("blocks.0.mlp.W_in") == "(expert 3, d_model 8, hidden 6)");
  CHECK(p.tensors[place(p.loss)].name == "loss");
  CHECK(p.find("own_loss") >= 0);
  // Each expert is a network of its own: its matrices are drawn by its own width.
  CHECK(fans(p.tensors[place(p.require("blocks.0.mlp.W_in"))]).in == 8);
  CHECK(fans(p.tensors[place(p.require("blocks.0.mlp.W_in"))]).out == 6);
  c.top_experts = 0;
  CHECK(build_program(c, {1, 5, 7}).find("blocks.0.mlp.gate_best") < 0);
  CHECK(build_program(c, {1, 5, 7}).find("present") < 0);
}

}  // namespace headlight::test_experts
