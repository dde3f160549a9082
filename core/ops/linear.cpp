// Products with a weight matrix: a plain linear layer (feed-forward, W_O, unembedding) and the
// projection of a row into every head's queries, keys or values.
#include <algorithm>

#include "core/ops/op.h"

namespace headlight {
namespace {

// db[j] += Σ_r dy[r, j], which is how a bias feels every row. Nothing where `db` is null.
void add_column_sums(const float* dy, std::int64_t rows, std::int64_t columns, float* db) {
  for (std::int64_t j = 0; db && j < columns; ++j) {
    double sum = db[j];
    for (std::int64_t r = 0; r < rows; ++r) sum += dy[r * columns + j];
    db[j] = static_cast<float>(sum);
  }
}

// Each row of the result starts from the bias, or from 0.
void begin_with_bias(const OpArgs& args, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) {
    if (args.in.size() > 2)
      std::copy_n(args.in[2].data, columns, args.result + r * columns);
    else
      std::fill_n(args.result + r * columns, columns, 0.0f);
  }
}

// ---- linear: y = x · W + b ----

// x (..., n), W (..., m) whose leading axes multiply to n, b (m, may be left out) -> (..., m)
// W_O (head, d_head, d_model) is such a matrix with its rows in order of the heads.
std::vector<Axis> linear_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("linear", in, 2, 3);
  const auto [inner, outer] = as_rows(in[1].axes);
  const bool fits =
      in[0].axes.back().size == inner && (in.size() < 3 || cell_count(in[2].axes) == outer);
  if (!fits) shape_error("linear", in, "x (..., n), W (n, m) and b (m)");
  std::vector<Axis> axes(in[0].axes.begin(), in[0].axes.end());
  for (Axis& axis : axes) {
    // What a query gathered joins its position.
    if (axis.name == "query" || axis.name == "source_query") axis.name = place_word(axis.name);
  }
  const std::string& word = in[1].axes.back().name;
  axes.back() = {word == "d_model" ? "feature" : word, outer};
  return axes;
}

// y[r, j] = Σ_i x[r, i] · W[i, j] + b[j], summed in double, in order of i
void linear_forward(const OpArgs& args) {
  const auto [rows, inner] = as_rows(args.in[0].axes);
  const std::int64_t outer = args.out.axes.back().size;
  begin_with_bias(args, rows, outer);
  add_product({args.in[0].data, inner}, {args.in[1].data, outer}, args.result, outer, rows, outer,
              inner);
}

// dx[r, i] += Σ_j dy[r, j] · W[i, j]
// dW[i, j] += Σ_r x[r, i] · dy[r, j]
// db[j]    += Σ_r dy[r, j]
void linear_backward(const OpGradArgs& args) {
  const auto [rows, inner] = as_rows(args.in[0].axes);
  const std::int64_t outer = args.out.axes.back().size;
  const float *x = args.in[0].data, *weight = args.in[1].data, *dy = args.d_out;
  if (float* dx = args.d_in[0])
    add_product({dy, outer}, {weight, 1, outer}, dx, inner, rows, inner, outer);
  if (float* dw = args.d_in[1])
    add_product({x, 1, inner}, {dy, outer}, dw, outer, inner, outer, rows);
  if (args.in.size() > 2) add_column_sums(dy, rows, outer, args.d_in[2]);
}

struct Letters {
  std::string in, out;  // of the indices along the rows of x and y
};

// As the tables of terms head them: f along features, d along a head's; i and j where these have a
// word. Where both are alike, the one that no sum runs along is i or j too.
Letters letters_of(const Axis& x, const Axis& y, bool sums_y) {
  const auto letter = [](const Axis& axis, const char* none) {
    if (axis.name == "feature" || axis.name == "d_model") return std::string("f");
    return std::string(axis.name == "d_head" || axis.name == "d_value" ? "d" : none);
  };
  Letters letters{letter(x, "i"), letter(y, "j")};
  if (letters.in == letters.out) (sums_y ? letters.in : letters.out) = sums_y ? "i" : "j";
  return letters;
}

