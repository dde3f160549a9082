// The sum of the shards' gradients: the same bits whoever comes first, also when one fails.
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "core/base/random.h"
#include "core/train/optim/gradient_sum.h"

namespace headlight::test_gradient_sum {

using namespace headlight;

namespace {

constexpr std::size_t kCells = 37;

std::vector<float> shard_cells(std::int64_t shard) {
  std::vector<float> cells(kCells);
  for (std::size_t i = 0; i < kCells; ++i) cells[i] = bell(static_cast<std::uint64_t>(shard), i);
  return cells;
}

std::vector<float> in_order(std::span<const std::int64_t> shards) {
  std::vector<float> sum(kCells, 0.0f);
  for (const std::int64_t shard : shards) {
    const std::vector<float> cells = shard_cells(shard);
    for (std::size_t i = 0; i < kCells; ++i) sum[i] += cells[i];
  }
  return sum;
}

std::vector<float> cells_of(GradientSum& sum) { return {sum.cells().begin(), sum.cells().end()}; }

}  // namespace

TEST_CASE("gradient sum: shards that come before their turn are added in it") {
  GradientSum sum;
  sum.resize(kCells, 3);
  for (int round = 0; round < 2; ++round) {
    sum.begin(true);
    for (const std::int64_t shard : {2, 1, 0, 3}) {
      std::vector<float> cells = shard_cells(shard);
      sum.add(shard, cells);
      cells.assign(kCells, 1e30f);  // whose cells they were may go on at once
    }
    CHECK(cells_of(sum) == in_order(std::vector<std::int64_t>{0, 1, 2, 3}));
  }
  CHECK(cells_of(sum) != in_order(std::vector<std::int64_t>{2, 1, 0, 3}));
  CHECK(sum.memory_bytes() == 4 * kCells * sizeof(float));
}

TEST_CASE("gradient sum: a batch can be added to the one before, and a failed shard adds nothing") {
  GradientSum sum;
  sum.resize(kCells, 2);
  sum.begin(true);
  sum.add(1, shard_cells(1));
  { const ShardTurn failed(sum, 0); }
  CHECK(cells_of(sum) == shard_cells(1));
  sum.begin(false);
  {
    const std::vector<float> cells = shard_cells(2);
    ShardTurn turn(sum, 0);
    turn.found(cells);
  }
  CHECK(cells_of(sum) == in_order(std::vector<std::int64_t>{1, 2}));
}

TEST_CASE("gradient sum: who finds no room waits for the turn") {
  GradientSum sum;
  sum.resize(kCells, 2);
  for (int round = 0; round < 20; ++round) {
    sum.begin(true);
    std::thread ahead([&] {
      for (const std::int64_t shard : {1, 2, 3, 5}) sum.add(shard, shard_cells(shard));
    });
    sum.add(0, shard_cells(0));
    sum.add(4, shard_cells(4));
    ahead.join();
    CHECK(cells_of(sum) == in_order(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  }
}

}  // namespace headlight::test_gradient_sum
