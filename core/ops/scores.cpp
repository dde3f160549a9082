// Attention scores: how well each key answers each query, as a dot product or additively.
#include <algorithm>
#include <cmath>

#include "core/ops/op.h"

namespace headlight {
namespace {

// q (batch, head, query, d_head), k (batch, kv_head, key, d_head) -> (batch, head, query, key)
// With fewer heads of keys, query head h reads k's head h / (head / kv_head).
std::vector<Axis> pair_shape(std::string_view op, std::span<const TensorView> in) {
  const bool fits = in[0].axes.size() == 4 && in[1].axes.size() == 4 &&
                    in[0].axes[0].size == in[1].axes[0].size &&
                    (in[1].axes[1].size == 0 ? in[0].axes[1].size == 0
                                             : in[0].axes[1].size % in[1].axes[1].size == 0) &&
                    in[0].axes[3].size == in[1].axes[3].size;
  if (!fits) {
    shape_error(op, in,
                "q (batch, head, query, d_head) and k (batch, head, key, d_head), whose heads "
                "divide q's");
  }
  const Axis &asks = in[0].axes[2], &answers = in[1].axes[2];
  return {in[0].axes[0],
          in[0].axes[1],
          {query_word(asks.name), asks.size},
          {key_word(answers.name), answers.size}};
}

std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("scores", in, 2, 2);
  return pair_shape("scores", in);
}

// S[h, i, j] = Σ_e q[h, i, e] · k[h, j, e]     (Vaswani et al. 2017, equation 1, without the root)
// The heads of a group follow each other, as if k's head had so many times the queries.
void forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t share = heads_per_kv(args.in[0].axes, args.in[1].axes);
  const std::int64_t queries = share * axes[2].size, keys = axes[3].size;
  const std::int64_t heads = args.in[1].axes[1].size, width = args.in[0].axes[3].size;
  std::fill_n(args.result, args.out.size(), 0.0f);
  for (std::int64_t bh = 0; bh < axes[0].size * heads; ++bh) {
    add_product({args.in[0].data + bh * queries * width, width},
                {args.in[1].data + bh * keys * width, 1, width}, args.result + bh * queries * keys,
                keys, queries, keys, width);
  }
}

