// The operations by distance on the cpu backend, forward and backward. A query meets the row of
// each distance once, as one product; which row a pair of query and key has is looked up in what
// that made.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/backends/cpu/pieces.h"
#include "core/ops/positions/distance.h"

namespace headlight::cpu {

class Distances {
 public:
  using Gradients = std::array<kernels::Into, 4>;  // no cells: not wanted

  explicit Distances(Pieces& pieces) : pieces_(pieces) {}
  /// kAlibi, kDistanceBias, kDistanceSinusoid, kRelativeScores, kRelativeSum, kShiftHeads.
  void run(const Call&);
  void run_backward(const Call&, const float* d_out, const Gradients& d_in);

 private:
  // The rows of a table that any pair of these queries and keys has: `count` from `first` on. They
  // are each head's own (heads), or the same for all.
  struct Used {
    DistanceRows rows;
    std::int64_t first = 0, count = 0;
    std::int64_t matrices = 1, queries = 0, keys = 0, width = 0, table = 0;
    bool own = false;
    std::int64_t row(std::int64_t distance) const { return rows.row(distance) - first; }
  };
  static Used used_of(const Call&, std::int64_t queries, std::int64_t keys);

  void alibi(const Call&);
  void bias(const Call&);
  void bias_backward(const Call&, const float* d_out, kernels::Into table);
  void sinusoid(const Call&);
  void shift(const Call&);
  void shift_backward(const Call&, const float* d_out, kernels::Into shift);
  void scores(const Call&);
  void scores_backward(const Call&, const float* d_out, const Gradients&);
  void sum(const Call&);
  void sum_backward(const Call&, const float* d_out, const Gradients&);

  void pass(const Call&, const float* d_out, kernels::Into);
  // meetings (matrix, query, used row) = x (matrix, query, width) · rowsᵀ
  float* meet(const Used&, const float* x, const float* rows);
  // pairs (matrix, query, key) = what its row has in the meetings; and back, where pairs of one row
  // add up.
  void spread(const Used&, const OpParams&, const float* meetings, kernels::Into pairs);
  float* gather(const Used&, const OpParams&, const float* pairs);
  // table += meetingsᵀ · x
  void add_to_table(const Used&, const float* meetings, const float* x, kernels::Into table);
  void find_buckets(const Call&);
  float* scratch(std::int64_t cells);

  Pieces& pieces_;
  FloatBuffer scratch_;
  std::vector<std::int64_t> buckets_;  // by distance, from the farthest behind a query on
  std::vector<double> sums_;
};

}  // namespace headlight::cpu
