// Scores of drawn queries and keys, undivided, divided by √d_k and additive, and what is measured
// of a matrix of scores.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/random.h"
#include "core/lab/lab_run.h"

namespace headlight {

inline constexpr std::int64_t kMostFeatures = 1024;

enum ScoreForm : std::size_t { kUndivided, kDivided, kAdditive, kForms };
inline constexpr std::array<const char*, kForms> kFormNames = {"undivided", "divided", "additive"};

// One draw: a query and a key for each token, as wide as the widest, of which a narrower head has
// the first numbers; and the vector that additive scores are weighed with.
struct ScoreDraw {
  std::int64_t tokens = 0;
  std::vector<float> q, k, v;

  Tensor part(const std::vector<float>& all, std::string name, std::int64_t width) const {
    std::vector<float> cells;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto row = all.begin() + t * kMostFeatures;
      cells.insert(cells.end(), row, row + width);
    }
    return lab_tensor(std::move(name),
                      {{"batch", 1}, {"head", 1}, {"position", tokens}, {"d_head", width}}, cells);
  }
};

inline ScoreDraw draw_of(std::int64_t number, std::int64_t tokens) {
  ScoreDraw draw{tokens, {}, {}, {}};
  const auto cells = static_cast<std::size_t>(tokens * kMostFeatures);
  const auto fill = [&](std::uint64_t stream, std::size_t count, std::vector<float>& to) {
    const std::uint64_t key = scatter(scatter(static_cast<std::uint64_t>(number)) + stream);
    for (std::size_t i = 0; i < count; ++i) to.push_back(static_cast<float>(normal(key, i)));
  };
  fill(1, cells, draw.q);
  fill(2, cells, draw.k);
  fill(3, static_cast<std::size_t>(kMostFeatures), draw.v);
  return draw;
}

// What is said of one matrix of scores.
struct MeasuredScores {
  double spread = 0, largest = 0, entropy = 0, gradient = 0;
};

// The weights of one row of scores, and how much of a gradient comes back through its softmax: the
// root of the mean square for gradients of size 1 in all directions, which is the Frobenius norm of
// softmax's derivative, by its backward pass.
struct ScoreRow {
  Tensor weights;
  double gradient = 0;
};

inline ScoreRow score_row(std::span<const float> scores) {
  const auto n = static_cast<std::int64_t>(scores.size());
  const Tensor row =
      lab_tensor("scores", {{"batch", 1}, {"key", n}}, {scores.begin(), scores.end()});
  const Tensor* in[] = {&row};
  ScoreRow result{lab_op(Op::kSoftmax, in), 0};
  // All directions at once: as many copies of the row, each with a gradient of its own.
  const std::vector<Axis> copies = {{"batch", n}, {"key", n}};
  std::vector<float> rows, weights, d(scores.size() * scores.size(), 0.0f);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    rows.insert(rows.end(), scores.begin(), scores.end());
    weights.insert(weights.end(), result.weights.data.begin(), result.weights.data.end());
    d[j * scores.size() + j] = 1;
  }
  const Tensor all = lab_tensor("scores", copies, std::move(rows));
  const Tensor* many[] = {&all};
  const Tensor back =
      lab_gradient(Op::kSoftmax, many, lab_tensor("weights", copies, std::move(weights)), d);
  double sum = 0;
  for (const float g : back.data) sum += static_cast<double>(g) * g;
  result.gradient = std::sqrt(sum);
  return result;
}

// Rows of one key have the weight 1 whatever the score is, and count for nothing but the picture.
inline MeasuredScores measure_scores(const Tensor& scores, bool causal,
                                     std::vector<float>* picture) {
  const auto n = static_cast<std::size_t>(scores.axes[2].size);
  MeasuredScores m;
  double sum = 0, squares = 0, count = 0, rows = 0;
  if (picture) picture->assign(n * n, 0.0f);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t keys = causal ? i + 1 : n;
    const std::span<const float> cells{scores.data.data() + i * n, keys};
    const ScoreRow row = score_row(cells);
    if (picture)
      std::ranges::copy(row.weights.data, picture->begin() + static_cast<std::ptrdiff_t>(i * n));
    for (const double s : cells) sum += s, squares += s * s, ++count;
    if (keys < 2) continue;
    double largest = 0, entropy = 0;
    for (const double w : row.weights.data) {
      largest = std::max(largest, w);
      if (w > 0) entropy -= w * std::log2(w);
    }
    m.largest += largest, m.entropy += entropy, m.gradient += row.gradient;
    ++rows;
  }
  m.spread = std::sqrt(std::max(0.0, squares / count - (sum / count) * (sum / count)));
  rows = std::max(rows, 1.0);
  m.largest /= rows, m.entropy /= rows, m.gradient /= rows;
  return m;
}

// Of queries and keys (1, 1, position, d_head) and the vector of additive scores (1, d_head).
inline std::array<Tensor, kForms> scores_of(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor* two[] = {&q, &k};
  const Tensor* three[] = {&q, &k, &v};
  std::array<Tensor, kForms> all;
  all[kUndivided] = lab_op(Op::kScores, two);
  OpParams params;
  params.factor = static_cast<float>(1 / std::sqrt(static_cast<double>(q.axes.back().size)));
  const Tensor* raw[] = {&all[kUndivided]};
  all[kDivided] = lab_op(Op::kScale, raw, params);
  all[kAdditive] = lab_op(Op::kAdditiveScores, three);
  for (Tensor& t : all) t.axes.erase(t.axes.begin());  // (head, query, key)
  return all;
}

inline Tensor additive_vector(const ScoreDraw& draw, std::int64_t width) {
  return lab_tensor("v", {{"head", 1}, {"d_head", width}},
                    {draw.v.begin(), draw.v.begin() + width});
}

inline std::array<Tensor, kForms> scores_of(const ScoreDraw& draw, std::int64_t width) {
  return scores_of(draw.part(draw.q, "q", width), draw.part(draw.k, "k", width),
                   additive_vector(draw, width));
}

}  // namespace headlight
