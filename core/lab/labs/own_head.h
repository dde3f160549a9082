// The scores of one head of the model, beside those of random queries and keys of its width.
#pragma once

#include "core/base/error.h"
#include "core/lab/lab_attention.h"
#include "core/lab/labs/score_draws.h"
#include "core/run/trace.h"

namespace headlight {

// The queries and keys of the chosen layer and head, at most so many of each.
struct OwnHead {
  Tensor q, k;  // (1, 1, position, d_head)
  std::vector<std::string> asks, answers;
};

inline OwnHead own_head(LabRun& run, std::int64_t most) {
  const Trace& trace = run.trace();
  std::vector<LabAttention> all = lab_attentions(trace.program());
  std::erase_if(all, [](const LabAttention& a) { return a.queries < 0 || a.keys < 0; });
  if (all.empty())
    throw Error(Message{trace.config().keeps_pattern() || !trace.config().attends()
                            ? "lab.error.no_attention"
                            : "lab.error.fused"});
  const LabAttention& one = all[static_cast<std::size_t>(run.place("layer", std::ssize(all)))];
  const TensorView queries = trace.tensor(one.queries), keys = trace.tensor(one.keys);
  const std::int64_t heads = queries.axes[1].size, head = run.place("head", heads);
  const std::int64_t d = queries.axes[3].size;
  OwnHead own;
  const auto part = [&](const TensorView& of, std::int64_t from, const char* name,
                        std::vector<std::string>& names) {
    const std::int64_t n = std::min(of.axes[2].size, most), width = std::min(d, kMostFeatures);
    std::vector<float> cells;
    for (std::int64_t t = 0; t < n; ++t) {
      const float* row = of.data + (from * of.axes[2].size + t) * d;
      cells.insert(cells.end(), row, row + width);
      names.push_back(trace.name(of.axes[2].name, t));
    }
    return lab_tensor(name, {{"batch", 1}, {"head", 1}, {"position", n}, {"d_head", width}}, cells);
  };
  own.q = part(queries, head, "model_q", own.asks);
  own.k = part(keys, head / (heads / keys.axes[1].size), "model_k", own.answers);
  return own;
}

// Where the model's own scores stand beside random ones of as many features.
inline void add_own_head(LabRun& run, const ScoreDraw& draw, bool causal) {
  OwnHead own = own_head(run, draw.tokens);
  const std::int64_t n = std::min(own.q.axes[2].size, own.k.axes[2].size), d = own.q.axes[3].size;
  for (Tensor* t : {&own.q, &own.k}) {
    t->axes[2].size = n;
    t->data.resize(static_cast<std::size_t>(n * d));
  }
  own.asks.resize(static_cast<std::size_t>(n)), own.answers.resize(static_cast<std::size_t>(n));
  ScoreDraw random = draw;
  random.tokens = n;
  const std::array<std::array<Tensor, kForms>, 2> scores = {
      scores_of(own.q, own.k, additive_vector(draw, d)), scores_of(random, d)};
  std::array<std::array<MeasuredScores, kForms>, 2> found;
  for (std::size_t which = 0; which < 2; ++which) {
    LabSeries spread{which == 0 ? "own_spread.model" : "own_spread.random", {}, {}},
        largest{which == 0 ? "own_largest.model" : "own_largest.random", {}, {}};
    for (std::size_t form = 0; form < kForms; ++form) {
      std::vector<float> picture;
      const MeasuredScores m = found[which][form] =
          measure_scores(scores[which][form], causal, &picture);
      for (LabSeries* s : {&spread, &largest}) {
        s->x.push_back(static_cast<double>(form));
        s->names.push_back("lab.scale.line." + std::string(kFormNames[form]));
      }
      spread.y.push_back(m.spread), largest.y.push_back(m.largest);
      if (which > 0) continue;
      LabPicture p{"model", own.asks, own.answers, std::move(picture)};
      p.over = spread.names.back(), p.under = lab_number(m.largest);
      run.result.pictures.push_back(std::move(p));
    }
    run.result.series.push_back(std::move(spread));
    run.result.series.push_back(std::move(largest));
  }
  const double mine = found[0][kUndivided].spread, theirs = found[1][kUndivided].spread;
  run.notice("model", {{"layer", std::to_string(run.whole("layer"))},
                       {"head", std::to_string(run.whole("head"))},
                       {"d", std::to_string(d)},
                       {"model", lab_number(mine)},
                       {"random", lab_number(theirs)},
                       {"largest", lab_number(found[0][kDivided].largest)},
                       {"level", lab_number(found[1][kDivided].largest)}});
  if (n > 1 && theirs > 0) {
    LabQuestion ask{"model", {{"d", std::to_string(d)}}, {"less", "alike", "more"}, 1, {}};
    ask.right = mine < 0.8 * theirs ? 0 : mine > 1.25 * theirs ? 2 : 1;
    ask.because =
        run.because("model", {{"model", lab_number(mine)}, {"random", lab_number(theirs)}});
    run.result.questions.push_back(std::move(ask));
  }
  for (Tensor* t : {&own.q, &own.k}) {
    t->axes = {{"position", n}, {"d_head", d}};
    run.result.tensors.push_back(std::move(*t));
  }
}

}  // namespace headlight