// dq[h, i, e] += Σ_j dS[h, i, j] · k[h, j, e]
// dk[h, j, e] += Σ_i dS[h, i, j] · q[h, i, e]
void backward(const OpGradArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t share = heads_per_kv(args.in[0].axes, args.in[1].axes);
  const std::int64_t queries = share * axes[2].size, keys = axes[3].size;
  const std::int64_t heads = args.in[1].axes[1].size, width = args.in[0].axes[3].size;
  float *dq = args.d_in[0], *dk = args.d_in[1];
  for (std::int64_t bh = 0; bh < axes[0].size * heads; ++bh) {
    const float* ds = args.d_out + bh * queries * keys;
    const std::int64_t q0 = bh * queries * width, k0 = bh * keys * width;
    if (dq)
      add_product({ds, keys}, {args.in[1].data + k0, width}, dq + q0, width, queries, width, keys);
    if (dk)
      add_product({ds, 1, keys}, {args.in[0].data + q0, width}, dk + k0, width, keys, width,
                  queries);
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation result;
  result.formula = "Σ_d [[x0]][i, d] · [[x1]][j, d]";
  const std::int64_t kv = index[1] / heads_per_kv(args.in[0].axes, args.in[1].axes);
  for (std::int64_t e = 0; e < args.in[0].axes[3].size; ++e) {
    const std::vector<std::int64_t> q = {index[0], index[1], index[2], e};
    const std::vector<std::int64_t> k = {index[0], kv, index[3], e};
    result.terms.push_back({{0, q}, args.in[0].at(q), args.in[1].at(k), {{1, k}}, ""});
  }
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  const bool asks = input == 0;
  OpExplanation result;
  const std::int64_t share = heads_per_kv(args.in[0].axes, args.in[1].axes);
  result.formula = asks        ? "Σ_j [[d]][i, j] · [[x1]][j, d]"
                   : share > 1 ? "Σ_h Σ_i [[d]][h, i, j] · [[x0]][h, i, d]"
                               : "Σ_i [[d]][i, j] · [[x0]][i, d]";
  const std::int64_t others = args.out.axes[asks ? 3 : 2].size;
  // A key's head is felt by every query's head that shares it.
  const std::int64_t first = asks ? index[1] : index[1] * share, count = asks ? 1 : share;
  for (std::int64_t h = first; h < first + count; ++h) {
    for (std::int64_t o = 0; o < others; ++o) {
      const std::vector<std::int64_t> other = {index[0], asks ? h / share : h, o, index[3]};
      const std::int64_t i = asks ? index[2] : o, j = asks ? o : index[2];
      result.terms.push_back(gradient_term(
          args, {index[0], h, i, j}, args.in[asks ? 1 : 0].at(other), {{asks ? 1 : 0, other}}));
    }
  }
  return result;
}

// Kᵀ stands above the result and shares its columns, Q beside it and shares its rows.
std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  Pane q = matrix_pane(args.in[0], 0, PaneRole::kLeft, head);
  q.row_axis = args.out.axes[2].name;
  q.column_follow = Follow::kFree;
  Pane k = matrix_pane(args.in[1], 1, PaneRole::kTop,
                       head / heads_per_kv(args.in[0].axes, args.in[1].axes));
  std::swap(k.rows, k.columns);
  std::swap(k.row_stride, k.column_stride);
  k.row_axis = args.in[1].axes[3].name;
  k.column_axis = args.out.axes[3].name;
  k.transposed = true;
  k.row_follow = Follow::kFree;
  return {q, k, matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

// q (H, T, d_head) @ kᵀ (H, d_head, T)
std::string code_with(const CodeArgs& c, bool torch, const std::string& swap) {
  const TensorView& k = c.args.in[1];
  return c.out + " = " + c.in[0] + " @ " + shared_heads(c, 1, torch) + swap + "  # " +
         code_shape(c.args.in[0]) + " @ (" + code_size(c.args.in[0], 3) + ", " + code_size(k, 1) +
         ", " + code_size(k, 2) + ") -> " + code_shape(c.args.out) + "\n";
}
std::string numpy(const CodeArgs& c) { return code_with(c, false, ".transpose(0, 2, 1)"); }
std::string torch(const CodeArgs& c) { return code_with(c, true, ".transpose(1, 2)"); }

// ---- additive (Bahdanau, Cho, Bengio 2014, appendix A.1.2) ----

// q, k as above, v (head, d_head) -> (batch, head, query, key)
std::vector<Axis> additive_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("additive_scores", in, 3, 3);
  const bool fits = in[2].axes.size() == 2 && in[0].axes.size() == 4 &&
                    in[2].axes[0].size == in[0].axes[1].size &&
                    in[2].axes[1].size == in[0].axes[3].size;
  if (!fits)
    shape_error("additive_scores", in, "q, k (batch, head, ..., d_head), v (head, d_head)");
  return pair_shape("additive_scores", in);
}

// S[h, i, j] = Σ_e v[h, e] · tanh(q[h, i, e] + k[h, j, e])
void additive_forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t heads = axes[1].size, queries = axes[2].size, keys = axes[3].size;
  const std::int64_t width = args.in[0].axes[3].size;
  const std::int64_t share = heads_per_kv(args.in[0].axes, args.in[1].axes);
  float* out = args.result;
  for (std::int64_t bh = 0; bh < axes[0].size * heads; ++bh) {
    const float* v = args.in[2].data + bh % heads * width;
    for (std::int64_t i = 0; i < queries; ++i) {
      const float* q = args.in[0].data + (bh * queries + i) * width;
      for (std::int64_t j = 0; j < keys; ++j) {
        const float* k = args.in[1].data + (bh / share * keys + j) * width;
        double sum = 0;
        for (std::int64_t e = 0; e < width; ++e) {
          sum += v[e] * std::tanh(static_cast<double>(q[e]) + k[e]);
        }
        *out++ = static_cast<float>(sum);
      }
    }
  }
}

