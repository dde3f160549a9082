// The rows of the segment before and those of this one, one under the other: what keys and values
// are made of where a model remembers (Dai et al. 2019, "Transformer-XL", equation in section 3.2).
#include <algorithm>

#include "core/ops/op.h"

namespace headlight {
namespace {

// memory (batch, memory, feature), x (batch, position, feature) -> (batch, key, feature), as many
// keys as both have rows
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("concat_rows", in, 2, 2);
  const auto &memory = in[0].axes, &x = in[1].axes;
  const bool fits = memory.size() == 3 && x.size() == 3 && memory[0].size == x[0].size &&
                    memory[2].size == x[2].size;
  if (!fits)
    shape_error("concat_rows", in,
                "memory (batch, memory, feature) and x (batch, position, feature)");
  return {x[0], {key_word(x[1].name), memory[1].size + x[1].size}, x[2]};
}

// y[b, j] = memory[b, j], and from j = M on x[b, j − M]
void forward(const OpArgs& args) {
  const std::int64_t batch = args.out.axes[0].size;
  float* y = args.result;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (const TensorView& from : args.in) {
      const std::int64_t cells = from.axes[1].size * from.axes[2].size;
      y = std::copy_n(from.data + b * cells, cells, y);
    }
  }
}

// dmemory[b, j] += dy[b, j], dx[b, t] += dy[b, M + t]
void backward(const OpGradArgs& args) {
  const std::int64_t batch = args.out.axes[0].size;
  const float* dy = args.d_out;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t cells = args.in[i].axes[1].size * args.in[i].axes[2].size;
      for (std::int64_t c = 0; args.d_in[i] && c < cells; ++c) args.d_in[i][b * cells + c] += dy[c];
      dy += cells;
    }
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t rows = args.in[0].axes[1].size;
  const bool remembered = index[1] < rows;
  const std::vector<std::int64_t> cell = {index[0], remembered ? index[1] : index[1] - rows,
                                          index[2]};
  const int input = remembered ? 0 : 1;
  return {{{{input, cell}, args.in[place(input)].at(cell), 1.0, {}, ""}},
          {},
          remembered ? "mem[j, f]" : "x[j − M, f]"};
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  const std::int64_t rows = input == 0 ? 0 : args.in[0].axes[1].size;
  return {{gradient_term(args, {index[0], index[1] + rows, index[2]})},
          {},
          input == 0 ? "dy[j, f]" : "dy[M + t, f]"};
}

// The rows of x lie further down in the result.
std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  std::vector<Pane> all = matrix_panes(args, 0);
  all[1].row_shift = args.in[0].axes[1].size;
  return all;
}

std::string code(const CodeArgs& c, const char* join, const char* axis) {
  return c.out + " = " + join + "([" + c.in[0] + ", " + c.in[1] + "], " + axis + "=0)  # " +
         code_shape(c.args.in[0]) + ", " + code_shape(c.args.in[1]) + " -> " +
         code_shape(c.args.out) + "\n";
}
std::string numpy(const CodeArgs& c) { return code(c, "np.concatenate", "axis"); }
std::string torch(const CodeArgs& c) { return code(c, "torch.cat", "dim"); }

}  // namespace

const OpInfo& concat_rows_op() {
  static const OpInfo info{
      .op = Op::kConcatRows,
      .id = "concat_rows",
      .phrase = "the rows of the segment before, then those of this one",
      .sign = ";",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .trials = {"b s n, b t n", "b 1 n, b t n"},
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
