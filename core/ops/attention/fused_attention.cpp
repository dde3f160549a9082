// Attention in one operation: scores, mask, softmax and weighted sum, block by block of keys, so
// that of queries × keys there is never more than a block (Dao et al. 2022, "FlashAttention"; Rabe
// and Staats 2021). The softmax of a row that is not known as a whole goes by its maximum and its
// sum so far (Milakov and Gimelshein 2018).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/number_text.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

constexpr std::int64_t kKeys = 16;  // in a block
constexpr double kNone = -std::numeric_limits<double>::infinity();

// q (batch, head, query, n), k (batch, kv_head, key, n), v (batch, kv_head, key, m), without or
// with mask (batch, query, key) -> (batch, head, query, m) With fewer heads of keys and values,
// head h reads their head h / (head / kv_head).
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("fused_attention", in, 3, 4);
  const auto &q = in[0].axes, &k = in[1].axes, &v = in[2].axes;
  bool fits = q.size() == 4 && k.size() == 4 && v.size() == 4 && q[0].size == k[0].size &&
              q[0].size == v[0].size && k[1].size == v[1].size && k[2].size == v[2].size &&
              (k[1].size == 0 ? q[1].size == 0 : q[1].size % k[1].size == 0) &&
              q[3].size == k[3].size;
  if (fits && in.size() == 4) {
    const auto& mask = in[3].axes;
    fits = mask.size() == 3 && mask[0].size == q[0].size && mask[1].size == q[2].size &&
           mask[2].size == k[2].size;
  }
  if (!fits)
    shape_error("fused_attention", in,
                "q (batch, head, query, n), k (batch, head, key, n), v (batch, head, key, m), "
                "whose heads divide q's, and mask (batch, query, key)");
  return {q[0], q[1], {query_word(q[2].name), q[2].size}, v[3]};
}

// One row's attention: which query of which head.
struct Place {
  std::int64_t item, head, query;
};

// What a row knows of its scores.
struct RowParts {
  double max = kNone, sum = 0;
  bool is_empty() const { return max == kNone; }  // no key is allowed
};

class Attention {
 public:
  Attention(std::span<const TensorView> in, const OpParams& params)
      : in_(in),
        share(heads_per_kv(in[0].axes, in[1].axes)),
        batch(in[0].axes[0].size),
        heads(in[0].axes[1].size),
        queries(in[0].axes[2].size),
        keys(in[1].axes[2].size),
        width(in[0].axes[3].size),
        v_width(in[2].axes[3].size),
        factor(params.factor),
        temperature(params.temperature) {}

  std::int64_t kv_row(const Place& at, std::int64_t key) const {
    return (at.item * (heads / share) + at.head / share) * keys + key;
  }
  std::int64_t q_row(const Place& at) const {
    return (at.item * heads + at.head) * queries + at.query;
  }
  const float* q(const Place& at) const { return in_[0].data + q_row(at) * width; }
  const float* k(const Place& at, std::int64_t key) const {
    return in_[1].data + kv_row(at, key) * width;
  }
  const float* v(const Place& at, std::int64_t key) const {
    return in_[2].data + kv_row(at, key) * v_width;
  }
  bool allows(const Place& at, std::int64_t key) const {
    return in_.size() < 4 || in_[3].data[(at.item * queries + at.query) * keys + key] == 0.0f;
  }
  // −∞ where the mask forbids the key, whatever the product is.
  double score(const Place& at, std::int64_t key) const {
    if (!allows(at, key)) return kNone;
    double sum = 0;
    for (std::int64_t e = 0; e < width; ++e) sum += static_cast<double>(q(at)[e]) * k(at, key)[e];
    return factor * sum;
  }
  double exponential(const RowParts& row, double score) const {
    return score == kNone ? 0 : std::exp((score - row.max) / temperature);
  }
  double weight(const RowParts& row, double score) const {
    return row.is_empty() ? 0 : exponential(row, score) / row.sum;
  }

