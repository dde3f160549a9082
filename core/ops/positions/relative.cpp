// A distance as a key and as a value: how well each query suits the row of the key's distance, and
// the rows of the distances weighted by a pattern (Shaw et al. 2018, "Self-attention with relative
// position representations"; Dai et al. 2019, "Transformer-XL").
#include <algorithm>

#include "core/ops/positions/distance.h"

namespace headlight {
namespace {

// ---- scores ----

// Rows by distance are the same for all heads, (distance, d_head), or each head's own, (batch,
// head, distance, d_head).
bool is_shared(const TensorView& rows) { return rows.axes.size() == 2; }
std::int64_t row_count(const TensorView& rows) { return rows.axes[rows.axes.size() - 2].size; }
// Where the row of this distance begins that head `bh` of all batch items meets.
std::int64_t row_start(const TensorView& rows, std::int64_t bh, std::int64_t row) {
  const std::int64_t first = is_shared(rows) ? 0 : bh * row_count(rows);
  return (first + row) * rows.axes.back().size;
}
std::vector<std::int64_t> row_cell(const TensorView& rows, std::int64_t b, std::int64_t h,
                                   std::int64_t row, std::int64_t e) {
  if (is_shared(rows)) return {row, e};
  return {b, h, row, e};
}

// q (batch, head, query, d_head), a -> (batch, head, query, key), of as many keys as there are
// queries and keys before them
std::vector<Axis> scores_shape(std::span<const TensorView> in, const OpParams& params) {
  expect_inputs("relative_scores", in, 2, 2);
  const auto &q = in[0].axes, &a = in[1].axes;
  bool fits = q.size() == 4 && (a.size() == 2 || a.size() == 4);
  if (fits && a.size() == 4) fits = a[0].size == q[0].size && a[1].size == q[1].size;
  if (!fits || a.back().size != q[3].size || row_count(in[1]) < 1 || params.offset < 0)
    shape_error("relative_scores", in,
                "q (batch, head, query, d_head) and a row of d_head numbers for each distance, "
                "(distance, d_head) or (batch, head, distance, d_head),");
  return {q[0],
          q[1],
          {query_word(q[2].name), q[2].size},
          {key_word(q[2].name), q[2].size + params.offset}};
}

// Calls f(bh, query, key, cell, row) for each score.
template <class F>
void for_pairs(std::span<const Axis> scores, const DistanceRows& rows, const OpParams& params,
               F&& f) {
  const std::int64_t queries = scores[2].size, keys = scores[3].size;
  std::int64_t cell = 0;
  for (std::int64_t bh = 0; bh < scores[0].size * scores[1].size; ++bh) {
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j)
        f(bh, i, j, cell++, rows.row(distance_of(params, i, j)));
    }
  }
}

// D[h, i, j] = Σ_e q[h, i, e] · a[row(i + offset − j), e]     (Shaw et al. 2018, equation 4)
void scores_forward(const OpArgs& args) {
  const TensorView &q = args.in[0], &a = args.in[1];
  const std::int64_t queries = q.axes[2].size, width = q.axes[3].size;
  for_pairs(args.out.axes, {row_count(a), args.params}, args.params,
            [&](std::int64_t bh, std::int64_t i, std::int64_t, std::int64_t cell, std::int64_t r) {
              const float* asks = q.data + (bh * queries + i) * width;
              const float* row = a.data + row_start(a, bh, r);
              double sum = 0;
              for (std::int64_t e = 0; e < width; ++e) sum += static_cast<double>(asks[e]) * row[e];
              args.result[cell] = static_cast<float>(sum);
            });
}

// dq[h, i, e] += Σ_j dD[h, i, j] · a[row, e]
// da[r, e]    += Σ dD[h, i, j] · q[h, i, e] over the pairs whose distance has row r
void scores_backward(const OpGradArgs& args) {
  const TensorView &q = args.in[0], &a = args.in[1];
  const std::int64_t queries = q.axes[2].size, width = q.axes[3].size;
  const auto sums_of = [](float* d, const TensorView& t) {
    return d ? std::vector<double>(d, d + t.size()) : std::vector<double>();
  };
  std::vector<double> dq = sums_of(args.d_in[0], q), da = sums_of(args.d_in[1], a);
  for_pairs(args.out.axes, {row_count(a), args.params}, args.params,
            [&](std::int64_t bh, std::int64_t i, std::int64_t, std::int64_t cell, std::int64_t r) {
              const std::int64_t asks = (bh * queries + i) * width, row = row_start(a, bh, r);
              const double d = args.d_out[cell];
              for (std::int64_t e = 0; e < width; ++e) {
                if (!dq.empty()) dq[static_cast<std::size_t>(asks + e)] += d * a.data[row + e];
                if (!da.empty()) da[static_cast<std::size_t>(row + e)] += d * q.data[asks + e];
              }
            });
  for (std::size_t i = 0; i < dq.size(); ++i) args.d_in[0][i] = static_cast<float>(dq[i]);
  for (std::size_t i = 0; i < da.size(); ++i) args.d_in[1][i] = static_cast<float>(da[i]);
}

