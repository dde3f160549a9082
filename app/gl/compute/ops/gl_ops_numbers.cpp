// Numbers as tokens on the device: what a token stands for, and how likely each number of the grid
// is.
#include <algorithm>

#include "app/gl/compute/ops/gl_ops.h"

namespace headlight {

void GlOps::forward_numbers(const GlOpCall& c) {
  const GlUniform cells("cells", c.cells());
  if (c.call.op == Op::kNumber)
    return run_cells(Kernel::kNumber, c.cells(), {c.in[0], c.out},
                     {cells, {"numbers", c.call.params.features}});
  // Of one number the kernel reads nothing but that.
  const bool mixture = c.inputs > 1;
  run_cells(Kernel::kMixtureLogits, c.cells(),
            {c.in[0], mixture ? c.in[1] : c.in[0], mixture ? c.in[2] : c.in[0], c.out},
            {cells,
             {"components", c.size(0, 2)},
             {"numbers", c.out_size(2)},
             {"is_mixture", mixture},
             {"factor", c.call.params.factor}});
}

void GlOps::backward_numbers(const GlOpCall& c, const GlOpGradients& d) {
  if (c.call.op == Op::kNumber) return;  // ids are chosen
  const bool mixture = c.inputs > 1;
  const std::int64_t cells = cell_count(c.axes[0]);
  for (std::size_t part = 0; part < c.inputs; ++part) {
    if (d.d_in[part] == 0) continue;
    run_cells(Kernel::kMixtureLogitsBackward, cells,
              {c.in[0], mixture ? c.in[1] : c.in[0], mixture ? c.in[2] : c.in[0], c.out, d.d_out,
               d.d_in[part]},
              {{"cells", cells},
               {"components", c.size(0, 2)},
               {"numbers", c.out_size(2)},
               {"is_mixture", mixture},
               {"factor", c.call.params.factor},
               {"part", static_cast<std::int64_t>(part)},
               {"adds", d.adds[part]}});
  }
}

}  // namespace headlight