// With t = tanh(q[h, i, e] + k[h, j, e]), whose slope is 1 − t²:
// dq[h, i, e] += Σ_j dS[h, i, j] · v[h, e] · (1 − t²)
// dk[h, j, e] += Σ_i dS[h, i, j] · v[h, e] · (1 − t²)
// dv[h, e]    += Σ_b Σ_i Σ_j dS[h, i, j] · t
void additive_backward(const OpGradArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t batch = axes[0].size, heads = axes[1].size;
  const std::int64_t queries = axes[2].size, keys = axes[3].size;
  const std::int64_t width = args.in[0].axes[3].size;
  const std::int64_t share = heads_per_kv(args.in[0].axes, args.in[1].axes);
  const auto bend = [&](std::int64_t bh, std::int64_t i, std::int64_t j, std::int64_t e) {
    return std::tanh(static_cast<double>(args.in[0].data[(bh * queries + i) * width + e]) +
                     args.in[1].data[(bh / share * keys + j) * width + e]);
  };
  const auto d_score = [&](std::int64_t bh, std::int64_t i, std::int64_t j) -> double {
    return args.d_out[(bh * queries + i) * keys + j];
  };
  for (std::int64_t bh = 0; bh < batch * heads; ++bh) {
    for (std::int64_t e = 0; e < width; ++e) {
      const double v = args.in[2].data[bh % heads * width + e];
      for (std::int64_t i = 0; args.d_in[0] && i < queries; ++i) {
        float& dq = args.d_in[0][(bh * queries + i) * width + e];
        double sum = dq;
        for (std::int64_t j = 0; j < keys; ++j) {
          const double t = bend(bh, i, j, e);
          sum += d_score(bh, i, j) * v * (1 - t * t);
        }
        dq = static_cast<float>(sum);
      }
      for (std::int64_t j = 0; args.d_in[1] && j < keys; ++j) {
        float& dk = args.d_in[1][(bh / share * keys + j) * width + e];
        double sum = dk;
        for (std::int64_t i = 0; i < queries; ++i) {
          const double t = bend(bh, i, j, e);
          sum += d_score(bh, i, j) * v * (1 - t * t);
        }
        dk = static_cast<float>(sum);
      }
    }
  }
  for (std::int64_t he = 0; args.d_in[2] && he < heads * width; ++he) {
    double sum = args.d_in[2][he];
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t bh = b * heads + he / width;
      for (std::int64_t i = 0; i < queries; ++i) {
        for (std::int64_t j = 0; j < keys; ++j) {
          sum += d_score(bh, i, j) * bend(bh, i, j, he % width);
        }
      }
    }
    args.d_in[2][he] = static_cast<float>(sum);
  }
}

OpExplanation additive_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation result;
  result.formula = "Σ_d [[x2]][d] · tanh([[x0]][i, d] + [[x1]][j, d])";
  const std::int64_t kv = index[1] / heads_per_kv(args.in[0].axes, args.in[1].axes);
  for (std::int64_t e = 0; e < args.in[0].axes[3].size; ++e) {
    const std::vector<std::int64_t> q = {index[0], index[1], index[2], e};
    const std::vector<std::int64_t> k = {index[0], kv, index[3], e};
    const std::vector<std::int64_t> v = {index[1], e};
    const double bend = std::tanh(static_cast<double>(args.in[0].at(q)) + args.in[1].at(k));
    OpTerm term{{2, v}, args.in[2].at(v), bend, {{0, q}, {1, k}}, "tanh(q + k)"};
    term.written = {math("tanh(", "\\tanh("), math(args.in[0].at(q)), math(" + ", " + "),
                    math(args.in[1].at(k)), math(")", ")")};
    result.terms.push_back(std::move(term));
  }
  return result;
}

// v[h, e] meets every query and key of every row.
OpExplanation explain_meetings(const OpGradArgs& args, std::int64_t h, std::int64_t e) {
  OpExplanation result;
  result.formula = "Σ_i Σ_j [[d]][i, j] · tanh([[x0]][i, d] + [[x1]][j, d])";
  const auto& axes = args.out.axes;
  const std::int64_t kv = h / heads_per_kv(args.in[0].axes, args.in[1].axes);
  for (std::int64_t b = 0; b < axes[0].size; ++b) {
    for (std::int64_t i = 0; i < axes[2].size; ++i) {
      for (std::int64_t j = 0; j < axes[3].size; ++j) {
        const std::vector<std::int64_t> q = {b, h, i, e}, k = {b, kv, j, e};
        const double asks = args.in[0].at(q), answers = args.in[1].at(k);
        OpTerm term = gradient_term(args, {b, h, i, j}, std::tanh(asks + answers), {{0, q}, {1, k}},
                                    "tanh(q + k)");
        term.written = {math("tanh(", "\\tanh("), math(asks), math(" + ", " + "), math(answers),
                        math(")", ")")};
        result.terms.push_back(std::move(term));
      }
    }
  }
  return result;
}

