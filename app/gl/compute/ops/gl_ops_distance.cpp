// The operations by distance, forward and backward.
#include <bit>

#include "app/gl/compute/ops/gl_ops.h"
#include "core/ops/positions/distance.h"

namespace headlight {
namespace {

std::vector<std::uint32_t> slopes_of(std::int64_t heads) {
  std::vector<std::uint32_t> words;
  for (std::int64_t h = 0; h < heads; ++h)
    words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(alibi_slope(h, heads))));
  return words;
}

// Of each distance that any query has to any key, from the farthest key behind the first query on.
std::vector<std::uint32_t> buckets_of(const GlOpCall& c) {
  const std::int64_t keys = c.out_size(3), all = c.out_size(2) + keys - 1;
  std::vector<std::uint32_t> words;
  for (std::int64_t i = 0; i < all; ++i) {
    const std::int64_t distance = distance_of(c.call.params, 0, keys - 1) + i;
    words.push_back(
        static_cast<std::uint32_t>(distance_bucket(distance, c.size(1, 1), c.call.params)));
  }
  return words;
}

}  // namespace

std::int64_t GlOps::distance_groups(const GlOpCall& c) {
  switch (c.call.op) {
    case Op::kDistanceBias:
    case Op::kRelativeScores:
    case Op::kRelativeSum:
    case Op::kShiftHeads:
      return cell_count(c.axes[1]);
    default:
      return 0;
  }
}

void GlOps::forward_distance(const GlOpCall& c) {
  const std::int64_t cells = c.cells(), offset = c.call.params.offset;
  const GlUniform count("cells", cells), heads("heads", c.out_size(1));
  switch (c.call.op) {
    case Op::kAlibi:
      return run_cells(
          Kernel::kAlibi, cells, {c.in[0], launcher_.table(slopes_of(c.out_size(1))), c.out},
          {count, heads, {"queries", c.out_size(2)}, {"keys", c.out_size(3)}, {"offset", offset}});
    case Op::kDistanceBias:
      return run_cells(Kernel::kDistanceBias, cells,
                       {c.in[0], launcher_.table(buckets_of(c)), c.in[1], c.out},
                       {count,
                        heads,
                        {"queries", c.out_size(2)},
                        {"keys", c.out_size(3)},
                        {"buckets", c.size(1, 1)}});
    case Op::kDistanceSinusoid:
      return run_cells(Kernel::kDistanceSinusoid, cells,
                       {launcher_.turns(c.out_size(2), 10000), c.out},
                       {count,
                        {"count", c.out_size(1)},
                        {"width", c.out_size(2)},
                        {"ahead", c.call.params.causal ? 0 : c.size(0, 1) - 1}});
    case Op::kRelativeScores:
      return meet_distances(Kernel::kRelativeScores, c, c.in[0], {c.in[1], c.out, false});
    case Op::kRelativeSum:
      return meet_distances(Kernel::kRelativeSum, c, c.in[0], {c.in[1], c.out, false});
    default:
      return run_cells(Kernel::kShiftHeads, cells, {c.in[0], c.in[1], c.out},
                       {count, heads, {"queries", c.out_size(2)}, {"width", c.out_size(3)}});
  }
}

