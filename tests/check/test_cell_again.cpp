// A cell computed again from the few cells that were brought for it: the same as the whole
// operation makes, for every operation and every gradient, and nothing else is looked at.
#include "core/check/cell_again.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/support/op_cases.h"

namespace headlight::test_cell_again {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// `brought` counts the cells.
FarTensor far_away(const TensorView& there, std::size_t& brought) {
  return {there.axes, [there, &brought](std::span<const std::int64_t> cells, float* memory) {
            brought += cells.size();
            for (const std::int64_t cell : cells) memory[cell] = there.data[cell];
          }};
}

void spoil_the_rest(FarCall& call) {
  for (FarTensor& tensor : call.in) tensor.spoil(kNan);
  call.out.spoil(kNan);
  call.d_out.spoil(kNan);
}

bool near(double value, double expected, double size) {
  if (value == expected || (std::isnan(value) && std::isnan(expected))) return true;
  return std::fabs(value - expected) <= 1e-5 * std::max(std::fabs(expected), size) + 1e-12;
}

/// A case with a gradient that comes back, and what its inputs get of it.
struct Whole {
  explicit Whole(const Computed& c) : computed(c), d_out(place(static_cast<int>(c.out().size()))) {
    for (std::size_t i = 0; i < d_out.size(); ++i) d_out[i] = bell(31, i);
    std::vector<float*> places;
    const auto count = static_cast<int>(c.made().in.size());
    for (int i = 0; i < count; ++i) {
      d_in.emplace_back(static_cast<std::size_t>(c.tensor(i).size()), 0.0f);
      places.push_back(c.info().is_fixed(place(i)) ? nullptr : d_in.back().data());
    }
    c.info().backward({c.args().in, c.out(), c.made().params, d_out.data(), places});
  }

  FarCall far(std::size_t& brought) const {
    FarCall call{computed.info().op, computed.made().params, {}, {}, {}};
    // Ids, targets and masks are given, and known to whoever asks.
    for (std::size_t i = 0; i < computed.made().in.size(); ++i) {
      const TensorView there = computed.tensor(static_cast<int>(i));
      const bool here =
          computed.info().is_fixed(i) && computed.info().inputs[i] != InputKind::kDropout;
      call.in.push_back(here ? FarTensor(there) : far_away(there, brought));
    }
    const TensorView out = computed.out();
    call.out = far_away(out, brought);
    call.d_out = far_away({"d", out.axes, d_out.data()}, brought);
    return call;
  }

  void check(int input, std::int64_t cell, double expected) const {
    CAPTURE(input);
    CAPTURE(cell);
    std::size_t brought = 0;
    FarCall call = far(brought);
    const auto axes = input < 0 ? computed.out().axes : computed.tensor(input).axes;
    const auto index = unravel(axes, cell);
    const CellAgain again = cell_again(call, input, index);
    REQUIRE(again.known);
    CHECK_MESSAGE(near(again.value, expected, again.size), again.value, " is not ", expected);
    spoil_the_rest(call);
    const std::size_t before = brought;
    const CellAgain same = cell_again(call, input, index);
    CHECK(brought == before);
    CHECK(near(same.value, again.value, 0));
  }

  Computed computed;
  std::vector<float> d_out;
  std::vector<std::vector<float>> d_in;
};

}  // namespace

TEST_CASE("cell again: every cell of every operation, from what its explanation names") {
  for (const Computed& c : computed_cases()) {
    if (c.info().is_sequential) continue;  // a cell needs all rows before it
    CAPTURE(c.info().id);
    const Whole whole(c);
    for (std::int64_t cell = 0; cell < c.out().size(); ++cell)
      whole.check(-1, cell, static_cast<double>(c.out().data[cell]));
  }
}

TEST_CASE("cell again: every gradient of every operation") {
  for (const Computed& c : computed_cases()) {
    if (c.info().is_sequential) continue;  // a cell needs all rows before it
    CAPTURE(c.info().id);
    const Whole whole(c);
    for (std::size_t i = 0; i < c.made().in.size(); ++i) {
      if (c.info().is_fixed(i)) continue;
      for (std::size_t cell = 0; cell < whole.d_in[i].size(); ++cell)
        whole.check(static_cast<int>(i), static_cast<std::int64_t>(cell),
                    static_cast<double>(whole.d_in[i][cell]));
    }
  }
}

TEST_CASE("cell again: a product brings a row and a column, and what takes too much is not known") {
  const Tensor x = random_tensor("x", {{"position", 50}, {"feature", 30}});
  const Tensor w = random_tensor("w", {{"feature", 30}, {"hidden", 40}});
  const Computed product({Op::kLinear, {x, w}});
  std::size_t brought = 0;
  const Whole whole(product);  // whose axes the call looks at
  FarCall call = whole.far(brought);
  const std::int64_t index[] = {7, 11};
  CHECK(cell_again(call, -1, index).known);
  CHECK(brought <= 30 + 30 + 40);
  CHECK(brought >= 60);

  const auto rows = static_cast<std::int64_t>(kMostCellsAgain);
  const Computed tall({Op::kLinear,
                       {random_tensor("x", {{"position", rows}, {"feature", 1}}),
                        random_tensor("w", {{"feature", 1}, {"hidden", 1}})}});
  const Whole whole_tall(tall);
  FarCall large = whole_tall.far(brought);
  const std::int64_t corner[] = {0, 0};
  CHECK(cell_again(large, -1, corner).known);
  CHECK_FALSE(cell_again(large, 1, corner).known);
}

}  // namespace headlight::test_cell_again