OpExplanation linear_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t inner = args.in[0].axes.back().size;
  const std::int64_t outer = args.out.axes.back().size;
  std::vector<std::int64_t> cell(index.begin(), index.end());
  const std::int64_t j = cell.back();
  OpExplanation result;
  const auto [in, out] = letters_of(args.in[0].axes.back(), args.out.axes.back(), false);
  result.formula = "Σ_" + in + " x[t, " + in + "] · W[" + in + ", " + out + "]";
  if (args.in.size() > 2) result.formula += " + b[" + out + "]";
  for (std::int64_t i = 0; i < inner; ++i) {
    cell.back() = i;
    result.terms.push_back({{0, cell},
                            args.in[0].at(cell),
                            args.in[1].data[i * outer + j],
                            {{1, unravel(args.in[1].axes, i * outer + j)}},
                            ""});
  }
  if (args.in.size() > 2)
    result.terms.push_back({{2, {j}}, args.in[2].data[j], 1.0, {}, Message("explain.note.bias")});
  return result;
}

OpExplanation linear_explain_gradient(const OpGradArgs& args, int input,
                                      std::span<const std::int64_t> index) {
  const std::int64_t outer = args.out.axes.back().size;
  const std::int64_t flat = flat_index(args.in[static_cast<std::size_t>(input)].axes, index);
  const auto [in, out] = letters_of(args.in[0].axes.back(), args.out.axes.back(), input == 0);
  if (input == 2) return column_gradient(args, flat, "Σ_t dy[t, " + out + "]");
  OpExplanation result;
  if (input == 1) {
    result = column_gradient(args, flat % outer, "Σ_t dy[t, " + out + "] · x[t, " + in + "]");
    for (OpTerm& term : result.terms) {
      std::vector<std::int64_t> cell = term.cell.index;
      cell.back() = flat / outer;
      term.factor = args.in[0].at(cell);
      term.factor_cells = {{0, std::move(cell)}};
    }
    return result;
  }
  result.formula = "Σ_" + out + " dy[t, " + out + "] · W[" + in + ", " + out + "]";
  std::vector<std::int64_t> cell(index.begin(), index.end());
  for (std::int64_t j = 0; j < outer; ++j) {
    const std::int64_t weight = index.back() * outer + j;
    cell.back() = j;
    result.terms.push_back(gradient_term(args, cell, args.in[1].data[weight],
                                         {{1, unravel(args.in[1].axes, weight)}}));
  }
  return result;
}

std::vector<Pane> linear_panes(const OpArgs& args, std::int64_t) {
  Pane left = matrix_pane(args.in[0], 0, PaneRole::kLeft, 0);
  left.column_follow = Follow::kFree;
  const auto [inner, outer] = as_rows(args.in[1].axes);
  Pane top = matrix_pane(args.in[1], 1, PaneRole::kTop, 0);
  top.rows = inner;  // all heads' rows, one below the other
  top.row_axis = args.in[0].axes.back().name;
  top.row_follow = Follow::kFree;
  if (args.in[1].axes.size() == 3) {  // W_O: the heads' results side by side meet its rows
    left.head_columns = top.head_rows = args.in[1].axes[1].size;
  }
  std::vector<Pane> result = {left, top};
  if (args.in.size() > 2) result.push_back(vector_pane(args.in[2], 2, PaneRole::kRowVector));
  result.push_back(matrix_pane(args.out, -1, PaneRole::kResult, 0));
  return result;
}

std::string bias_text(const CodeArgs& c, const std::string& reshape) {
  return c.in.size() > 2 ? " + " + c.in[2] + reshape : "";
}

// A weight with a head axis is used as one matrix.
std::string linear_code(const CodeArgs& c) {
  const auto [inner, outer] = as_rows(c.args.in[1].axes);
  const std::string sizes = std::to_string(inner) + ", " + std::to_string(outer);
  const bool heads = c.args.in[1].axes.size() > 2;
  std::string text, weight = c.in[1];
  if (heads) {
    text = "W = " + weight + ".reshape(" + sizes + ")  # the heads' rows, one below the other\n";
    weight = "W";
  }
  return text + c.out + " = " + c.in[0] + " @ " + weight + bias_text(c, "") + "  # " +
         code_shape(c.args.in[0]) + " @ (" + sizes + ") -> " + code_shape(c.args.out) + "\n";
}

// ---- project: the same product for every head at once ----