OpExplanation scores_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const TensorView &q = args.in[0], &a = args.in[1];
  const std::int64_t distance = distance_of(args.params, index[2], index[3]);
  const std::int64_t r = DistanceRows(row_count(a), args.params).row(distance);
  OpExplanation result{
      {}, {{"distance", static_cast<double>(distance)}}, "Σ_d [[x0]][i, d] · [[x1]][i − j, d]"};
  for (std::int64_t e = 0; e < q.axes[3].size; ++e) {
    const std::vector<std::int64_t> asks = {index[0], index[1], index[2], e};
    const std::vector<std::int64_t> row = row_cell(a, index[0], index[1], r, e);
    result.terms.push_back({{0, asks}, q.at(asks), a.at(row), {{1, row}}, ""});
  }
  return result;
}

// The pairs of query and key, of all batch items and heads or of one, whose distance has row `row`.
struct Pair {
  std::int64_t b, h, i, j;
};
std::vector<Pair> pairs_of(std::span<const Axis> scores, const DistanceRows& rows,
                           const OpParams& params, std::int64_t row) {
  std::vector<Pair> found;
  for_pairs(scores, rows, params,
            [&](std::int64_t bh, std::int64_t i, std::int64_t j, std::int64_t, std::int64_t r) {
              if (r == row) found.push_back({bh / scores[1].size, bh % scores[1].size, i, j});
            });
  return found;
}

OpExplanation scores_explain_gradient(const OpGradArgs& args, int input,
                                      std::span<const std::int64_t> index) {
  const TensorView &q = args.in[0], &a = args.in[1];
  const DistanceRows rows(row_count(a), args.params);
  OpExplanation result;
  if (input == 0) {
    result.formula = "Σ_j [[d]][i, j] · [[x1]][i − j, d]";
    for (std::int64_t j = 0; j < args.out.axes[3].size; ++j) {
      const std::vector<std::int64_t> row = row_cell(
          a, index[0], index[1], rows.row(distance_of(args.params, index[2], j)), index[3]);
      result.terms.push_back(
          gradient_term(args, {index[0], index[1], index[2], j}, a.at(row), {{1, row}}));
    }
    return result;
  }
  const std::int64_t row = index[index.size() - 2], e = index.back();
  result.formula = "Σ_ij [[d]][i, j] · [[x0]][i, d]";
  result.quantities = {{"distance", static_cast<double>(row - rows.ahead)}};
  for (const Pair& p : pairs_of(args.out.axes, rows, args.params, row)) {
    if (!is_shared(a) && (p.b != index[0] || p.h != index[1])) continue;
    const std::vector<std::int64_t> asks = {p.b, p.h, p.i, e};
    result.terms.push_back(gradient_term(args, {p.b, p.h, p.i, p.j}, q.at(asks), {{0, asks}}));
  }
  if (result.terms.empty()) return zero_gradient(result.formula, "explain.no_pair");
  return result;
}

