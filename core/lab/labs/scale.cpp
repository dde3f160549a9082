// Why ÷ √d_k: scores of random queries and keys, divided and not, as d_k grows; and of the queries
// and keys of one head of the model beside random ones of the same width.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/lab/labs/own_head.h"

namespace headlight {
namespace {

constexpr std::size_t kDrawnTokens = 32;
constexpr std::int64_t kDraws = 24;
// Widths of the series; every fourth has a picture.
constexpr std::array<std::int64_t, 9> kHeadWidths = {4, 8, 16, 32, 64, 128, 256, 512, 1024};

constexpr std::array<const char*, 4> kFigures = {"spread", "largest", "entropy", "gradient"};
double figure(const MeasuredScores& m, std::size_t f) {
  return f == 0 ? m.spread : f == 1 ? m.largest : f == 2 ? m.entropy : m.gradient;
}

// By form, width and draw.
using All = std::array<std::array<std::vector<MeasuredScores>, kHeadWidths.size()>, kForms>;

// The line is the shown draw, the band from the tenth to the ninetieth percentile of all.
void add_series(LabRun& run, const All& all) {
  for (std::size_t f = 0; f < kFigures.size(); ++f) {
    for (std::size_t form = 0; form < kForms; ++form) {
      LabSeries s{std::string(kFigures[f]) + "." + kFormNames[form], {}, {}};
      for (std::size_t w = 0; w < kHeadWidths.size(); ++w) {
        std::vector<double> draws;
        for (const MeasuredScores& m : all[form][w]) draws.push_back(figure(m, f));
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
  const auto of = [&](ScoreForm form, std::size_t w) -> const MeasuredScores& {
    return all[form][w][0];
  };
  const std::size_t last = kHeadWidths.size() - 1;
  const MeasuredScores &narrow = of(kUndivided, 0), &wide = of(kUndivided, last);
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
  const MeasuredScores &thin = of(kAdditive, 0), &thick = of(kAdditive, last);
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

void add_all(LabRun& run, const All& all, std::size_t chosen) {
  for (std::size_t form = 0; form < kForms; ++form) {
    for (std::size_t f = 0; f < kFigures.size(); ++f)
      run.value(std::string(kFigures[f]) + "." + kFormNames[form], figure(all[form][chosen][0], f));
  }
  add_series(run, all);
  add_words(run, all, chosen);
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
    const ScoreDraw one = draw_of(first + draw, tokens);
    for (std::size_t w = 0; w < kHeadWidths.size(); ++w) {
      run.tell((static_cast<double>(draw) + static_cast<double>(w) / kHeadWidths.size()) / kDraws);
      const std::array<Tensor, kForms> scores = scores_of(one, kHeadWidths[w]);
      for (std::size_t form = 0; form < kForms; ++form) {
        std::vector<float> picture;
        const bool shown = draw == 0 && form != kAdditive && w % 2 == 0;
        const MeasuredScores m = measure_scores(scores[form], causal, shown ? &picture : nullptr);
        all[form][w].push_back(m);
        if (shown)
          run.result.pictures.push_back({kFormNames[form], names, names, std::move(picture),
                                         LabColours::kWeights, static_cast<double>(kHeadWidths[w]),
                                         lab_number(m.largest)});
      }
    }
    if (draw > 0) continue;
    const std::vector<Axis> axes = {{"position", tokens}, {"d_head", kMostFeatures}};
    run.result.tensors.push_back(lab_tensor("q", axes, one.q));
    run.result.tensors.push_back(lab_tensor("k", axes, one.k));
    run.result.tensors.push_back(lab_tensor("v", {{"d_head", kMostFeatures}}, one.v));
    if (run.word("vectors") == "model") add_own_head(run, one, causal);
    // What the first draw shows; the bands come when all are there.
    const LabResult before = run.result;
    add_all(run, all, chosen);
    run.show();
    run.result = before;
  }
  add_all(run, all, chosen);
  run.show_in_steps([&](Config& c) { c.d_head = static_cast<int>(kHeadWidths[chosen]); });
}

}  // namespace

Lab scale_lab() {
  const std::vector<std::string_view> kLines = {"undivided", "divided", "additive"};
  return {"scale",
          "what",
          "Vaswani et al. 2017, 3.2.1, https://arxiv.org/abs/1706.03762",
          {{"vectors", {"random", "model"}},
           {"mask", {"causal", "none"}},
           {.id = "d_k",
            .words = {"4", "8", "16", "32", "64", "128", "256", "512", "1024"},
            .first_word = 4},
           {"draw", {}, 1, 1e6, 1, true},
           {"layer", {}, 0, 1000, 0, true},
           {"head", {}, 0, 1000, 0, true}},
          run_scale,
          {{"own_spread", {"model", "random"}, false, true, {}, LabChartForm::kBars},
           {"own_largest", {"model", "random"}, false, false, {}, LabChartForm::kBars},
           {"spread", kLines, true, true, "d_k"},
           {"largest", kLines, true, false, "d_k"},
           {"gradient", kLines, true, false, "d_k"},
           {"entropy", kLines, true, false, "d_k"}},
          "random",
          {Role::kScaledScores},
          "A = softmax(QKᵀ ÷ √d_k)"};
}

}  // namespace headlight
