// Why ÷ √d_k: scores of random queries and keys, divided and not, as d_k grows.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/random.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"

namespace headlight {
namespace {

constexpr std::size_t kDrawnTokens = 32, kMostFeatures = 1024;
constexpr std::int64_t kDraws = 24;
// Widths of the series; every fourth has a picture.
constexpr std::array<std::int64_t, 9> kHeadWidths = {4, 8, 16, 32, 64, 128, 256, 512, 1024};

enum Form : std::size_t { kUndivided, kDivided, kAdditive, kForms };
constexpr std::array<const char*, kForms> kNames = {"undivided", "divided", "additive"};

// One draw: a query and a key for each token, as wide as the widest, of which a narrower head has
// the first numbers; and the vector that additive scores are weighed with.
struct Draw {
  std::int64_t tokens = 0;
  std::vector<float> q, k, v;

  Tensor part(const std::vector<float>& all, std::string name, std::int64_t width) const {
    std::vector<float> cells;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto row = all.begin() + t * static_cast<std::int64_t>(kMostFeatures);
      cells.insert(cells.end(), row, row + width);
    }
    return lab_tensor(std::move(name),
                      {{"batch", 1}, {"head", 1}, {"position", tokens}, {"d_head", width}}, cells);
  }
};

Draw draw_of(std::int64_t number, std::int64_t tokens) {
  Draw draw{tokens, {}, {}, {}};
  const auto cells = static_cast<std::size_t>(tokens) * kMostFeatures;
  const auto fill = [&](std::uint64_t stream, std::size_t count, std::vector<float>& to) {
    const std::uint64_t key = scatter(scatter(static_cast<std::uint64_t>(number)) + stream);
    for (std::size_t i = 0; i < count; ++i) to.push_back(static_cast<float>(normal(key, i)));
  };
  fill(1, cells, draw.q);
  fill(2, cells, draw.k);
  fill(3, kMostFeatures, draw.v);
  return draw;
}

// What is said of one matrix of scores.
struct Measured {
  double spread = 0, largest = 0, entropy = 0, gradient = 0;
};

// The weights of one row of scores, and how much of a gradient comes back through its softmax: the
// root of the mean square for gradients of size 1 in all directions, which is the Frobenius norm of
// softmax's derivative, by its backward pass.
struct Row {
  Tensor weights;
  double gradient = 0;
};

Row row_of(std::span<const float> scores) {
  const auto n = static_cast<std::int64_t>(scores.size());
  const Tensor row =
      lab_tensor("scores", {{"batch", 1}, {"key", n}}, {scores.begin(), scores.end()});
  const Tensor* in[] = {&row};
  Row result{lab_op(Op::kSoftmax, in), 0};
  std::vector<float> d(scores.size(), 0.0f);
  double sum = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    d[j] = 1;
    const Tensor back = lab_gradient(Op::kSoftmax, in, result.weights, d);
    for (const float g : back.data) sum += static_cast<double>(g) * g;
    d[j] = 0;
  }
  result.gradient = std::sqrt(sum);
  return result;
}

