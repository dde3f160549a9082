// What a distance adds to a score: a number that falls with it (ALiBi, Press et al. 2022, "Train
// short, test long"), or one that is learned for each bucket of distances (T5, Raffel et al. 2020).
#include <bit>
#include <cmath>
#include <cstdio>

#include "core/ops/positions/distance.h"

namespace headlight {
namespace {

bool is_scores(const TensorView& s) { return s.axes.size() == 4; }

// Calls f(cell, head, query, key) for each score.
template <class F>
void for_scores(std::span<const Axis> axes, F&& f) {
  const std::int64_t heads = axes[1].size, queries = axes[2].size, keys = axes[3].size;
  std::int64_t cell = 0;
  for (std::int64_t bh = 0; bh < axes[0].size * heads; ++bh) {
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t j = 0; j < keys; ++j) f(cell++, bh % heads, i, j);
    }
  }
}

// ---- ALiBi ----

// S (batch, head, query, key) -> the axes of S
std::vector<Axis> alibi_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("alibi", in, 1, 1);
  if (!is_scores(in[0])) shape_error("alibi", in, "S (batch, head, query, key)");
  return {in[0].axes.begin(), in[0].axes.end()};
}

float alibi_term(std::int64_t head, std::int64_t heads, std::int64_t distance) {
  return -static_cast<float>(alibi_slope(head, heads) * static_cast<double>(std::abs(distance)));
}

// y[h, i, j] = S[h, i, j] − m_h · |i + offset − j|
void alibi_forward(const OpArgs& args) {
  const std::int64_t heads = args.out.axes[1].size;
  for_scores(args.out.axes, [&](std::int64_t cell, std::int64_t h, std::int64_t i, std::int64_t j) {
    args.result[cell] =
        args.in[0].data[cell] + alibi_term(h, heads, distance_of(args.params, i, j));
  });
}

// dS += dy: what is taken away is always the same
void alibi_backward(const OpGradArgs& args) {
  for (std::int64_t i = 0; args.d_in[0] && i < args.out.size(); ++i)
    args.d_in[0][i] += args.d_out[i];
}

OpExplanation alibi_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const std::int64_t heads = args.out.axes[1].size;
  const std::int64_t distance = std::abs(distance_of(args.params, index[2], index[3]));
  const double slope = alibi_slope(index[1], heads), score = args.in[0].at(cell);
  OpExplanation result;
  result.formula = args.params.causal ? "S[i, j] − m · (i − j)" : "S[i, j] − m · |i − j|";
  result.quantities = {{"slope m", slope}, {"distance", static_cast<double>(distance)}};
  result.terms = {{{0, cell}, score, 1.0, {}, ""},
                  {{},
                   alibi_term(index[1], heads, distance),
                   1.0,
                   {},
                   Message("explain.note.slope_distance"),
                   {}}};
  result.written = {math(score), math(" − ", " - "), math(slope), math(" × ", " \\times "),
                    math(static_cast<double>(distance))};
  return result;
}

OpExplanation passed_on(const OpGradArgs& args, std::span<const std::int64_t> index) {
  return {{gradient_term(args, {index.begin(), index.end()})}, {}, "dy[i, j]"};
}

OpExplanation alibi_explain_gradient(const OpGradArgs& args, int,
                                     std::span<const std::int64_t> index) {
  return passed_on(args, index);
}

std::string alibi_code(const CodeArgs& c, bool torch) {
  const std::string library = torch ? "torch" : "np";
  const std::int64_t heads = c.args.out.axes[1].size;
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  const std::string n = std::to_string(power);
  std::string text = distance_code(c, c.args.out, torch) + "slope = 2.0 ** (-8 * " + library +
                     ".arange(1, " + std::to_string(power + 1) + ") / " + n + ")\n";
  if (heads > power)
    text += "between = 2.0 ** (-4 * " + library + ".arange(1, " +
            std::to_string(2 * (heads - power)) + ", 2) / " + n + ")\nslope = " + library +
            (torch ? ".cat" : ".concatenate") + "([slope, between])\n";
  return text + c.out + " = " + c.in[0] + " - slope[:, None, None] * abs(distance)  # " +
         code_shape(c.args.out) + "\n";
}

// ---- T5 ----

// S (batch, head, query, key), b (head, bucket) -> the axes of S
std::vector<Axis> bias_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("distance_bias", in, 2, 2);
  const auto& table = in[1].axes;
  if (!is_scores(in[0]) || table.size() != 2 || table[0].size != in[0].axes[1].size ||
      table[1].size < 1)
    shape_error("distance_bias", in,
                "S (batch, head, query, key) and b (head, bucket) with at least one bucket");
  return {in[0].axes.begin(), in[0].axes.end()};
}

std::int64_t bucket_at(const OpParams& params, std::int64_t buckets, std::int64_t i,
                       std::int64_t j) {
  return distance_bucket(distance_of(params, i, j), buckets, params);
}

// y[h, i, j] = S[h, i, j] + b[h, bucket(i + offset − j)]
void bias_forward(const OpArgs& args) {
  const std::int64_t buckets = args.in[1].axes[1].size;
  for_scores(args.out.axes, [&](std::int64_t cell, std::int64_t h, std::int64_t i, std::int64_t j) {
    args.result[cell] = args.in[0].data[cell] +
                        args.in[1].data[h * buckets + bucket_at(args.params, buckets, i, j)];
  });
}