  // A block's largest score becomes the row's where it is larger; what was added up before shrinks
  // with it. `z` (v_width), which may be null, gathers Σ_j exp((s[j] − max) / τ) v[j].
  RowParts visit(const Place& at, double* z) const {
    RowParts row;
    for (std::int64_t first = 0; first < keys; first += kKeys) {
      const std::int64_t count = std::min(kKeys, keys - first);
      double scores[kKeys], before = row.max;
      for (std::int64_t j = 0; j < count; ++j) {
        scores[j] = score(at, first + j);
        if (scores[j] > row.max || std::isnan(scores[j])) row.max = scores[j];
      }
      if (row.is_empty()) continue;
      const double shrink = before == kNone ? 0 : std::exp((before - row.max) / temperature);
      row.sum *= shrink;
      for (std::int64_t e = 0; z && e < v_width; ++e) z[e] *= shrink;
      for (std::int64_t j = 0; j < count; ++j) {
        const double weight = exponential(row, scores[j]);
        row.sum += weight;
        if (!z || scores[j] == kNone) continue;
        for (std::int64_t e = 0; e < v_width; ++e) z[e] += weight * v(at, first + j)[e];
      }
    }
    return row;
  }

 private:
  std::span<const TensorView> in_;

 public:
  const std::int64_t share, batch, heads, queries, keys, width, v_width;
  const double factor, temperature;
};

template <class F>
void for_rows(const Attention& a, F&& f) {
  for (std::int64_t b = 0; b < a.batch; ++b) {
    for (std::int64_t h = 0; h < a.heads; ++h) {
      for (std::int64_t i = 0; i < a.queries; ++i) f(Place{b, h, i});
    }
  }
}

// z[h, i] = Σ_j softmax_j(factor · q[h, i] · k[h, j] where mask[i, j] = 0, else −∞) v[h, j]
// A row with no allowed key is all zeros.
void forward(const OpArgs& args) {
  const Attention a(args.in, args.params);
  std::vector<double> z(static_cast<std::size_t>(a.v_width));
  for_rows(a, [&](const Place& at) {
    std::ranges::fill(z, 0.0);
    const RowParts row = a.visit(at, z.data());
    float* out = args.result + a.q_row(at) * a.v_width;
    for (std::int64_t e = 0; e < a.v_width; ++e)
      out[e] = row.is_empty() ? 0.0f : static_cast<float>(z[static_cast<std::size_t>(e)] / row.sum);
  });
}

// A gradient in the making: what is added to `out` in the end.
struct Sums {
  std::vector<double> cells;
  float* out = nullptr;
  Sums(std::int64_t count, float* into)
      : cells(static_cast<std::size_t>(into ? count : 0)), out(into) {}
  void add(std::int64_t row, std::int64_t n, double factor, const float* x) {
    for (std::int64_t e = 0; out && e < n; ++e)
      cells[static_cast<std::size_t>(row * n + e)] += factor * x[e];
  }
  void end() {
    for (std::size_t i = 0; i < cells.size(); ++i) out[i] = static_cast<float>(out[i] + cells[i]);
  }
};

// With the weights p made again from each row's maximum and sum, dp[i, j] = dz[i] · v[j] and
// ds[i, j] = factor / τ · p[i, j] · (dp[i, j] − Σ_k p[i, k] · dp[i, k]):
// dq[i] += Σ_j ds[i, j] k[j], dk[j] += Σ_i ds[i, j] q[i], dv[j] += Σ_i p[i, j] dz[i]
// A weight of 0 passes nothing on.
void backward(const OpGradArgs& args) {
  const Attention a(args.in, args.params);
  Sums dq(args.in[0].size(), args.d_in[0]), dk(args.in[1].size(), args.d_in[1]),
      dv(args.in[2].size(), args.d_in[2]);
  const auto count = static_cast<std::size_t>(a.keys);
  std::vector<double> p(count), dp(count);
  for_rows(a, [&](const Place& at) {
    const RowParts row = a.visit(at, nullptr);
    const float* dz = args.d_out + a.q_row(at) * a.v_width;
    double mean = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const auto key = static_cast<std::int64_t>(j);
      p[j] = a.weight(row, a.score(at, key));
      dp[j] = 0;
      for (std::int64_t e = 0; e < a.v_width; ++e)
        dp[j] += static_cast<double>(dz[e]) * a.v(at, key)[e];
      if (p[j] != 0) mean += p[j] * dp[j];
    }
    for (std::size_t j = 0; j < count; ++j) {
      if (p[j] == 0) continue;
      const auto key = static_cast<std::int64_t>(j);
      const double ds = a.factor / a.temperature * p[j] * (dp[j] - mean);
      dq.add(a.q_row(at), a.width, ds, a.k(at, key));
      dk.add(a.kv_row(at, key), a.width, ds, a.q(at));
      dv.add(a.kv_row(at, key), a.v_width, p[j], dz);
    }
  });
  for (Sums* sums : {&dq, &dk, &dv}) sums->end();
}