// Rows of one key have the weight 1 whatever the score is, and count for nothing but the picture.
Measured measure(const Tensor& scores, bool causal, std::vector<float>* picture) {
  const auto n = static_cast<std::size_t>(scores.axes[2].size);
  Measured m;
  double sum = 0, squares = 0, count = 0, rows = 0;
  if (picture) picture->assign(n * n, 0.0f);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t keys = causal ? i + 1 : n;
    const std::span<const float> cells{scores.data.data() + i * n, keys};
    const Row row = row_of(cells);
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

std::array<Tensor, kForms> scores_of(const Draw& draw, std::int64_t width) {
  const Tensor q = draw.part(draw.q, "q", width), k = draw.part(draw.k, "k", width);
  const Tensor v =
      lab_tensor("v", {{"head", 1}, {"d_head", width}}, {draw.v.begin(), draw.v.begin() + width});
  const Tensor* two[] = {&q, &k};
  const Tensor* three[] = {&q, &k, &v};
  std::array<Tensor, kForms> all;
  all[kUndivided] = lab_op(Op::kScores, two);
  OpParams params;
  params.factor = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  const Tensor* raw[] = {&all[kUndivided]};
  all[kDivided] = lab_op(Op::kScale, raw, params);
  all[kAdditive] = lab_op(Op::kAdditiveScores, three);
  for (Tensor& t : all) t.axes.erase(t.axes.begin());  // (head, query, key)
  return all;
}

constexpr std::array<const char*, 4> kFigures = {"spread", "largest", "entropy", "gradient"};
double figure(const Measured& m, std::size_t f) {
  return f == 0 ? m.spread : f == 1 ? m.largest : f == 2 ? m.entropy : m.gradient;
}

// By form, width and draw.
using All = std::array<std::array<std::vector<Measured>, kHeadWidths.size()>, kForms>;

// The line is the shown draw, the band from the tenth to the ninetieth percentile of all.
void add_series(LabRun& run, const All& all) {
  for (std::size_t f = 0; f < kFigures.size(); ++f) {
    for (std::size_t form = 0; form < kForms; ++form) {
      LabSeries s{std::string(kFigures[f]) + "." + kNames[form], {}, {}};
      for (std::size_t w = 0; w < kHeadWidths.size(); ++w) {
        std::vector<double> draws;
        for (const Measured& m : all[form][w]) draws.push_back(figure(m, f));
        s.x.push_back(static_cast<double>(kHeadWidths[w]));
        s.y.push_back(draws[0]);
        std::ranges::sort(draws);
        const auto at = [&](double share) {
          return draws[static_cast<std::size_t>(
              std::lround(share * static_cast<double>(draws.size() - 1)))];
        };
        s.low.push_back(at(0.1));
        s.high.push_back(at(0.9));
      }
      run.result.series.push_back(std::move(s));
    }
  }
}

// What this draw shows; a sentence that it does not support is left out.
void add_words(LabRun& run, const All& all, std::size_t chosen) {
  const auto of = [&](Form form, std::size_t w) -> const Measured& { return all[form][w][0]; };
  const std::size_t last = kHeadWidths.size() - 1;
  const Measured &narrow = of(kUndivided, 0), &wide = of(kUndivided, last);
  if (wide.largest > narrow.largest + 0.1)
    run.notice(wide.largest > 0.9 ? "one_word" : "sharper",
               {{"first", lab_number(narrow.largest)}, {"last", lab_number(wide.largest)}});
  double low = 1, high = 0;
  for (std::size_t w = 0; w <= last; ++w) {
    low = std::min(low, of(kDivided, w).largest);
    high = std::max(high, of(kDivided, w).largest);
  }
  if (high < 0.9 && high - low < 0.25)
    run.notice("level", {{"low", lab_number(low)}, {"high", lab_number(high)}});
  const auto d = static_cast<double>(kHeadWidths[chosen]);
  const double spread = of(kUndivided, chosen).spread, root = std::sqrt(d);
  if (spread > 0.75 * root && spread < 1.33 * root)
    run.notice("root", {{"d", std::to_string(kHeadWidths[chosen])},
                        {"spread", lab_number(spread)},
                        {"root", lab_number(root)},
                        {"divided", lab_number(of(kDivided, chosen).spread)}});
  const Measured &thin = of(kAdditive, 0), &thick = of(kAdditive, last);
  if (thick.spread > 2 * thin.spread && thick.largest > 0.9)
    run.notice("additive", {{"last", lab_number(thick.largest)}});

  // From the chosen width to the widest, or from the narrowest where that is chosen.
  const std::size_t from = chosen == last ? 0 : chosen;
  const double before = of(kUndivided, from).gradient, after = wide.gradient;
  if (!(before > 0)) return;  // one token: nothing comes back at all
  const double ratio = after / before;
  LabQuestion ask{
      "gradient", {{"from", std::to_string(kHeadWidths[from])}}, {"same", "grows", "falls"}, 0, {}};
  ask.right = ratio < 0.5 ? 2 : ratio > 2 ? 1 : 0;
  ask.because = run.because("gradient", {{"before", lab_number(before)},
                                         {"from", std::to_string(kHeadWidths[from])},
                                         {"after", lab_number(after)},
                                         {"share", lab_number(100 * ratio)}});
  run.result.questions.push_back(std::move(ask));
}

void run_scale(LabRun& run) {
  const std::vector<std::string> names = run.tokens(kDrawnTokens);
  const auto tokens = static_cast<std::int64_t>(names.size());
  const bool causal = run.word("mask") == "causal";
  const auto chosen = static_cast<std::size_t>(std::ranges::find(kHeadWidths, run.whole("d_k")) -
                                               kHeadWidths.begin());
  const std::int64_t first = run.whole("draw");
  All all;
  for (std::int64_t draw = 0; draw < kDraws; ++draw) {
    run.tell(static_cast<double>(draw) / static_cast<double>(kDraws));
    const Draw one = draw_of(first + draw, tokens);
    for (std::size_t w = 0; w < kHeadWidths.size(); ++w) {
      const std::array<Tensor, kForms> scores = scores_of(one, kHeadWidths[w]);
      for (std::size_t form = 0; form < kForms; ++form) {
        std::vector<float> picture;
        const bool shown = draw == 0 && form != kAdditive && w % 2 == 0;
        const Measured m = measure(scores[form], causal, shown ? &picture : nullptr);
        all[form][w].push_back(m);
        if (shown)
          run.result.pictures.push_back({kNames[form], names, names, std::move(picture),
                                         LabColours::kWeights, static_cast<double>(kHeadWidths[w]),
                                         lab_number(m.largest)});
      }
    }
    if (draw > 0) continue;
    const std::vector<Axis> axes = {{"position", tokens}, {"d_head", kMostFeatures}};
    run.result.tensors.push_back(lab_tensor("q", axes, one.q));
    run.result.tensors.push_back(lab_tensor("k", axes, one.k));
    run.result.tensors.push_back(lab_tensor("v", {{"d_head", kMostFeatures}}, one.v));
  }
  for (std::size_t form = 0; form < kForms; ++form) {
    for (std::size_t f = 0; f < kFigures.size(); ++f)
      run.value(std::string(kFigures[f]) + "." + kNames[form], figure(all[form][chosen][0], f));
  }
  add_series(run, all);
  add_words(run, all, chosen);
  Document& steps = run.result.in_steps;
  if (steps.model.empty()) steps.config.d_head = static_cast<int>(kHeadWidths[chosen]);
}

}  // namespace

Lab scale_lab() {
  const std::vector<std::string_view> kLines = {"undivided", "divided", "additive"};
  return {"scale",
          "what",
          "Vaswani et al. 2017, 3.2.1, https://arxiv.org/abs/1706.03762",
          {{"mask", {"causal", "none"}},
           {.id = "d_k",
            .words = {"4", "8", "16", "32", "64", "128", "256", "512", "1024"},
            .first_word = 4},
           {"draw", {}, 1, 1e6, 1, true}},
          run_scale,
          {{"spread", kLines, true, true, "d_k"},
           {"largest", kLines, true, false, "d_k"},
           {"gradient", kLines, true, false, "d_k"},
           {"entropy", kLines, true, false, "d_k"}},
          "",
          {Role::kScaledScores},
          "A = softmax(QKᵀ ÷ √d_k)"};
}

}  // namespace headlight
