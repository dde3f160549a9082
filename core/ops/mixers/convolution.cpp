// A convolution over positions, as PyTorch's nn.Conv1d: each row is made of the rows in a window
// around it, by the same weights at every place of the text.
#include <algorithm>

#include "core/ops/mixers/convolution.h"

namespace headlight {

namespace {

struct Sizes {
  std::int64_t batch, positions, width, kernel, out;
};
Sizes sizes_of(std::span<const TensorView> in) {
  const auto &x = in[0].axes, &w = in[1].axes;
  return {x[0].size, x[1].size, x[2].size, w[0].size, w[2].size};
}

// x (batch, position, n), W (tap, n, m), present (batch, position), b (m, may be left out)
//   -> (batch, position, m)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams& params) {
  expect_inputs("convolution", in, 3, 4);
  const auto &x = in[0].axes, &w = in[1].axes, &m = in[2].axes;
  bool fits = x.size() == 3 && w.size() == 3 && m.size() == 2 && x[2].size == w[1].size;
  fits = fits && m[0].size == x[0].size && m[1].size == x[1].size && params.dilation > 0;
  if (fits && in.size() > 3) fits = in[3].axes.size() == 1 && in[3].axes[0].size == w[2].size;
  if (!fits)
    shape_error("convolution", in,
                "x (batch, position, n), W (tap, n, m), present (batch, position) and b (m)");
  return {x[0], x[1], {"feature", w[2].size}};
}

// The row that tap k of the window at row t reads: −1 where that is beyond the ends, or padding.
std::int64_t row_read(const Sizes& z, const float* present, const OpParams& params, std::int64_t b,
                      std::int64_t t, std::int64_t k) {
  const std::int64_t row = t + window_shift(k, z.kernel, params);
  const bool inside = row >= 0 && row < z.positions && present[b * z.positions + row] != 0;
  return inside ? row : -1;
}

// y[t, e] = b[e] + Σ_k Σ_d W[k, d, e] · x[t + shift(k), d], where shift(k) = (k − K + 1) · D of a
// window that looks back only, and k · D − ⌊D (K − 1) / 2⌋ of one that is centred. Rows beyond the
// ends, and those of padding, count as zeros.
void forward(const OpArgs& args) {
  const Sizes z = sizes_of(args.in);
  std::vector<double> sum(static_cast<std::size_t>(z.out));
  for (std::int64_t r = 0; r < z.batch * z.positions; ++r) {
    for (std::int64_t e = 0; e < z.out; ++e)
      sum[static_cast<std::size_t>(e)] = args.in.size() > 3 ? args.in[3].data[e] : 0.0;
    for (std::int64_t k = 0; k < z.kernel; ++k) {
      const std::int64_t b = r / z.positions;
      const std::int64_t row = row_read(z, args.in[2].data, args.params, b, r % z.positions, k);
      if (row < 0) continue;
      const float* x = args.in[0].data + (b * z.positions + row) * z.width;
      for (std::int64_t d = 0; d < z.width; ++d) {
        const float* w = args.in[1].data + (k * z.width + d) * z.out;
        for (std::int64_t e = 0; e < z.out; ++e)
          sum[static_cast<std::size_t>(e)] += static_cast<double>(x[d]) * w[e];
      }
    }
    for (std::int64_t e = 0; e < z.out; ++e)
      args.result[r * z.out + e] = static_cast<float>(sum[static_cast<std::size_t>(e)]);
  }
}

// dx[t + shift(k), d] += Σ_e dy[t, e] · W[k, d, e]
// dW[k, d, e]         += Σ_t x[t + shift(k), d] · dy[t, e]
// db[e]               += Σ_t dy[t, e]
void backward(const OpGradArgs& args) {
  const Sizes z = sizes_of(args.in);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> d_x(at(args.in[0].size())), d_w(at(args.in[1].size())), d_b(at(z.out));
  for (std::int64_t r = 0; r < z.batch * z.positions; ++r) {
    const float* dy = args.d_out + r * z.out;
    const std::int64_t b = r / z.positions;
    for (std::int64_t e = 0; e < z.out; ++e) d_b[at(e)] += dy[e];
    for (std::int64_t k = 0; k < z.kernel; ++k) {
      const std::int64_t row = row_read(z, args.in[2].data, args.params, b, r % z.positions, k);
      if (row < 0) continue;
      for (std::int64_t d = 0; d < z.width; ++d) {
        const std::int64_t x = (b * z.positions + row) * z.width + d;
        for (std::int64_t e = 0; e < z.out; ++e) {
          const std::int64_t w = (k * z.width + d) * z.out + e;
          d_x[at(x)] += static_cast<double>(dy[e]) * args.in[1].data[w];
          d_w[at(w)] += static_cast<double>(args.in[0].data[x]) * dy[e];
        }
      }
    }
  }
  const auto add = [&](std::size_t input, const std::vector<double>& d) {
    float* cells = input < args.in.size() ? args.d_in[input] : nullptr;
    for (std::size_t i = 0; cells && i < d.size(); ++i)
      cells[i] = static_cast<float>(cells[i] + d[i]);
  };
  add(0, d_x);
  add(1, d_w);
  add(3, d_b);
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const Sizes z = sizes_of(args.in);
  OpExplanation result;
  result.formula = "Σ_k Σ_d W[k, d, e] · x[t + shift(k), d]";
  if (args.in.size() > 3) result.formula += " + b[e]";
  for (std::int64_t k = 0; k < z.kernel; ++k) {
    const std::int64_t row = row_read(z, args.in[2].data, args.params, index[0], index[1], k);
    for (std::int64_t d = 0; row >= 0 && d < z.width; ++d) {
      const std::vector<std::int64_t> cell = {index[0], row, d}, weight = {k, d, index[2]};
      result.terms.push_back(
          {{0, cell}, args.in[0].at(cell), args.in[1].at(weight), {{1, weight}}, ""});
    }
  }
  if (args.in.size() > 3) {
    const std::vector<std::int64_t> bias = {index[2]};
    result.terms.push_back({{3, bias}, args.in[3].at(bias), 1.0, {}, Message("explain.note.bias")});
  }
  if (result.terms.empty()) result.why = "explain.empty_window";
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  const Sizes z = sizes_of(args.in);
  if (input == 2) return without_gradient();
  if (input == 3) return column_gradient(args, index[0], "Σ_t dy[t, e]");
  OpExplanation result;
  result.formula =
      input == 0 ? "Σ_k Σ_e dy[t − shift(k), e] · W[k, d, e]" : "Σ_t dy[t, e] · x[t + shift(k), d]";
  if (input == 0) {
    for (std::int64_t k = 0; k < z.kernel; ++k) {
      const std::int64_t t = index[1] - window_shift(k, z.kernel, args.params);
      const bool reads = t >= 0 && t < z.positions &&
                         row_read(z, args.in[2].data, args.params, index[0], t, k) == index[1];
      for (std::int64_t e = 0; reads && e < z.out; ++e) {
        const std::vector<std::int64_t> weight = {k, index[2], e};
        result.terms.push_back(
            gradient_term(args, {index[0], t, e}, args.in[1].at(weight), {{1, weight}}));
      }
    }
  } else {
    for (std::int64_t r = 0; r < z.batch * z.positions; ++r) {
      const std::int64_t b = r / z.positions, t = r % z.positions;
      const std::int64_t row = row_read(z, args.in[2].data, args.params, b, t, index[0]);
      if (row < 0) continue;
      const std::vector<std::int64_t> cell = {b, row, index[1]};
      result.terms.push_back(
          gradient_term(args, {b, t, index[2]}, args.in[0].at(cell), {{0, cell}}));
    }
  }
  if (result.terms.empty()) return zero_gradient(result.formula, "explain.no_window");
  return result;
}

// The weights of all taps stand one below the other.
std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  Pane x = matrix_pane(args.in[0], 0, PaneRole::kOperand, 0);
  x.row_follow = x.column_follow = Follow::kFree;  // of the rows in the window, all
  Pane w = matrix_pane(args.in[1], 1, PaneRole::kOperand, 0);
  w.rows = args.in[1].axes[0].size * args.in[1].axes[1].size;
  w.row_axis = "tap";
  w.row_follow = Follow::kFree;
  std::vector<Pane> all = {x, w};
  if (args.in.size() > 3) all.push_back(vector_pane(args.in[3], 3, PaneRole::kRowVector));
  all.push_back(matrix_pane(args.out, -1, PaneRole::kResult, 0));
  return all;
}