bool is_plain(const OpParams& params) { return params.temperature == 1; }

// exp((s − max) / τ) / sum with the numbers of the row; no τ where it is 1.
MathLine written_weight(const Attention& a, const RowParts& row, double score) {
  const bool plain = a.temperature == 1;
  MathLine line = {plain ? math("exp(", "\\exp(") : math("exp((", "\\exp(("), math(score),
                   math(" − ", " - "), math(row.max)};
  if (!plain) line.insert(line.end(), {math(") / ", ") / "), math(a.temperature)});
  line.insert(line.end(), {math(") / ", ") / "), math(row.sum)});
  return line;
}

// Where a query's row and a key's row of this head stand.
void add_row(std::vector<InputCell>& cells, int input, const TensorView& t, std::int64_t row) {
  const std::int64_t width = t.axes[3].size;
  for (std::int64_t e = 0; e < width; ++e)
    cells.push_back({input, unravel(t.axes, row * width + e)});
}

// The weights of its row are made again, for this one cell: each allowed key's value, times the
// weight that its score has in the row.
OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const Attention a(args.in, args.params);
  const Place at{index[0], index[1], index[2]};
  const RowParts row = a.visit(at, nullptr);
  const bool plain = is_plain(args.params);
  OpExplanation result;
  result.in_letters = false;
  result.formula = plain ? "Σ_j exp(s[i, j] − max) / sum · [[x2]][j, d], s[i, j] = c · "
                           "[[x0]][i] · [[x1]][j]"
                         : "Σ_j exp((s[i, j] − max) / τ) / sum · [[x2]][j, d], s[i, j] = c · "
                           "[[x0]][i] · [[x1]][j]";
  if (row.is_empty()) {
    result.why = "explain.no_key";
    result.written = {math("0", "0")};
    return result;
  }
  result.quantities = {{"factor c", a.factor}, {"row maximum", row.max}, {"row sum", row.sum}};
  if (!plain) result.quantities.insert(result.quantities.begin(), {"temperature", a.temperature});
  for (std::int64_t j = 0; j < a.keys; ++j) {
    const double score = a.score(at, j);
    if (score == kNone) continue;
    const std::vector<std::int64_t> cell = {at.item, at.head / a.share, j, index[3]};
    OpTerm term{{2, cell}, args.in[2].at(cell), a.weight(row, score), {}, ""};
    term.note = plain ? "exp(s − max) / sum" : "exp((s − max) / τ) / sum";
    term.written = written_weight(a, row, score);
    add_row(term.factor_cells, 0, args.in[0], a.q_row(at));
    add_row(term.factor_cells, 1, args.in[1], a.kv_row(at, j));
    result.terms.push_back(std::move(term));
  }
  return result;
}

