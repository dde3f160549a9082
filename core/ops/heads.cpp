// Splitting a row into heads, and laying the heads side by side again. Nothing is computed: every
// cell is a cell of the input, found at another place.
#include "core/base/error.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

// ---- split ----

// x (batch, position, feature = head · d_head), W (head, d_model, d_head) lends the sizes
//   -> (batch, head, position, d_head)
std::vector<Axis> split_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("split_heads", in, 2, 2);
  const auto& x = in[0].axes;
  const auto& w = in[1].axes;
  if (x.size() != 3 || w.size() != 3 || x[2].size != w[0].size * w[2].size) {
    shape_error("split_heads", in, "x (batch, position, head · d_head) and W (head, n, d_head)");
  }
  return {x[0], {w[0].name == "kv_head" ? w[0].name : "head", w[0].size}, x[1], w[2]};
}

TermNote from_head(std::int64_t h) {
  return Message("explain.note.from_head", {{"head", std::to_string(h)}});
}

// y[b, h, t, e] = x[b, t, h·d_head + e]
void split_forward(const OpArgs& args) {
  const auto& out = args.out.axes;
  const std::int64_t heads = out[1].size, positions = out[2].size, width = out[3].size;
  float* y = args.result;
  for (std::int64_t b = 0; b < out[0].size; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < positions; ++t) {
        const float* x = args.in[0].data + ((b * positions + t) * heads + h) * width;
        for (std::int64_t e = 0; e < width; ++e) *y++ = x[e];
      }
    }
  }
}

// dx[b, t, h·d_head + e] += dy[b, h, t, e]: every number goes back to where it was found
void split_backward(const OpGradArgs& args) {
  const auto& out = args.out.axes;
  const std::int64_t heads = out[1].size, positions = out[2].size, width = out[3].size;
  const float* dy = args.d_out;
  for (std::int64_t b = 0; args.d_in[0] && b < out[0].size; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < positions; ++t) {
        float* dx = args.d_in[0] + ((b * positions + t) * heads + h) * width;
        for (std::int64_t e = 0; e < width; ++e) dx[e] += *dy++;
      }
    }
  }
}

OpExplanation split_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t width = args.out.axes[3].size;
  const std::vector<std::int64_t> cell = {index[0], index[2], index[1] * width + index[3]};
  return {{{{0, cell}, args.in[0].at(cell), 1.0, {}, Message("explain.note.in_its_head")}},
          {},
          "x[t, h · d_head + d]"};
}

OpExplanation split_explain_gradient(const OpGradArgs& args, int input,
                                     std::span<const std::int64_t> index) {
  if (input != 0) return without_gradient();
  const std::int64_t width = args.out.axes[3].size, h = index[2] / width;
  OpTerm term = gradient_term(args, {index[0], h, index[1], index[2] % width});
  term.note = from_head(h);
  return {{term}, {{"head", static_cast<double>(h)}}, "dy[f div d_head, t, f mod d_head]"};
}

std::vector<Pane> split_panes(const OpArgs& args, std::int64_t head) {
  Pane all = matrix_pane(args.in[0], 0, PaneRole::kOperand, 0);
  all.column_shift = -head * args.out.axes[3].size;
  all.head_columns = args.out.axes[3].size;
  Pane own = matrix_pane(args.out, -1, PaneRole::kResult, head);
  own.head_columns = own.columns;
  own.first_head = head;
  return {all, own};
}

// (T, H · d_head) -> (T, H, d_head) -> (H, T, d_head)
std::string split_code(const CodeArgs& c, const std::string& swap) {
  const TensorView& out = c.args.out;
  return c.out + " = " + c.in[0] + ".reshape(" + code_size(out, 2) + ", " + code_size(out, 3) +
         ", " + code_size(out, 1) + ")" + swap + "  # " + code_shape(c.args.in[0]) + " -> " +
         code_shape(out) + "\n";
}
std::string split_numpy(const CodeArgs& c) { return split_code(c, ".transpose(1, 0, 2)"); }
std::string split_torch(const CodeArgs& c) { return split_code(c, ".transpose(0, 1)"); }

// ---- concat ----

// z (batch, head, query, d_head) -> (batch, query, feature = head · d_head), heads in order
std::vector<Axis> concat_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("concat_heads", in, 1, 1);
  const auto& z = in[0].axes;
  if (z.size() != 4) shape_error("concat_heads", in, "z (batch, head, query, d_head)");
  return {z[0], z[2], {"feature", z[1].size * z[3].size}};
}