std::string code(const CodeArgs& c, bool torch) {
  const std::int64_t kernel = c.args.in[1].axes[0].size;
  const std::int64_t left = -window_shift(0, kernel, c.args.params);
  const std::int64_t dilation = c.args.params.dilation;
  const std::int64_t right = dilation * (kernel - 1) - left;
  const std::string &x = c.in[0], &w = c.in[1];
  const std::string counted = x + " * (" + c.in[2] + " != 0)[:, None]";
  if (torch) {
    // nn.Conv1d has the channels first: (out, in, tap) weights, (in, position) rows.
    return "padded = F.pad((" + counted + ").T, (" + std::to_string(left) + ", " +
           std::to_string(right) + "))\n" + c.out + " = F.conv1d(padded[None], " + w +
           ".permute(2, 1, 0)" + (c.in.size() > 3 ? ", " + c.in[3] : "") +
           ", dilation=" + std::to_string(dilation) + ")[0].T  # " + code_shape(c.args.out) + "\n";
  }
  return "T = len(" + x + ")\npadded = np.pad(" + counted + ", ((" + std::to_string(left) + ", " +
         std::to_string(right) + "), (0, 0)))\n" + c.out + " = sum(padded[k * " +
         std::to_string(dilation) + ":][:T] @ " + w + "[k] for k in range(" +
         std::to_string(kernel) + "))" + (c.in.size() > 3 ? " + " + c.in[3] : "") + "  # " +
         code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& convolution_op() {
  static const OpInfo info{
      .op = Op::kConvolution,
      .id = "convolution",
      .phrase = "the rows in a window, by the window's weights",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = [](const CodeArgs& c) { return code(c, false); },
      .torch = [](const CodeArgs& c) { return code(c, true); },
      .inputs = {InputKind::kNumbers, InputKind::kNumbers, InputKind::kPresence,
                 InputKind::kNumbers},
      .errors = ErrorClass::kProducts,
      .work = {.flops = 6, .per = WorkPer::kTerm},
      .trials = {"b t n, 3 n m, b t, m", "b t n, 2 n m, b t"},
  };
  return info;
}

}  // namespace headlight