// dz[i, d] grows with q[i, e] by factor / τ · Σ_j p[j] · (v[j, d] − z[d]) · k[j, e].
OpExplanation explain_query(const OpGradArgs& args, const Attention& a, const Place& at,
                            std::int64_t feature) {
  OpExplanation result;
  result.formula = "Σ_d [[d]][i, d] · c · Σ_j p[i, j] · ([[x2]][j, d] − z[i, d]) · [[x1]][j, e]";
  const RowParts row = a.visit(at, nullptr);
  std::vector<double> slopes(static_cast<std::size_t>(a.v_width));
  const float* z = args.out.data + a.q_row(at) * a.v_width;
  bool any = false;
  for (std::int64_t j = 0; j < a.keys; ++j) {
    const double p = a.weight(row, a.score(at, j));
    if (p == 0) continue;
    any = true;
    const double part = a.factor / a.temperature * p * a.k(at, j)[feature];
    for (std::size_t d = 0; d < slopes.size(); ++d)
      slopes[d] += part * (static_cast<double>(a.v(at, j)[d]) - z[d]);
  }
  if (!any) return zero_gradient(result.formula, "explain.no_key");
  for (std::size_t d = 0; d < slopes.size(); ++d)
    result.terms.push_back(
        gradient_term(args, {at.item, at.head, at.query, static_cast<std::int64_t>(d)}, slopes[d],
                      {}, "c · Σ_j p[i, j] · (v[j, d] − z[i, d]) · k[j, e]"));
  return result;
}

// A key or a value is felt by every query of the heads that share it.
OpExplanation explain_key_or_value(const OpGradArgs& args, const Attention& a, bool is_key,
                                   std::span<const std::int64_t> index) {
  OpExplanation result;
  result.formula = is_key ? "Σ_i Σ_d [[d]][i, d] · c · p[i, j] · ([[x2]][j, d] − z[i, d]) · "
                            "[[x0]][i, e]"
                          : "Σ_i [[d]][i, d] · p[i, j]";
  const std::int64_t j = index[2];
  for (std::int64_t h = index[1] * a.share; h < (index[1] + 1) * a.share; ++h) {
    for (std::int64_t i = 0; i < a.queries; ++i) {
      const Place at{index[0], h, i};
      if (!a.allows(at, j)) continue;
      const double p = a.weight(a.visit(at, nullptr), a.score(at, j));
      if (p == 0) continue;
      if (!is_key) {
        result.terms.push_back(gradient_term(args, {at.item, h, i, index[3]}, p, {},
                                             Message("explain.note.made_again")));
        continue;
      }
      const double part = a.factor / a.temperature * p * a.q(at)[index[3]];
      const float* z = args.out.data + a.q_row(at) * a.v_width;
      for (std::int64_t d = 0; d < a.v_width; ++d)
        result.terms.push_back(gradient_term(args, {at.item, h, i, d},
                                             part * (static_cast<double>(a.v(at, j)[d]) - z[d]), {},
                                             "c · p[i, j] · (v[j, d] − z[i, d]) · q[i, e]"));
    }
  }
  return result.terms.empty() ? zero_gradient(result.formula, "explain.no_weight") : result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  const Attention a(args.in, args.params);
  if (input == 3) return without_gradient();
  OpExplanation result = input == 0
                             ? explain_query(args, a, {index[0], index[1], index[2]}, index[3])
                             : explain_key_or_value(args, a, input == 1, index);
  if (input == 2 || result.terms.empty()) return result;
  result.quantities = {{"factor c", a.factor}};
  if (is_plain(args.params)) return result;
  result.formula += " / τ";
  for (OpTerm& term : result.terms) term.note.plain += " / τ";
  result.quantities.push_back({"temperature", a.temperature});
  return result;
}

// The query's row, all keys, the value's column.
std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  const std::int64_t kv = head / heads_per_kv(args.in[0].axes, args.in[1].axes);
  Pane q = matrix_pane(args.in[0], 0, PaneRole::kOperand, head);
  q.column_follow = Follow::kFree;
  Pane k = matrix_pane(args.in[1], 1, PaneRole::kOperand, kv);
  k.row_follow = k.column_follow = Follow::kFree;
  Pane v = matrix_pane(args.in[2], 2, PaneRole::kOperand, kv);
  v.row_follow = Follow::kFree;
  std::vector<Pane> all = {q, k, v};
  if (args.in.size() > 3) {
    all.push_back(matrix_pane(args.in[3], 3, PaneRole::kOperand, 0));
    all.back().column_follow = Follow::kFree;
  }
  all.push_back(matrix_pane(args.out, -1, PaneRole::kResult, head));
  return all;
}

