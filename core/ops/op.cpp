#include "core/ops/op.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace headlight {

std::span<const OpInfo> all_ops() {
  static const std::array kOps = {embed_op(),
                                  sinusoid_op(),
                                  learned_position_op(),
                                  add_op(),
                                  layer_norm_op(),
                                  project_op(),
                                  split_heads_op(),
                                  scores_op(),
                                  additive_scores_op(),
                                  scale_op(),
                                  mask_op(),
                                  softmax_op(),
                                  weighted_sum_op(),
                                  concat_heads_op(),
                                  linear_op(),
                                  relu_op(),
                                  gelu_op(),
                                  gelu_tanh_op(),
                                  mean_pool_op(),
                                  dropout_op(),
                                  cross_entropy_op(),
                                  rms_norm_op(),
                                  multiply_op(),
                                  rotary_op(),
                                  silu_op(),
                                  linear_transposed_op(),
                                  tanh_op(),
                                  focus_scores_op(),
                                  foci_penalty_op(),
                                  concat_tokens_op(),
                                  alibi_op(),
                                  distance_bias_op(),
                                  distance_sinusoid_op(),
                                  relative_scores_op(),
                                  relative_sum_op(),
                                  shift_heads_op(),
                                  recurrence_op(),
                                  gru_op(),
                                  convolution_op(),
                                  expert_linear_op(),
                                  top_experts_op(),
                                  mix_op(),
                                  load_balance_op(),
                                  concat_rows_op(),
                                  number_op(),
                                  mixture_logits_op(),
                                  append_row_op(),
                                  mask_heads_op(),
                                  mean_heads_op(),
                                  fused_attention_op()};
  return kOps;
}

const OpInfo& op_info(Op op) {
  static const std::vector<const OpInfo*> by_op = [] {
    std::vector<const OpInfo*> table(static_cast<std::size_t>(Op::kFusedAttention) + 1);
    for (const OpInfo& info : all_ops()) table[static_cast<std::size_t>(info.op)] = &info;
    return table;
  }();
  return *by_op[static_cast<std::size_t>(op)];
}

TrialShapes trial_shapes(std::string_view trial, const TrialSizes& z) {
  TrialShapes shapes(1, {1});
  for (const char c : trial) {
    if (c == ',') {
      shapes.emplace_back();
    } else if (c == ' ') {
      shapes.back().push_back(1);
    } else {
      const std::size_t letter = std::string_view("bhtsnmN").find(c);
      const std::int64_t sizes[] = {z.b, z.h, z.t, z.s, z.n, z.m, z.n + z.n % 2};
      shapes.back().back() *= letter < std::size(sizes) ? sizes[letter] : c - '0';
    }
  }
  return shapes;
}

namespace {

// Rows of the result, by the rows of the second input that each of them meets.
double pairs_of(std::span<const Axis> out, std::span<const Axis> second_input) {
  const auto cells = static_cast<double>(cell_count(out.first(out.size() - 1)));
  return cells * static_cast<double>(second_input[second_input.size() - 2].size);
}

}  // namespace

double call_flops(const OpInfo& info, std::span<const Axis> first_input, std::span<const Axis> out,
                  std::span<const Axis> second_input) {
  if (info.work.per == WorkPer::kPair) {
    const auto met = static_cast<double>(first_input.back().size + out.back().size);
    return (info.work.flops * met + info.work.each) * pairs_of(out, second_input);
  }
  const auto cells =
      static_cast<double>(cell_count(info.work.per == WorkPer::kInputCell ? first_input : out));
  const double terms =
      info.work.per == WorkPer::kTerm ? static_cast<double>(first_input.back().size) : 1;
  return info.work.flops * cells * terms;
}

double call_multiply_adds(const OpInfo& info, std::span<const Axis> first_input,
                          std::span<const Axis> out, std::span<const Axis> second_input) {
  if (info.work.per != WorkPer::kTerm && info.work.per != WorkPer::kPair) return 0;
  const double flops = call_flops(info, first_input, out, second_input);
  const double each =
      info.work.per == WorkPer::kPair ? info.work.each * pairs_of(out, second_input) : 0;
  return (flops - each) / info.work.flops;
}

double call_bytes(const OpInfo& info, std::span<const TensorView> in, const TensorView& out) {
  const bool picks = info.inputs[0] == InputKind::kIds;
  auto cells = static_cast<double>(out.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (info.inputs[i] == InputKind::kSizes) continue;
    cells += static_cast<double>(picks && i == 1 ? out.size() : in[i].size());
  }
  return sizeof(float) * cells;
}

void shape_error(std::string_view op, std::span<const TensorView> in, std::string_view expected) {
  std::string text = std::string(op) + " expects " + std::string(expected) + "; got";
  for (const TensorView& t : in) text += " " + std::string(t.name) + " " + shape_text(t.axes);
  throw UsageError(text);
}

void expect_inputs(std::string_view op, std::span<const TensorView> in, std::size_t least,
                   std::size_t most) {
  if (in.size() >= least && in.size() <= most) return;
  shape_error(op, in,
              least == most ? std::to_string(least) + (least == 1 ? " input" : " inputs")
                            : std::to_string(least) + " to " + std::to_string(most) + " inputs");
}