// dS += dy, db[h, n] += Σ_b Σ_ij dy[h, i, j] over the pairs whose distance is in bucket n
void bias_backward(const OpGradArgs& args) {
  for (std::int64_t i = 0; args.d_in[0] && i < args.out.size(); ++i)
    args.d_in[0][i] += args.d_out[i];
  float* db = args.d_in[1];
  if (!db) return;
  const std::int64_t buckets = args.in[1].axes[1].size;
  std::vector<double> sums(db, db + args.in[1].size());
  for_scores(args.out.axes, [&](std::int64_t cell, std::int64_t h, std::int64_t i, std::int64_t j) {
    sums[place(static_cast<int>(h * buckets + bucket_at(args.params, buckets, i, j)))] +=
        args.d_out[cell];
  });
  for (std::size_t n = 0; n < sums.size(); ++n) db[n] = static_cast<float>(sums[n]);
}

OpExplanation bias_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const std::int64_t bucket = bucket_at(args.params, args.in[1].axes[1].size, index[2], index[3]);
  const std::vector<std::int64_t> learned = {index[1], bucket};
  const double score = args.in[0].at(cell), added = args.in[1].at(learned);
  const auto distance = static_cast<double>(distance_of(args.params, index[2], index[3]));
  return {{{{0, cell}, score, 1.0, {}, ""}, {{1, learned}, added, 1.0, {}, ""}},
          {{"distance", distance}, {"bucket", static_cast<double>(bucket)}},
          "S[i, j] + b[h, bucket(i − j)]",
          {math(score), math(" + ", " + "), math(added)}};
}

OpExplanation bias_explain_gradient(const OpGradArgs& args, int input,
                                    std::span<const std::int64_t> index) {
  if (input == 0) return passed_on(args, index);
  OpExplanation result{{}, {{"bucket", static_cast<double>(index[1])}}, "Σ_ij dy[h, i, j]"};
  const auto& axes = args.out.axes;
  const std::int64_t buckets = args.in[1].axes[1].size;
  for (std::int64_t b = 0; b < axes[0].size; ++b) {
    for (std::int64_t i = 0; i < axes[2].size; ++i) {
      for (std::int64_t j = 0; j < axes[3].size; ++j) {
        if (bucket_at(args.params, buckets, i, j) == index[1])
          result.terms.push_back(gradient_term(args, {b, index[0], i, j}));
      }
    }
  }
  if (result.terms.empty()) return zero_gradient(result.formula, "explain.no_pair");
  return result;
}

// The head's row of the table stands between the scores and the result.
std::vector<Pane> bias_panes(const OpArgs& args, std::int64_t head) {
  Pane table = vector_pane(args.in[1], 1, PaneRole::kOperand);
  table.offset = head * table.columns;
  table.column_follow = Follow::kFree;
  return {matrix_pane(args.in[0], 0, PaneRole::kOperand, head), table,
          matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

std::string bias_code(const CodeArgs& c, bool torch) {
  const OpParams& params = c.args.params;
  const BucketSizes size(c.args.in[1].axes[1].size, params.causal);
  const std::string library = torch ? "torch" : "np", exact = std::to_string(size.exact);
  const std::string last = std::to_string(size.count - 1);
  std::string text = distance_code(c, c.args.out, torch);
  text += params.causal && torch ? "n = distance.clamp(min=0)\n"
          : params.causal        ? "n = np.maximum(distance, 0)\n"
                                 : "n = abs(distance)\n";
  if (size.exact == 0) {
    text += "bucket = 0 * n\n";
  } else if (params.reach <= size.exact) {
    text += "bucket = " + library + ".where(n < " + exact + ", n, " + last + ")\n";
  } else {
    const std::string whole = torch ? ".long()" : ".astype(int)";
    const std::string most = torch ? ".clamp(max=" + last + ")" : "";
    char root[32];
    std::snprintf(root, sizeof root, "%.17g",
                  std::log(static_cast<double>(params.reach) / static_cast<double>(size.exact)));
    text += "far = " + library + ".log((n + (n == 0)) / " + exact + ") / " + root + " * " +
            std::to_string(size.count - size.exact) + "  # logarithms of far distances\n";
    const std::string far = exact + " + (far + 1e-9)" + whole;
    text += "bucket = " + library + ".where(n < " + exact + ", n, " +
            (torch ? "(" + far + ")" + most : "np.minimum(" + far + ", " + last + ")") + ")\n";
  }
  if (!params.causal)
    text += "bucket = bucket + " + std::to_string(size.count) + " * (distance < 0)\n";
  return text + c.out + " = " + c.in[0] + " + " + c.in[1] + "[:, bucket]  # " +
         code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& alibi_op() {
  static const OpInfo info{
      .op = Op::kAlibi,
      .id = "alibi",
      .phrase = "less, the farther the key is",
      .shape = alibi_shape,
      .forward = alibi_forward,
      .backward = alibi_backward,
      .explain = alibi_explain,
      .explain_gradient = alibi_explain_gradient,
      .numpy = [](const CodeArgs& c) { return alibi_code(c, false); },
      .torch = [](const CodeArgs& c) { return alibi_code(c, true); },
      .work = {.flops = 3},
      .trials = {"b h t s"},
      .keeps_place = true,
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

const OpInfo& distance_bias_op() {
  static const OpInfo info{
      .op = Op::kDistanceBias,
      .id = "distance_bias",
      .phrase = "adds the learned number of the distance",
      .sign = "+",
      .shape = bias_shape,
      .forward = bias_forward,
      .backward = bias_backward,
      .explain = bias_explain,
      .explain_gradient = bias_explain_gradient,
      .panes = bias_panes,
      .numpy = [](const CodeArgs& c) { return bias_code(c, false); },
      .torch = [](const CodeArgs& c) { return bias_code(c, true); },
      .trials = {"b h t s, h m"},
      .keeps_place = true,
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