std::vector<Pane> scores_panes(const OpArgs& args, std::int64_t head) {
  Pane q = matrix_pane(args.in[0], 0, PaneRole::kOperand, head);
  q.row_axis = args.out.axes[2].name;
  q.column_follow = Follow::kFree;
  Pane a = matrix_pane(args.in[1], 1, PaneRole::kOperand, head);
  a.row_follow = a.column_follow = Follow::kFree;
  return {q, a, matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

// "row = …": which row of `table` each pair's distance has.
std::string row_code(const CodeArgs& c, const TensorView& scores, const TensorView& table,
                     bool torch) {
  const DistanceRows rows(row_count(table), c.args.params);
  const std::string ahead = std::to_string(rows.ahead), back = std::to_string(rows.back);
  const std::string from = rows.ahead == 0 ? "0" : "-" + ahead;
  return distance_code(c, scores, torch) +
         "row = " + (torch ? "distance.clamp(" + from : "np.clip(distance, " + from) + ", " + back +
         ")" + (rows.ahead == 0 ? "" : " + " + ahead) + "\n";
}

std::string scores_code(const CodeArgs& c, bool torch) {
  const std::string& a = c.in[1];
  return row_code(c, c.args.out, c.args.in[1], torch) + "all = " + c.in[0] + " @ " +
         (torch ? a + ".transpose(-1, -2)" : "np.swapaxes(" + a + ", -1, -2)") +
         "  # each query with each distance\n" + c.out + " = " +
         (torch ? "torch.take_along_dim(all, row[None], -1)"
                : "np.take_along_axis(all, row[None], -1)") +
         "  # " + code_shape(c.args.out) + "\n";
}

// ---- weighted sum ----

// A (batch, head, query, key), a (distance, d_head) -> (batch, head, query, d_head)
std::vector<Axis> sum_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("relative_sum", in, 2, 2);
  const auto &w = in[0].axes, &a = in[1].axes;
  if (w.size() != 4 || a.size() != 2 || a[0].size < 1)
    shape_error("relative_sum", in,
                "A (batch, head, query, key) and a row for each distance, (distance, d_head),");
  return {w[0], w[1], w[2], a[1]};
}

// z[h, i, e] = Σ_j A[h, i, j] · a[row(i + offset − j), e]     (Shaw et al. 2018, equation 3)
void sum_forward(const OpArgs& args) {
  const TensorView &w = args.in[0], &a = args.in[1];
  const std::int64_t queries = w.axes[2].size, width = a.axes[1].size;
  std::vector<double> sums(static_cast<std::size_t>(args.out.size()), 0.0);
  for_pairs(w.axes, {row_count(a), args.params}, args.params,
            [&](std::int64_t bh, std::int64_t i, std::int64_t, std::int64_t cell, std::int64_t r) {
              double* z = sums.data() + (bh * queries + i) * width;
              for (std::int64_t e = 0; e < width; ++e)
                z[e] += static_cast<double>(w.data[cell]) * a.data[r * width + e];
            });
  for (std::size_t i = 0; i < sums.size(); ++i) args.result[i] = static_cast<float>(sums[i]);
}

// dA[h, i, j] += Σ_e dz[h, i, e] · a[row, e]
// da[r, e]    += Σ A[h, i, j] · dz[h, i, e] over the pairs whose distance has row r
void sum_backward(const OpGradArgs& args) {
  const TensorView &w = args.in[0], &a = args.in[1];
  const std::int64_t queries = w.axes[2].size, width = a.axes[1].size;
  std::vector<double> da;
  if (args.d_in[1]) da.assign(args.d_in[1], args.d_in[1] + a.size());
  for_pairs(w.axes, {row_count(a), args.params}, args.params,
            [&](std::int64_t bh, std::int64_t i, std::int64_t, std::int64_t cell, std::int64_t r) {
              const float* d = args.d_out + (bh * queries + i) * width;
              double sum = args.d_in[0] ? args.d_in[0][cell] : 0;
              for (std::int64_t e = 0; e < width; ++e) {
                sum += static_cast<double>(d[e]) * a.data[r * width + e];
                if (!da.empty())
                  da[static_cast<std::size_t>(r * width + e)] +=
                      static_cast<double>(w.data[cell]) * d[e];
              }
              if (args.d_in[0]) args.d_in[0][cell] = static_cast<float>(sum);
            });
  for (std::size_t i = 0; i < da.size(); ++i) args.d_in[1][i] = static_cast<float>(da[i]);
}

OpExplanation sum_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const TensorView &w = args.in[0], &a = args.in[1];
  const DistanceRows rows(row_count(a), args.params);
  OpExplanation result{{}, {}, "Σ_j [[x0]][i, j] · [[x1]][i − j, d]"};
  for (std::int64_t j = 0; j < w.axes[3].size; ++j) {
    const std::vector<std::int64_t> weight = {index[0], index[1], index[2], j};
    const std::vector<std::int64_t> row = {rows.row(distance_of(args.params, index[2], j)),
                                           index[3]};
    result.terms.push_back({{0, weight}, w.at(weight), a.at(row), {{1, row}}, ""});
  }
  return result;
}

