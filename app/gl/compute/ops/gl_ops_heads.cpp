// What attention does to whole heads, on the device: one more key, heads switched off, their mean.
#include "app/gl/compute/ops/gl_ops.h"

namespace headlight {

void GlOps::forward_heads(const GlOpCall& c) {
  const GlUniform cells("cells", c.cells()), heads("heads", c.size(0, 1));
  const std::int64_t matrix = c.size(0, 2) * c.size(0, 3);
  if (c.call.op == Op::kAppendRow) {
    const bool row = c.inputs > 1;
    return run_cells(Kernel::kAppendRow, c.cells(), {c.in[0], row ? c.in[1] : c.in[0], c.out},
                     {cells, {"own", matrix}, {"width", c.size(0, 3)}, heads, {"has_row", row}});
  }
  if (c.call.op == Op::kMaskHeads)
    return run_cells(Kernel::kMaskHeads, c.cells(), {c.in[0], c.in[1], c.out},
                     {cells, {"adds", false}, heads, {"places", matrix}});
  run_cells(Kernel::kMeanHeads, c.cells(), {c.in[0], c.out}, {cells, heads, {"places", matrix}});
}

void GlOps::backward_heads(const GlOpCall& c, const GlOpGradients& d) {
  const std::int64_t cells = cell_count(c.axes[0]), matrix = c.size(0, 2) * c.size(0, 3);
  const GlUniform heads("heads", c.size(0, 1)), width("width", c.size(0, 3));
  if (c.call.op == Op::kAppendRow && c.inputs > 1 && d.d_in[1] != 0) {
    const std::int64_t rows = cell_count(c.axes[1]);
    run_cells(
        Kernel::kAppendRowBackwardRow, rows, {d.d_out, d.d_in[1]},
        {{"cells", rows}, {"adds", d.adds[1]}, {"own", matrix}, width, {"batch", c.size(0, 0)}});
  }
  if (d.d_in[0] == 0 || cells == 0) return;
  const GlUniform count("cells", cells), adds("adds", d.adds[0]), places("places", matrix);
  if (c.call.op == Op::kAppendRow)
    return run_cells(Kernel::kAppendRowBackward, cells, {d.d_out, d.d_in[0]},
                     {count, adds, {"own", matrix}, width});
  if (c.call.op == Op::kMaskHeads)
    return run_cells(Kernel::kMaskHeads, cells, {d.d_out, c.in[1], d.d_in[0]},
                     {count, adds, heads, places});
  run_cells(Kernel::kMeanHeadsBackward, cells, {d.d_out, d.d_in[0]}, {count, adds, heads, places});
}

}  // namespace headlight
