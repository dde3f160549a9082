// Convolutions on the device: products whose left operand is read through the window. Recurrent
// layers stay on the processor: their steps follow each other.
#include "app/gl/compute/ops/gl_ops.h"
#include "core/ops/mixers/convolution.h"

namespace headlight {

namespace {

struct Window {
  std::int64_t rows, positions, width, columns, taps, back;
  explicit Window(const GlOpCall& c)
      : rows(c.size(0, 0) * c.size(0, 1)),
        positions(c.size(0, 1)),
        width(c.size(0, 2)),
        columns(c.size(1, 2)),
        taps(c.size(1, 0)),
        back(-window_shift(0, taps, c.call.params)) {}
};

}  // namespace

void GlOps::convolution(const GlOpCall& c) {
  const Window w(c);
  const bool has_bias = c.inputs > 3;
  run_product(Kernel::kConvolution, 1, w.rows, w.columns,
              {c.in[0], c.in[1], c.in[2], has_bias ? c.in[3] : c.in[1], c.out},
              {{"rows", w.rows},
               {"columns", w.columns},
               {"width", w.width},
               {"inner", w.taps * w.width},
               {"positions", w.positions},
               {"dilation", c.call.params.dilation},
               {"back", w.back},
               {"has_bias", has_bias}});
}

void GlOps::backward_convolution(const GlOpCall& c, const GlOpGradients& d) {
  const Window w(c);
  const GlUniform rows("rows", w.rows), columns("columns", w.columns), width("width", w.width);
  const GlUniform positions("positions", w.positions), dilation("dilation", c.call.params.dilation);
  const GlUniform back("back", w.back);
  if (d.d_in[0] != 0)
    run_product(Kernel::kConvolutionBackwardX, 1, w.rows, w.width,
                {c.in[1], c.in[2], d.d_out, d.d_in[0]},
                {rows,
                 columns,
                 width,
                 {"inner", w.taps * w.columns},
                 positions,
                 dilation,
                 back,
                 {"adds", d.adds[0]}});
  if (d.d_in[1] != 0)
    run_product(Kernel::kConvolutionBackwardW, 1, w.taps * w.width, w.columns,
                {c.in[0], c.in[2], d.d_out, d.d_in[1]},
                {rows,
                 columns,
                 width,
                 {"inner", w.taps * w.width},
                 positions,
                 dilation,
                 back,
                 {"adds", d.adds[1]}});
  if (c.inputs > 3 && d.d_in[3] != 0)
    run_columns(Kernel::kBiasBackward, w.columns, {d.d_out, d.d_in[3]},
                {rows, columns, {"adds", d.adds[3]}});
}

}  // namespace headlight