std::string numpy(const CodeArgs& c) {
  const auto keys = std::to_string(c.args.in[1].axes[2].size), block = std::to_string(kKeys);
  const std::string k = shared_heads(c, 1, false), v = shared_heads(c, 2, false);
  const std::string rows = code_size(c.args.out, 3) + ", " + code_size(c.args.out, 2);
  const auto part = [&](const std::string& x) { return x + "[:, j:j + " + block + "]"; };
  std::string text = "top = np.full((" + rows +
                     ", 1), -np.inf)  # of each row: the largest score so far\n"
                     "total = np.zeros((" +
                     rows + ", 1))  # and the sum of exp(score - top)\n" + c.out + " = np.zeros(" +
                     code_shape(c.args.out) + ")\nfor j in range(0, " + keys + ", " + block +
                     "):  # a block of keys: no more scores than these at a time\n";
  text +=
      "    s = " + (c.args.params.factor == 1 ? "" : exact_number(c.args.params.factor) + " * ") +
      "(" + c.in[0] + " @ " + part(k) + ".transpose(0, 2, 1))\n";
  if (c.in.size() > 3) text += "    s = np.where(" + part(c.in[3]) + " == 0, s, -np.inf)\n";
  const std::string divided =
      is_plain(c.args.params) ? "" : " / " + exact_number(c.args.params.temperature);
  const auto power = [&](const std::string& x) {
    return divided.empty() ? "np.exp(" + x + ")" : "np.exp((" + x + ")" + divided + ")";
  };
  text +=
      "    new = np.maximum(top, s.max(axis=-1, keepdims=True))\n"
      "    finite = np.where(np.isneginf(new), 0, new)  # no allowed key yet\n"
      "    e, old = " +
      power("s - finite") + ", " + power("top - finite") +
      "\n    total = old * total + e.sum(axis=-1, keepdims=True)\n    " + c.out + " = old * " +
      c.out + " + e @ " + part(v) + "  # what was summed before shrinks\n    top = new\n";
  return text + c.out + " = " + c.out +
         " / np.where(total == 0, 1, total)  # a row with no allowed key is zero\n";
}

// Does the mask leave any query without a key?
bool has_empty_row(const CodeArgs& c) {
  if (c.in.size() < 4) return false;
  const auto [rows, keys] = as_rows(c.args.in[3].axes);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = c.args.in[3].data + r * keys;
    if (std::none_of(row, row + keys, [](float cell) { return cell == 0; })) return true;
  }
  return false;
}

// Its own function divides by the root of the width.
std::string torch(const CodeArgs& c) {
  const OpParams& params = c.args.params;
  const double width = static_cast<double>(c.args.in[0].axes[3].size);
  const bool usual = params.factor == static_cast<float>(1 / std::sqrt(width)) && is_plain(params);
  std::string q = c.in[0];
  if (!usual) {
    q += " * " +
         exact_number(static_cast<float>(params.factor / params.temperature * std::sqrt(width)));
  }
  return c.out + " = F.scaled_dot_product_attention(" + q + ", " + shared_heads(c, 1, true) + ", " +
         shared_heads(c, 2, true) + (c.in.size() > 3 ? ", attn_mask=" + c.in[3] : "") + ")" +
         (has_empty_row(c) ? ".nan_to_num(0.0)" : "") + "  # " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& fused_attention_op() {
  static const OpInfo info{
      .op = Op::kFusedAttention,
      .id = "fused_attention",
      .phrase = "values, weighted by the softmax of query times key, a block of keys at a time",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .inputs = {InputKind::kNumbers, InputKind::kNumbers, InputKind::kNumbers, InputKind::kMask},
      .errors = ErrorClass::kRows,
      .work = {.flops = 2, .per = WorkPer::kPair, .each = 80},
      // Heads as narrow as they are. The second has one head of keys for all, and no mask.
      .trials = {"b h t 9bh, b h s 9bh, b h s 5h, b t s", "b h t 7b, b 1 s 7b, b 1 s 9bh"},
      .joins_heads = true,
      .gradient_reads = {.inputs = {true, true, true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