OpExplanation additive_explain_gradient(const OpGradArgs& args, int input,
                                        std::span<const std::int64_t> index) {
  if (input == 2) return explain_meetings(args, index[0], index[1]);
  const bool asks = input == 0;
  const std::int64_t share = heads_per_kv(args.in[0].axes, args.in[1].axes);
  OpExplanation result;
  result.formula = std::string(asks        ? "Σ_j [[d]][i, j]"
                               : share > 1 ? "Σ_h Σ_i [[d]][h, i, j]"
                                           : "Σ_i [[d]][i, j]") +
                   " · [[x2]][d] · (1 − tanh²([[x0]][i, d] + [[x1]][j, d]))";
  const std::int64_t others = args.out.axes[asks ? 3 : 2].size;
  const std::int64_t first = asks ? index[1] : index[1] * share, count = asks ? 1 : share;
  for (std::int64_t at = 0; at < count * others; ++at) {
    const std::int64_t h = first + at / others, o = at % others;
    const std::int64_t i = asks ? index[2] : o, j = asks ? o : index[2];
    const std::vector<std::int64_t> v = {h, index[3]}, q = {index[0], h, i, index[3]};
    const std::vector<std::int64_t> k = {index[0], h / share, j, index[3]};
    const double weight = args.in[2].at(v);
    const double bend = std::tanh(static_cast<double>(args.in[0].at(q)) + args.in[1].at(k));
    OpTerm term = gradient_term(args, {index[0], h, i, j}, weight * (1 - bend * bend),
                                {{2, v}, {0, q}, {1, k}}, "v · (1 − tanh²(q + k))");
    term.written = {math("(", "("),
                    math(weight),
                    math(" × (1 − tanh²(", " \\times (1 - \\tanh^2("),
                    math(args.in[0].at(q)),
                    math(" + ", " + "),
                    math(args.in[1].at(k)),
                    math(")))", ")))")};
    result.terms.push_back(std::move(term));
  }
  return result;
}

std::vector<Pane> additive_panes(const OpArgs& args, std::int64_t head) {
  std::vector<Pane> result = panes(args, head);
  Pane v = vector_pane(args.in[2], 2, PaneRole::kRowVector);
  v.offset = head * v.columns;
  v.column_follow = Follow::kFree;
  result.insert(result.begin() + 2, v);
  return result;
}

// Every query meets every key: (H, T, 1, d_head) + (H, 1, T, d_head).
std::string additive_code(const CodeArgs& c, const std::string& library, const std::string& axis) {
  const std::string& q = c.in[0];
  return "meeting = " + library + ".tanh(" + q + "[:, :, None, :] + " +
         shared_heads(c, 1, library != "np") + "[:, None, :, :])  # (" + code_size(c.args.out, 3) +
         ", " + code_size(c.args.out, 2) + ", " + code_size(c.args.out, 1) + ", " +
         code_size(c.args.in[0], 1) + ")\n" + c.out + " = (" + c.in[2] +
         "[:, None, None, :] * meeting).sum(" + axis + "=-1)  # " + code_shape(c.args.out) + "\n";
}
std::string additive_numpy(const CodeArgs& c) { return additive_code(c, "np", "axis"); }
std::string additive_torch(const CodeArgs& c) { return additive_code(c, "torch", "dim"); }

}  // namespace

const OpInfo& scores_op() {
  static const OpInfo info{
      .op = Op::kScores,
      .id = "scores",
      .phrase = "query times key, summed",
      .layout = Layout::kProduct,
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .errors = ErrorClass::kProducts,
      .work = {.flops = 2, .per = WorkPer::kTerm},
      .trials = {"b h t n, b h s n", "b 2h t n, b h s n"},  // the second with shared heads
      .timed = {{TunePart::kProducts, "b h s t, b h s t"},
                {TunePart::kFewRows, "b h t m, b h t m"}},
      .row_by_row = true,
      .reads_all_rows = {false, true},
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

const OpInfo& additive_scores_op() {
  static const OpInfo info{
      .op = Op::kAdditiveScores,
      .id = "additive_scores",
      .phrase = "v times tanh(query + key), summed",
      .layout = Layout::kProduct,
      .shape = additive_shape,
      .forward = additive_forward,
      .backward = additive_backward,
      .explain = additive_explain,
      .explain_gradient = additive_explain_gradient,
      .panes = additive_panes,
      .numpy = additive_numpy,
      .torch = additive_torch,
      .errors = ErrorClass::kProducts,
      .work = {.flops = 60, .per = WorkPer::kTerm},
      .trials = {"b h t n, b h s n, h n",
                 "b 2h t n, b h s n, 2h n"},  // the second with shared heads
  };
  return info;
}

}  // namespace headlight