// y[b, t, h·d_head + e] = z[b, h, t, e]
void concat_forward(const OpArgs& args) {
  const auto& in = args.in[0].axes;
  const std::int64_t heads = in[1].size, positions = in[2].size, width = in[3].size;
  const float* z = args.in[0].data;
  for (std::int64_t b = 0; b < in[0].size; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < positions; ++t) {
        float* y = args.result + ((b * positions + t) * heads + h) * width;
        for (std::int64_t e = 0; e < width; ++e) y[e] = *z++;
      }
    }
  }
}

// dz[b, h, t, e] += dy[b, t, h·d_head + e]
void concat_backward(const OpGradArgs& args) {
  const auto& in = args.in[0].axes;
  const std::int64_t heads = in[1].size, positions = in[2].size, width = in[3].size;
  float* dz = args.d_in[0];
  for (std::int64_t b = 0; dz && b < in[0].size; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < positions; ++t) {
        const float* dy = args.d_out + ((b * positions + t) * heads + h) * width;
        for (std::int64_t e = 0; e < width; ++e) *dz++ += dy[e];
      }
    }
  }
}

OpExplanation concat_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t width = args.in[0].axes[3].size;
  const std::int64_t h = index[2] / width;
  const std::vector<std::int64_t> cell = {index[0], h, index[1], index[2] % width};
  OpTerm term{{0, cell}, args.in[0].at(cell), 1.0, {}, from_head(h)};
  return {{term}, {{"head", static_cast<double>(h)}}, "z[f div d_head, t, f mod d_head]"};
}

OpExplanation concat_explain_gradient(const OpGradArgs& args, int,
                                      std::span<const std::int64_t> index) {
  const std::int64_t column = index[1] * args.in[0].axes[3].size + index[3];
  OpTerm term = gradient_term(args, {index[0], index[2], column});
  term.note = Message("explain.note.beside_heads");
  return {{term}, {}, "dy[t, h · d_head + d]"};
}

// Every head's z, then all of them side by side.
std::vector<Pane> concat_panes(const OpArgs& args, std::int64_t) {
  std::vector<Pane> result;
  const auto& z = args.in[0].axes;
  for (std::int64_t h = 0; h < z[1].size; ++h) {
    result.push_back(matrix_pane(args.in[0], 0, PaneRole::kOperand, h));
    result.back().column_shift = h * z[3].size;
    result.back().head_columns = z[3].size;
    result.back().first_head = h;
  }
  result.push_back(matrix_pane(args.out, -1, PaneRole::kResult, 0));
  result.back().head_columns = z[3].size;
  return result;
}

// (H, T, d_head) -> (T, H, d_head) -> (T, H · d_head)
std::string concat_code(const CodeArgs& c, const std::string& swap) {
  const TensorView& out = c.args.out;
  return c.out + " = " + c.in[0] + swap + ".reshape(" + code_size(out, 2) + ", " +
         code_size(out, 1) + ")  # " + code_shape(c.args.in[0]) + " -> " + code_shape(out) + "\n";
}
std::string concat_numpy(const CodeArgs& c) { return concat_code(c, ".transpose(1, 0, 2)"); }
std::string concat_torch(const CodeArgs& c) { return concat_code(c, ".transpose(0, 1)"); }

}  // namespace

const OpInfo& split_heads_op() {
  static const OpInfo info{
      .op = Op::kSplitHeads,
      .id = "split_heads",
      .phrase = "the same number, found by its head",
      .shape = split_shape,
      .forward = split_forward,
      .backward = split_backward,
      .explain = split_explain,
      .explain_gradient = split_explain_gradient,
      .panes = split_panes,
      .numpy = split_numpy,
      .torch = split_torch,
      .inputs = {InputKind::kNumbers, InputKind::kSizes},
      .trials = {"b t hm, h n m"},
      .row_by_row = true,
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

const OpInfo& concat_heads_op() {
  static const OpInfo info{
      .op = Op::kConcatHeads,
      .id = "concat_heads",
      .phrase = "the heads laid side by side",
      .shape = concat_shape,
      .forward = concat_forward,
      .backward = concat_backward,
      .explain = concat_explain,
      .explain_gradient = concat_explain_gradient,
      .panes = concat_panes,
      .numpy = concat_numpy,
      .torch = concat_torch,
      .trials = {"b h t n"},
      .joins_heads = true,
      .row_by_row = true,
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
