// Mixtures of experts on the device: the products of all experts, the gate's best, the mixture, the
// load.
#include <algorithm>

#include "app/gl/compute/ops/gl_ops.h"

namespace headlight {
namespace {

struct Sizes {
  std::int64_t batch, experts, positions, inner, outer;
  bool own;  // each expert has rows of its own
};
Sizes sizes_of(const GlOpCall& c) {
  return {c.out_size(0), c.out_size(1), c.out_size(2),
          c.size(1, 1),  c.out_size(3), c.axes[0].size() == 4};
}

// How many experts are heard; 0 asks for all.
std::int64_t best_of(const GlOpCall& c, std::int64_t experts, std::int64_t otherwise) {
  const std::int64_t best = c.call.params.best;
  return best <= 0 ? otherwise : std::min(best, experts);
}

}  // namespace

bool GlOps::experts_fit(const GlOpCall& c) const {
  if (c.call.op != Op::kExpertLinear) return true;
  const Sizes z = sizes_of(c);
  const auto& count = limits_.group_count;
  const std::int64_t highest = std::max(z.positions, z.inner), widest = std::max(z.inner, z.outer);
  return z.batch * z.experts <= count[2] && parts_of(highest, table_.product.rows) <= count[1] &&
         parts_of(widest, std::min(table_.product.columns, table_.few.columns)) <= count[0];
}

void GlOps::forward_experts(const GlOpCall& c) {
  switch (c.call.op) {
    case Op::kExpertLinear: {
      const Sizes z = sizes_of(c);
      return run_product(Kernel::kExpertLinear, z.batch * z.experts, z.positions, z.outer,
                         {c.in[0], c.in[1], c.has_bias() ? c.in[2] : c.in[1], c.out},
                         {{"experts", z.experts},
                          {"positions", z.positions},
                          {"inner", z.inner},
                          {"outer", z.outer},
                          {"own", z.own},
                          {"has_bias", c.has_bias()}});
    }
    case Op::kTopExperts: {
      const std::int64_t n = c.out_size(2);
      return run_cells(Kernel::kTopExperts, c.cells(), {c.in[0], c.out},
                       {{"cells", c.cells()}, {"experts", n}, {"best", best_of(c, n, n)}});
    }
    case Op::kMix:
      return run_cells(Kernel::kMix, c.cells(), {c.in[0], c.in[1], c.out},
                       {{"cells", c.cells()},
                        {"experts", c.size(0, 2)},
                        {"positions", c.size(0, 1)},
                        {"width", c.out_size(2)}});
    default:
      break;
  }
  const std::int64_t rows = c.size(0, 0), n = c.size(0, 2);
  run_rows(Kernel::kLoadBalance, rows, n, {c.in[0], c.in[1], c.in[2], c.out},
           {{"rows", rows},
            {"positions", c.size(0, 1)},
            {"experts", n},
            {"targets", c.cells() / std::max<std::int64_t>(rows, 1)},
            {"best", best_of(c, n, 1)},
            {"factor", c.call.params.factor}});
}

void GlOps::backward_experts(const GlOpCall& c, const GlOpGradients& d) {
  switch (c.call.op) {
    case Op::kExpertLinear:
      return backward_expert_linear(c, d);
    case Op::kMix:
      return backward_mix(c, d);
    default:
      break;
  }
  if (d.d_in[0] == 0) return;
  const std::int64_t cells = cell_count(c.axes[0]), n = c.size(0, 2);
  const GlUniform count("cells", cells), experts("experts", n), adds("adds", d.adds[0]);
  if (c.call.op == Op::kTopExperts)
    return run_cells(Kernel::kTopExpertsBackward, cells, {c.in[0], c.out, d.d_out, d.d_in[0]},
                     {count, experts, adds, {"best", best_of(c, n, n)}});
  run_cells(Kernel::kLoadBalanceBackward, cells, {c.in[0], c.in[1], c.in[2], d.d_out, d.d_in[0]},
            {count,
             experts,
             adds,
             {"positions", c.size(0, 1)},
             {"targets", c.cells() / c.size(0, 0)},
             {"best", best_of(c, n, 1)},
             {"factor", c.call.params.factor}});
}

void GlOps::backward_expert_linear(const GlOpCall& c, const GlOpGradients& d) {
  const Sizes z = sizes_of(c);
  const GlUniform experts("experts", z.experts), positions("positions", z.positions);
  const GlUniform inner("inner", z.inner), outer("outer", z.outer);
  if (d.d_in[0] != 0)
    run_product(
        Kernel::kExpertLinearBackwardX, z.own ? z.batch * z.experts : z.batch, z.positions, z.inner,
        {c.in[1], d.d_out, d.d_in[0]},
        {experts, positions, inner, outer, {"summed", z.own ? 1 : z.experts}, {"adds", d.adds[0]}});
  if (d.d_in[1] != 0)
    run_product(Kernel::kExpertLinearBackwardW, z.experts, z.inner, z.outer,
                {c.in[0], d.d_out, d.d_in[1]},
                {{"batch", z.batch},
                 experts,
                 positions,
                 inner,
                 outer,
                 {"own", z.own},
                 {"adds", d.adds[1]}});
  if (!c.has_bias() || d.d_in[2] == 0) return;
  run_cells(
      Kernel::kExpertBiasBackward, z.experts * z.outer, {d.d_out, d.d_in[2]},
      {{"cells", z.experts * z.outer}, {"batch", z.batch}, positions, outer, {"adds", d.adds[2]}});
}

void GlOps::backward_mix(const GlOpCall& c, const GlOpGradients& d) {
  const GlUniform experts("experts", c.size(0, 2)), positions("positions", c.size(0, 1));
  const GlUniform width("width", c.out_size(2));
  const std::int64_t weights = cell_count(c.axes[0]), said = cell_count(c.axes[1]);
  if (d.d_in[0] != 0)
    run_cells(Kernel::kMixBackwardG, weights, {c.in[1], d.d_out, d.d_in[0]},
              {{"cells", weights}, experts, positions, width, {"adds", d.adds[0]}});
  if (d.d_in[1] != 0)
    run_cells(Kernel::kMixBackwardX, said, {c.in[0], d.d_out, d.d_in[1]},
              {{"cells", said}, experts, positions, width, {"adds", d.adds[1]}});
}

}  // namespace headlight