// Each product of the scores' or the sum's kind, and its gradients, is one of three: numbers of
// queries with rows of distances, rows weighted by pairs, or what all pairs of a distance add up
// to.
void GlOps::meet_distances(Kernel kernel, const GlOpCall& c, unsigned x, const GlMeeting& m) {
  const bool scores = c.call.op == Op::kRelativeScores;
  const std::span<const Axis> pairs = scores ? c.out_axes : c.axes[0];
  const std::span<const Axis> a = c.axes[1];
  const std::int64_t rows = a[a.size() - 2].size, width = a.back().size;
  const std::int64_t queries = pairs[2].size, keys = pairs[3].size;
  const std::int64_t matrices = pairs[0].size * pairs[1].size;
  const std::int64_t tables = a.size() == 4 ? matrices : 1;
  const GlUniform adds("adds", m.adds), query_count("queries", queries), key_count("keys", keys);
  const GlUniform wide("width", width), row_count("rows", rows), table_count("tables", tables);
  const GlUniform ahead("ahead", DistanceRows(rows, c.call.params).ahead);
  const GlUniform offset("offset", c.call.params.offset);
  if (kernel == Kernel::kRelativeTable) {
    const std::int64_t cells = tables * rows * width;
    return run_rows(kernel, cells, matrices / tables * queries, {x, m.with, m.into},
                    {{"cells", cells},
                     {"matrices", matrices},
                     query_count,
                     key_count,
                     wide,
                     row_count,
                     table_count,
                     ahead,
                     offset,
                     adds});
  }
  const std::int64_t cells =
      matrices * queries * (kernel == Kernel::kRelativeScores ? keys : width);
  run_cells(kernel, cells, {x, m.with, m.into},
            {{"cells", cells},
             query_count,
             key_count,
             wide,
             row_count,
             table_count,
             ahead,
             offset,
             adds});
}

void GlOps::backward_distance(const GlOpCall& c, const GlOpGradients& d) {
  const bool passes =
      c.call.op == Op::kAlibi || c.call.op == Op::kDistanceBias || c.call.op == Op::kShiftHeads;
  if (passes && d.d_in[0] != 0)
    run_cells(Kernel::kAddBackward, c.cells(), {d.d_out, d.d_in[0]},
              {{"cells", c.cells()}, {"adds", d.adds[0]}});
  switch (c.call.op) {
    case Op::kDistanceBias:
      return backward_buckets(c, d);
    case Op::kShiftHeads:
      return backward_shift(c, d);
    case Op::kRelativeScores:
      if (d.d_in[0] != 0)
        meet_distances(Kernel::kRelativeSum, c, d.d_out, {c.in[1], d.d_in[0], d.adds[0]});
      if (d.d_in[1] != 0)
        meet_distances(Kernel::kRelativeTable, c, d.d_out, {c.in[0], d.d_in[1], d.adds[1]});
      return;
    case Op::kRelativeSum:
      if (d.d_in[0] != 0)
        meet_distances(Kernel::kRelativeScores, c, d.d_out, {c.in[1], d.d_in[0], d.adds[0]});
      if (d.d_in[1] != 0)
        meet_distances(Kernel::kRelativeTable, c, c.in[0], {d.d_out, d.d_in[1], d.adds[1]});
      return;
    default:
      return;
  }
}

void GlOps::backward_buckets(const GlOpCall& c, const GlOpGradients& d) {
  if (d.d_in[1] == 0) return;
  const std::int64_t cells = cell_count(c.axes[1]), pairs = c.out_size(2) * c.out_size(3);
  run_rows(Kernel::kDistanceBiasBackward, cells, pairs,
           {d.d_out, launcher_.table(buckets_of(c)), d.d_in[1]},
           {{"cells", cells},
            {"batch", c.out_size(0)},
            {"heads", c.out_size(1)},
            {"queries", c.out_size(2)},
            {"keys", c.out_size(3)},
            {"buckets", c.size(1, 1)},
            {"adds", d.adds[1]}});
}

void GlOps::backward_shift(const GlOpCall& c, const GlOpGradients& d) {
  if (d.d_in[1] == 0) return;
  const std::int64_t cells = cell_count(c.axes[1]);
  run_rows(Kernel::kShiftHeadsBackward, cells, c.out_size(0) * c.out_size(2), {d.d_out, d.d_in[1]},
           {{"cells", cells},
            {"batch", c.out_size(0)},
            {"heads", c.out_size(1)},
            {"queries", c.out_size(2)},
            {"width", c.out_size(3)},
            {"adds", d.adds[1]}});
}

}  // namespace headlight
