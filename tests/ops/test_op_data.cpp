// What readers ask of an operation: its trials, its work, what its inputs are.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "core/ops/op.h"

namespace headlight::test_op_data {
namespace {

std::vector<Axis> axes(const std::vector<std::int64_t>& sizes) {
  std::vector<Axis> made;
  for (const std::int64_t size : sizes) made.push_back({"feature", size});
  return made;
}

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& t : tensors) views.push_back({t.name, t.axes, nullptr});
  return views;
}

}  // namespace

TEST_CASE("ops: the trials are what the shape rules take, and no input is missed") {
  const TrialSizes z = {2, 3, 4, 5, 6, 7};
  CHECK(trial_shapes("b 2h t hm, n, s N", z) == TrialShapes{{2, 6, 4, 21}, {6}, {5, 6}});
  CHECK(trial_shapes("N", {1, 1, 1, 1, 3, 1}) == TrialShapes{{4}});
  for (const OpInfo& info : all_ops()) {
    CAPTURE(info.id);
    std::size_t tried = 0;
    for (const std::string_view trial : info.trials) {
      std::vector<Tensor> in;
      for (const auto& sizes : trial_shapes(trial, z)) in.push_back({"in", axes(sizes), {}});
      OpParams params;
      params.features = z.n;
      CHECK_FALSE(info.shape(views_of(in), params).empty());
      tried = std::max(tried, in.size());
      // What it can do without is left out now and then; what chooses never is, and what forbids
      // only where there may be nothing to forbid.
      for (std::size_t i = in.size(); i < info.inputs.size(); ++i)
        CHECK((info.inputs[i] == InputKind::kNumbers || info.inputs[i] == InputKind::kHeadBias ||
               info.inputs[i] == InputKind::kShares || info.op == Op::kFusedAttention));
    }
    for (std::size_t i = tried; i < info.inputs.size(); ++i)
      CHECK((info.inputs[i] == InputKind::kNumbers || info.inputs[i] == InputKind::kHeadBias));
  }
}

TEST_CASE("ops: some stand for each part that is timed, with shapes that they take") {
  std::set<TunePart> seen = {TunePart::kAttention};  // several calls as one: timed by itself
  for (const OpInfo& info : all_ops()) {
    CAPTURE(info.id);
    for (const TimedShapes& timed : info.timed) {
      seen.insert(timed.part);
      std::vector<Tensor> in;
      for (const auto& sizes : trial_shapes(timed.shapes, {2, 3, 4, 5, 6, 7}))
        in.push_back({"in", axes(sizes), {}});
      CHECK_FALSE(info.shape(views_of(in), {}).empty());
      CHECK(timed.gradient < static_cast<int>(in.size()));
      if (timed.gradient >= 0) CHECK_FALSE(info.is_fixed(place(timed.gradient)));
    }
  }
  CHECK(seen.size() == 1 + static_cast<std::size_t>(TunePart::kCells));
}

TEST_CASE("ops: work and bytes of a call by hand") {
  const auto flops = [&](Op op, std::vector<std::int64_t> first, std::vector<std::int64_t> out) {
    return call_flops(op_info(op), axes(std::move(first)), axes(std::move(out)), {});
  };
  CHECK(flops(Op::kLinear, {2, 3, 4}, {2, 3, 5}) == 2 * 6 * 4 * 5);
  CHECK(flops(Op::kProject, {2, 3, 4}, {2, 3, 6, 5}) == 2 * 6 * 4 * 30);
  CHECK(flops(Op::kScores, {1, 2, 3, 4}, {1, 2, 3, 7}) == 2 * 2 * 3 * 7 * 4);
  CHECK(flops(Op::kWeightedSum, {1, 2, 3, 7}, {1, 2, 3, 4}) == 2 * 2 * 3 * 7 * 4);
  const std::vector<Axis> q = axes({2, 6, 5, 4}), k = axes({2, 3, 9, 4}), z = axes({2, 6, 5, 7});
  const OpInfo& fused = op_info(Op::kFusedAttention);
  CHECK(call_multiply_adds(fused, q, z, k) == 2 * 6 * 5 * 9 * (4 + 7));
  CHECK(call_flops(fused, q, z, k) == 2 * 6 * 5 * 9 * (2 * (4 + 7) + 80));
  CHECK(call_multiply_adds(op_info(Op::kLinear), axes({2, 3, 4}), axes({2, 3, 5}), {}) ==
        6 * 4 * 5);
  CHECK(call_multiply_adds(op_info(Op::kAdd), axes({2, 3}), axes({2, 3}), axes({2, 3})) == 0);
  CHECK(flops(Op::kAdd, {2, 3}, {2, 3}) == 6);
  CHECK(flops(Op::kMeanPool, {2, 3, 4}, {2, 4}) == 2 * 24);
  CHECK(flops(Op::kCrossEntropy, {2, 9}, {2}) == 80 * 18);
  CHECK(op_info(Op::kLinear).is_product());
  CHECK_FALSE(op_info(Op::kAdditiveScores).is_product());
  const auto bytes = [&](Op op, const std::vector<Tensor>& in, std::vector<std::int64_t> out) {
    const std::vector<Axis> made = axes(std::move(out));
    return call_bytes(op_info(op), views_of(in), {"out", made, nullptr});
  };
  const Tensor x = {"x", axes({2, 3}), {}}, table = {"W", axes({100, 5}), {}};
  CHECK(bytes(Op::kSoftmax, {x}, {2, 3}) == 4 * 12);
  CHECK(bytes(Op::kAdd, {x, x}, {2, 3}) == 4 * 18);
  CHECK(bytes(Op::kEmbed, {x, table}, {2, 3, 5}) == 4 * (6 + 30 + 30));  // six rows of the table
  CHECK(bytes(Op::kSinusoid, {x}, {2, 3, 5}) == 4 * 30);                 // tokens are not read
}

}  // namespace headlight::test_op_data