std::vector<Axis> same_shape(std::string_view op, std::span<const TensorView> in,
                             std::size_t count) {
  expect_inputs(op, in, count, count);
  for (const TensorView& t : in) {
    if (!std::ranges::equal(t.axes, in[0].axes, {}, &Axis::size, &Axis::size)) {
      shape_error(op, in, "two tensors of one shape");
    }
  }
  return {in[0].axes.begin(), in[0].axes.end()};
}

std::vector<Pane> matrix_panes(const OpArgs& args, std::int64_t head) {
  std::vector<Pane> panes;
  for (std::size_t i = 0; i < args.in.size(); ++i) {
    panes.push_back(matrix_pane(args.in[i], static_cast<int>(i), PaneRole::kOperand, head));
  }
  panes.push_back(matrix_pane(args.out, -1, PaneRole::kResult, head));
  return panes;
}

Pane matrix_pane(const TensorView& t, int input, PaneRole role, std::int64_t head) {
  const std::size_t n = t.axes.size();
  Pane pane;
  pane.input = input;
  pane.role = role;
  if (n == 1) {  // a number for each batch item: that of the first
    pane.rows = pane.columns = 1;
    pane.row_axis = pane.column_axis = t.axes[0].name;
    return pane;
  }
  // Of a tensor without places, (batch, n), the row of the first batch item.
  pane.rows = t.axes[n - 2].name == "batch" ? 1 : t.axes[n - 2].size;
  pane.columns = t.axes[n - 1].size;
  pane.row_axis = t.axes[n - 2].name;
  pane.column_axis = t.axes[n - 1].name;
  pane.row_stride = pane.columns;
  if (n >= 3 && counts_heads(t.axes[n - 3].name)) pane.offset = head * pane.rows * pane.columns;
  return pane;
}

Pane vector_pane(const TensorView& t, int input, PaneRole role) {
  Pane pane;
  pane.input = input;
  pane.role = role;
  pane.rows = 1;
  pane.columns = t.axes.back().size;
  pane.column_axis = t.axes.back().name;
  pane.row_stride = pane.columns;
  pane.row_follow = Follow::kFree;
  return pane;
}

namespace {
bool is_source(std::string_view axis) { return axis.starts_with("source"); }
}  // namespace

std::string query_word(std::string_view axis) {
  if (axis == "focus") return "focus";
  return is_source(axis) ? "source_query" : "query";
}
std::string key_word(std::string_view axis) {
  if (axis == "focus") return "other_focus";
  return is_source(axis) ? "source_key" : "key";
}
std::string place_word(std::string_view axis) { return is_source(axis) ? "source" : "position"; }

std::string code_shape(const TensorView& t) {
  const bool batch = !t.axes.empty() && t.axes[0].name == "batch";
  std::string text = "(";
  for (std::size_t a = batch ? 1 : 0; a < t.axes.size(); ++a) {
    text += std::to_string(t.axes[a].size) + (a + 1 < t.axes.size() ? ", " : "");
  }
  return text + (t.axes.size() - (batch ? 1 : 0) == 1 ? ",)" : ")");
}

std::string code_size(const TensorView& t, std::size_t from_end) {
  return std::to_string(t.axes[t.axes.size() - from_end].size);
}

std::string shared_heads(const CodeArgs& c, std::size_t input, bool torch) {
  const std::int64_t share = heads_per_kv(c.args.in[0].axes, c.args.in[input].axes);
  if (share == 1) return c.in[input];
  const std::string times = std::to_string(share);
  return torch ? c.in[input] + ".repeat_interleave(" + times + ", 0)"
               : "np.repeat(" + c.in[input] + ", " + times + ", axis=0)";
}

void add_product(const MatrixCells& a, const MatrixCells& b, float* c, std::int64_t c_step,
                 std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const float *x = a.cells + i * a.row_step, *y = b.cells + j * b.column_step;
      double sum = c[i * c_step + j];
      for (std::int64_t e = 0; e < inner; ++e)
        sum += static_cast<double>(x[e * a.column_step]) * y[e * b.row_step];
      c[i * c_step + j] = static_cast<float>(sum);
    }
  }
}

OpTerm gradient_term(const OpGradArgs& args, std::vector<std::int64_t> cell, double slope,
                     std::vector<InputCell> from, TermNote note) {
  const double value = args.d_out[flat_index(args.out.axes, cell)];
  return {{kGradientOfOut, std::move(cell)}, value, slope, std::move(from), std::move(note)};
}

OpExplanation column_gradient(const OpGradArgs& args, std::int64_t column, std::string formula) {
  const auto [rows, columns] = as_rows(args.out.axes);
  OpExplanation result;
  result.formula = std::move(formula);
  for (std::int64_t r = 0; r < rows; ++r) {
    result.terms.push_back(gradient_term(args, unravel(args.out.axes, r * columns + column)));
  }
  return result;
}

OpExplanation without_gradient() { return {{}, {}, "", {}, "explain.no_gradient"}; }

OpExplanation zero_gradient(std::string formula, std::string_view why) {
  return {{}, {}, std::move(formula), {math("0", "0")}, why};
}

RowShape as_rows(std::span<const Axis> axes) {
  return {cell_count(axes.first(axes.size() - 1)), axes.back().size};
}

}  // namespace headlight