OpExplanation sum_explain_gradient(const OpGradArgs& args, int input,
                                   std::span<const std::int64_t> index) {
  const TensorView &w = args.in[0], &a = args.in[1];
  const DistanceRows rows(row_count(a), args.params);
  OpExplanation result;
  if (input == 0) {
    const std::int64_t distance = distance_of(args.params, index[2], index[3]);
    result.formula = "Σ_d [[d]][i, d] · [[x1]][i − j, d]";
    result.quantities = {{"distance", static_cast<double>(distance)}};
    for (std::int64_t e = 0; e < a.axes[1].size; ++e) {
      const std::vector<std::int64_t> row = {rows.row(distance), e};
      result.terms.push_back(
          gradient_term(args, {index[0], index[1], index[2], e}, a.at(row), {{1, row}}));
    }
    return result;
  }
  result.formula = "Σ_ij [[x0]][i, j] · [[d]][i, d]";
  result.quantities = {{"distance", static_cast<double>(index[0] - rows.ahead)}};
  for (const Pair& p : pairs_of(w.axes, rows, args.params, index[0])) {
    const std::vector<std::int64_t> weight = {p.b, p.h, p.i, p.j};
    const std::vector<std::int64_t> felt = {p.b, p.h, p.i, index[1]};
    if (result.terms.empty() || result.terms.back().cell.index != felt) {
      result.terms.push_back(gradient_term(args, felt, w.at(weight), {{0, weight}}));
      continue;
    }
    // Several keys of a query may lie beyond the reach: their weights add up.
    OpTerm& term = result.terms.back();
    if (term.factor_cells.size() == 1)
      term.written = {math("(", "("), math(term.factor), math(")", ")")};
    term.factor += w.at(weight);
    term.factor_cells.push_back({0, weight});
    term.note = "Σ_j A[i, j]";
    term.written.insert(term.written.end() - 1, {math(" + ", " + "), math(w.at(weight))});
  }
  if (result.terms.empty()) return zero_gradient(result.formula, "explain.no_pair");
  return result;
}

std::vector<Pane> sum_panes(const OpArgs& args, std::int64_t head) {
  Pane w = matrix_pane(args.in[0], 0, PaneRole::kOperand, head);
  w.column_follow = Follow::kFree;
  Pane a = matrix_pane(args.in[1], 1, PaneRole::kOperand, head);
  a.row_follow = Follow::kFree;
  return {w, a, matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

std::string sum_code(const CodeArgs& c, bool torch) {
  return row_code(c, c.args.in[0], c.args.in[1], torch) + c.out + " = " + (torch ? "torch" : "np") +
         ".einsum(\"hij,ijd->hid\", " + c.in[0] + ", " + c.in[1] + "[row])  # " +
         code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& relative_scores_op() {
  static const OpInfo info{
      .op = Op::kRelativeScores,
      .id = "relative_scores",
      .phrase = "query times the row of the distance, summed",
      .sign = "·",
      .shape = scores_shape,
      .forward = scores_forward,
      .backward = scores_backward,
      .explain = scores_explain,
      .explain_gradient = scores_explain_gradient,
      .panes = scores_panes,
      .numpy = [](const CodeArgs& c) { return scores_code(c, false); },
      .torch = [](const CodeArgs& c) { return scores_code(c, true); },
      .errors = ErrorClass::kProducts,
      .work = {.flops = 2, .per = WorkPer::kTerm},
      .trials = {"b h t n, m n", "b h t n, b h m n"},
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

const OpInfo& relative_sum_op() {
  static const OpInfo info{
      .op = Op::kRelativeSum,
      .id = "relative_sum",
      .phrase = "weights times the rows of the distances, summed",
      .sign = "·",
      .shape = sum_shape,
      .forward = sum_forward,
      .backward = sum_backward,
      .explain = sum_explain,
      .explain_gradient = sum_explain_gradient,
      .panes = sum_panes,
      .numpy = [](const CodeArgs& c) { return sum_code(c, false); },
      .torch = [](const CodeArgs& c) { return sum_code(c, true); },
      .errors = ErrorClass::kProducts,
      .work = {.flops = 2, .per = WorkPer::kTerm},
      .trials = {"b h t s, m n"},
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