// x (batch, position, feature), W (head, d_model, d_head), b (head, d_head, may be left out)
//   -> (batch, position, feature = head · d_head)
std::vector<Axis> project_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("project", in, 2, 3);
  const bool fits =
      in[0].axes.size() == 3 && in[1].axes.size() == 3 &&
      in[0].axes[2].size == in[1].axes[1].size &&
      (in.size() < 3 || cell_count(in[2].axes) == in[1].axes[0].size * in[1].axes[2].size);
  if (!fits) {
    shape_error("project", in, "x (batch, position, n), W (head, n, d_head) and b (head, d_head)");
  }
  return {in[0].axes[0], in[0].axes[1], {"feature", in[1].axes[0].size * in[1].axes[2].size}};
}

// y[t, h·d_head + e] = Σ_m x[t, m] · W[h, m, e] + b[h, e]
void project_forward(const OpArgs& args) {
  const auto [rows, inner] = as_rows(args.in[0].axes);
  const std::int64_t heads = args.in[1].axes[0].size, width = args.in[1].axes[2].size;
  begin_with_bias(args, rows, heads * width);
  for (std::int64_t h = 0; h < heads; ++h) {
    add_product({args.in[0].data, inner}, {args.in[1].data + h * inner * width, width},
                args.result + h * width, heads * width, rows, width, inner);
  }
}

// dx[t, m]    += Σ_h Σ_e dy[t, h·d_head + e] · W[h, m, e]
// dW[h, m, e] += Σ_t x[t, m] · dy[t, h·d_head + e]
// db[h, e]    += Σ_t dy[t, h·d_head + e]
void project_backward(const OpGradArgs& args) {
  const auto [rows, inner] = as_rows(args.in[0].axes);
  const std::int64_t heads = args.in[1].axes[0].size, width = args.in[1].axes[2].size;
  const float *x = args.in[0].data, *weight = args.in[1].data, *dy = args.d_out;
  if (float* dx = args.d_in[0]) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t m = 0; m < inner; ++m) {
        double sum = dx[r * inner + m];
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::int64_t e = 0; e < width; ++e) {
            sum += static_cast<double>(dy[(r * heads + h) * width + e]) *
                   weight[(h * inner + m) * width + e];
          }
        }
        dx[r * inner + m] = static_cast<float>(sum);
      }
    }
  }
  for (std::int64_t h = 0; args.d_in[1] && h < heads; ++h) {
    add_product({x, 1, inner}, {dy + h * width, heads * width}, args.d_in[1] + h * inner * width,
                width, inner, width, rows);
  }
  if (args.in.size() > 2) add_column_sums(dy, rows, heads * width, args.d_in[2]);
}

OpExplanation project_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t inner = args.in[1].axes[1].size;
  const std::int64_t width = args.in[1].axes[2].size;
  const std::int64_t h = index[2] / width;
  const std::int64_t e = index[2] % width;
  OpExplanation result;
  result.formula = "Σ_f x[t, f] · W[h, f, d]";
  if (args.in.size() > 2) result.formula += " + b[h, d]";
  result.quantities = {{"head", static_cast<double>(h)}};
  for (std::int64_t m = 0; m < inner; ++m) {
    const std::vector<std::int64_t> cell = {index[0], index[1], m};
    const std::vector<std::int64_t> weight = {h, m, e};
    result.terms.push_back(
        {{0, cell}, args.in[0].at(cell), args.in[1].at(weight), {{1, weight}}, ""});
  }
  if (args.in.size() > 2) {
    const std::vector<std::int64_t> bias = {h, e};
    result.terms.push_back({{2, bias}, args.in[2].at(bias), 1.0, {}, Message("explain.note.bias")});
  }
  return result;
}

OpExplanation project_explain_gradient(const OpGradArgs& args, int input,
                                       std::span<const std::int64_t> index) {
  const std::int64_t heads = args.in[1].axes[0].size, width = args.in[1].axes[2].size;
  OpExplanation result;
  if (input == 0) {
    result.formula = "Σ_h Σ_d dy[t, h · d_head + d] · W[h, f, d]";
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t e = 0; e < width; ++e) {
        const std::vector<std::int64_t> weight = {h, index[2], e};
        result.terms.push_back(gradient_term(args, {index[0], index[1], h * width + e},
                                             args.in[1].at(weight), {{1, weight}}));
      }
    }
    return result;
  }
  if (input == 2) {
    const std::int64_t column = flat_index(args.in[2].axes, index);
    result = column_gradient(args, column, "Σ_t dy[t, h · d_head + d]");
    result.quantities = {{"head", static_cast<double>(column / width)}};
    return result;
  }
  result =
      column_gradient(args, index[0] * width + index[2], "Σ_t dy[t, h · d_head + d] · x[t, f]");
  result.quantities = {{"head", static_cast<double>(index[0])}};
  for (OpTerm& term : result.terms) {
    const std::vector<std::int64_t> cell = {term.cell.index[0], term.cell.index[1], index[1]};
    term.factor = args.in[0].at(cell);
    term.factor_cells = {{0, cell}};
  }
  return result;
}

// All heads side by side, as the result has them.
std::vector<Pane> project_panes(const OpArgs& args, std::int64_t) {
  const std::int64_t width = args.in[1].axes[2].size;
  Pane left = matrix_pane(args.in[0], 0, PaneRole::kLeft, 0);
  left.column_follow = Follow::kFree;
  Pane out = matrix_pane(args.out, -1, PaneRole::kResult, 0);
  out.head_columns = width;
  Pane top = matrix_pane(args.in[1], 1, PaneRole::kTop, 0);
  top.row_follow = Follow::kFree;
  top.columns = out.columns;
  top.column_axis = out.column_axis;
  top.head_columns = width;
  top.head_stride = top.rows * width;
  std::vector<Pane> result = {left, top};
  if (args.in.size() > 2) {
    Pane bias = vector_pane(args.in[2], 2, PaneRole::kRowVector);
    bias.columns = bias.row_stride = out.columns;
    bias.column_axis = out.column_axis;
    result.push_back(bias);
  }
  result.push_back(out);
  return result;
}

// All heads in one product: (H, d_model, d_head) -> (d_model, H · d_head).
std::string project_code(const CodeArgs& c, const std::string& swap) {
  const TensorView& w = c.args.in[1];
  const std::string sizes = code_size(w, 2) + ", " + code_size(c.args.out, 1);
  return "W = " + c.in[1] + swap + ".reshape(" + sizes + ")  # " + code_shape(w) +
         ", heads side by side -> (" + sizes + ")\n" + c.out + " = " + c.in[0] + " @ W" +
         bias_text(c, ".reshape(-1)") + "  # " + code_shape(c.args.in[0]) + " @ (" + sizes +
         ") -> " + code_shape(c.args.out) + "\n";
}
std::string project_numpy(const CodeArgs& c) { return project_code(c, ".transpose(1, 0, 2)"); }
std::string project_torch(const CodeArgs& c) { return project_code(c, ".transpose(0, 1)"); }

}  // namespace

const OpInfo& linear_op() {
  static const OpInfo info{
      .op = Op::kLinear,
      .id = "linear",
      .phrase = "a row times a column of weights",
      .layout = Layout::kProduct,
      .shape = linear_shape,
      .forward = linear_forward,
      .backward = linear_backward,
      .explain = linear_explain,
      .explain_gradient = linear_explain_gradient,
      .panes = linear_panes,
      .numpy = linear_code,
      .torch = linear_code,
      .errors = ErrorClass::kProducts,
      .work = {.flops = 2, .per = WorkPer::kTerm},
      .trials = {"b t n, n m, m", "b t hn, h n m"},
      .timed = {{TunePart::kProducts, "b n n, n n"},
                {TunePart::kProducts, "b n n, n n", 0},
                {TunePart::kProducts, "b n n, n n", 1},
                {TunePart::kProducts, "b t m, m m"},
                {TunePart::kFewRows, "b t n, n 4n"},
                {TunePart::kFewRows, "b t n, n n", 0}},
      .row_by_row = true,
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

const OpInfo& project_op() {
  static const OpInfo info{
      .op = Op::kProject,
      .id = "project",
      .phrase = "a row times a column of the head's weights",
      .layout = Layout::kProduct,
      .shape = project_shape,
      .forward = project_forward,
      .backward = project_backward,
      .explain = project_explain,
      .explain_gradient = project_explain_gradient,
      .panes = project_panes,
      .numpy = project_numpy,
      .torch = project_torch,
      .inputs = {InputKind::kNumbers, InputKind::kNumbers, InputKind::kHeadBias},
      .errors = ErrorClass::kProducts,
      .work = {.flops = 2, .per = WorkPer::kTerm},
      .trials = {"b t n, h n m, h m", "b t n, h n m"},
      .joins_heads = true,
      .row_by_row = true,
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
