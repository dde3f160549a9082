// From the rows of all words to one row: mean, last, [CLS], one learned vector w, several foci.
// Small classifiers learn to judge sentences, each way without a layer of attention and with one,
// of sentences without "not" and with it. And the step from a learned w to the query of a word.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lab/known_sentence.h"
#include "core/lab/labs/labs.h"
#include "core/lab/pool_models.h"
#include "core/run/trace.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

constexpr std::size_t kMostPooledWords = 24;

// What a way of pooling makes of the sentence.
struct Pooled {
  std::vector<std::string> tokens;  // with [CLS] where it reads that
  std::int64_t width = 0;
  std::vector<float> rows;                // (token, width): what is pooled
  std::vector<std::vector<double>> foci;  // by focus, the weight of each token
  double positive = 0;
  std::shared_ptr<const Trace> trace;
};

std::vector<float> cells_of_tensor(const Trace& trace, TensorId id) {
  const std::span<const float> cells = trace.tensor(id).cells();
  return {cells.begin(), cells.end()};
}

TensorId with_role(const Program& p, Role role) {
  const auto found = std::ranges::find(p.tensors, role, &TensorSpec::role);
  return found == p.tensors.end() ? -1 : static_cast<TensorId>(found - p.tensors.begin());
}

Pooled pooled_by(LabRun& run, const PoolWay& way, const PoolSetting& setting,
                 const std::string& sentence, std::span<const Tensor> kept) {
  const auto model = pool_model(way, setting, kept);
  Pooled result;
  result.trace = read_with(run, model, sentence);
  const Trace& t = *result.trace;
  const Program& p = t.program();
  const auto length = static_cast<std::size_t>(t.length());
  for (std::size_t i = 0; i < length; ++i)
    result.tokens.push_back(t.name("position", static_cast<std::int64_t>(i)));
  const OpCall& call = p.calls[static_cast<std::size_t>(p.producer(with_role(p, Role::kPooled)))];
  const bool weighs = t.config().pools_by_weights();
  result.width = t.config().d_model;
  result.rows = cells_of_tensor(t, call.in[weighs ? 1 : 0]);
  if (weighs) {
    const std::vector<float> weights = cells_of_tensor(t, call.in[0]);
    for (std::size_t f = 0; f < weights.size() / length; ++f)
      result.foci.emplace_back(weights.begin() + static_cast<std::ptrdiff_t>(f * length),
                               weights.begin() + static_cast<std::ptrdiff_t>((f + 1) * length));
  } else {
    std::vector<double> weights(
        length, way.kind == PoolKind::kMean ? 1 / static_cast<double>(length) : 0.0);
    if (way.kind == PoolKind::kLast) weights.back() = 1;
    if (way.kind == PoolKind::kFirst) weights.front() = 1;
    result.foci.push_back(std::move(weights));
  }
  result.positive = static_cast<double>(t.tensor(p.probabilities).cells()[1]);
  return result;
}

using AllPooled = std::array<Pooled, kPoolWays.size()>;
const Pooled& vector_of(const AllPooled& all) { return all[3]; }
const Pooled& foci_of(const AllPooled& all) { return all[4]; }

std::size_t largest_at(const std::vector<double>& weights) {
  return static_cast<std::size_t>(std::ranges::max_element(weights) - weights.begin());
}

// One column for [CLS], which only the way that judges by it reads.
void add_pool_picture(LabRun& run, const AllPooled& all) {
  LabPicture picture{"weights", {}, {"[CLS]"}, {}};
  picture.columns.insert(picture.columns.end(), all[0].tokens.begin(), all[0].tokens.end());
  constexpr std::array<const char*, 7> kRows = {"1/T", "x_T", "[CLS]", "w", "w₁", "w₂", "w₃"};
  for (std::size_t w = 0; w < kPoolWays.size(); ++w) {
    for (const std::vector<double>& weights : all[w].foci) {
      picture.rows.emplace_back(kRows[picture.rows.size()]);
      if (kPoolWays[w].kind != PoolKind::kFirst) picture.cells.push_back(0);
      picture.cells.insert(picture.cells.end(), weights.begin(), weights.end());
    }
  }
  run.result.pictures.push_back(std::move(picture));
}

// softmax(K q) for the queries of one head: what the model's own attention has, computed again.
struct Queried {
  std::int64_t width = 0;
  std::vector<float> q, k;  // (token, width), turned by their places
  std::vector<std::vector<double>> rows;
  std::vector<float>
      own;  // the model's own weights (token, token), and how far from them these are
  double difference = 0;
};

Queried queried(const Trace& t) {
  const Program& p = t.program();
  Queried result;
  const auto head = [&](Role role) {
    const TensorView all = t.tensor(with_role(p, role));  // (batch, head, token, width)
    result.width = all.axes[3].size;
    return std::vector<float>(all.data, all.data + t.length() * result.width);
  };
  result.q = head(Role::kTurnedQueries);
  result.k = head(Role::kTurnedKeys);
  const auto length = static_cast<std::size_t>(t.length());
  const auto width = static_cast<std::size_t>(result.width);
  const float* own = t.tensor(with_role(p, Role::kPattern)).data;
  result.own.assign(own, own + length * length);
  for (std::size_t i = 0; i < length; ++i) {
    std::vector<double> row(length, 0.0);
    for (std::size_t j = 0; j < length; ++j) {
      for (std::size_t e = 0; e < width; ++e)
        row[j] += static_cast<double>(result.q[i * width + e]) * result.k[j * width + e];
      row[j] /= std::sqrt(static_cast<double>(width));
    }
    const double largest = std::ranges::max(row);
    double sum = 0;
    for (double& s : row) sum += s = std::exp(s - largest);
    for (std::size_t j = 0; j < length; ++j) {
      row[j] /= sum;
      result.difference =
          std::max(result.difference, std::fabs(row[j] - static_cast<double>(own[i * length + j])));
    }
    result.rows.push_back(std::move(row));
  }
  return result;
}

void add_query_step(LabRun& run, const Pooled& one, const Queried& q) {
  const std::vector<std::string>& names = one.tokens;
  const auto picture = [&](const char* row_of, const std::vector<std::vector<double>>& rows) {
    LabPicture p{"queries", {}, names, {}};
    p.over = row_of;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      p.rows.push_back(rows.size() == 1 ? "w" : names[i]);
      p.cells.insert(p.cells.end(), rows[i].begin(), rows[i].end());
    }
    run.result.pictures.push_back(std::move(p));
  };
  picture("softmax(X w)", one.foci);
  picture("softmax(Q Kᵀ ÷ √d_k)", q.rows);
  std::vector<double> x;
  for (std::size_t i = 0; i < names.size(); ++i) x.push_back(static_cast<double>(i));
  run.result.series.push_back({"queries.w", x, one.foci[0], {}, {}, names});
  run.result.series.push_back({"queries.q_first", x, q.rows.front(), {}, {}, names});
  run.result.series.push_back({"queries.q_last", x, q.rows.back(), {}, {}, names});
  run.value("difference", q.difference);
}

void add_curves(LabRun& run, const PoolSetting& setting, std::span<const Tensor> kept) {
  for (const PoolWay& way : kPoolWays) {
    const std::string name = pool_name(way, setting);
    std::vector<double> accuracy = kept_curve(kept, name, LabCurve::kAccuracy);
    run.value(std::string("accuracy.") + way.id, accuracy.back());
    run.result.series.push_back({std::string("accuracy.") + way.id,
                                 kept_curve(kept, name, LabCurve::kStep), std::move(accuracy)});
    run.result.tensors.push_back(kept_tensor(kept, name + ".curve"));
    run.result.tensors.back().name = std::string("curve.") + way.id;
  }
}

void add_pool_tensors(LabRun& run, const AllPooled& all, const Queried& q) {
  for (std::size_t w = 0; w < kPoolWays.size(); ++w) {
    const std::string way = kPoolWays[w].id;
    run.result.tensors.push_back(lab_tensor(
        "rows." + way, {{"position", std::ssize(all[w].tokens)}, {"feature", all[w].width}},
        all[w].rows));
    const Trace& t = *all[w].trace;
    for (const auto& [role, name] :
         {std::pair{Role::kClassWeight, "classes"}, std::pair{Role::kClassBias, "classes_bias"},
          std::pair{Role::kPoolWeight, "W_1"}, std::pair{Role::kFocusWeight, "W_2"}}) {
      const TensorId id = with_role(t.program(), role);
      if (id < 0) continue;
      const TensorView cells = t.tensor(id);
      run.result.tensors.push_back(lab_tensor(
          name + ("." + way), {cells.axes.begin(), cells.axes.end()}, cells_of_tensor(t, id)));
    }
  }
  const std::vector<Axis> axes = {{"position", std::ssize(q.q) / q.width}, {"d_head", q.width}};
  run.result.tensors.push_back(lab_tensor("q", axes, q.q));
  run.result.tensors.push_back(lab_tensor("k", axes, q.k));
  run.result.tensors.push_back(
      lab_tensor("pattern", {{"query", axes[0].size}, {"key", axes[0].size}}, q.own));
}

std::string hundred(double share) { return lab_number(100 * share); }

void add_pool_words(LabRun& run, const AllPooled& all, const Pooled& with_query, const Queried& q) {
  const LabResult& r = run.result;
  const std::vector<std::string>& names = all[0].tokens;
  const std::vector<double>& w = vector_of(all).foci[0];
  const std::size_t top = largest_at(w);
  const double equal = 1 / static_cast<double>(w.size());
  if (w[top] > 2 * equal)
    run.notice("word", {{"share", hundred(w[top])},
                        {"token", vector_of(all).tokens[top]},
                        {"equal", hundred(equal)}});
  std::vector<std::size_t> tops;
  for (const std::vector<double>& focus : foci_of(all).foci) tops.push_back(largest_at(focus));
  if (tops[0] != tops[1] || tops[1] != tops[2])
    run.notice("foci",
               {{"one", names[tops[0]]}, {"two", names[tops[1]]}, {"three", names[tops[2]]}});
  const double alone = r.value("accuracy.first");
  if (alone < 0.65) run.notice("blind", {{"accuracy", hundred(alone)}});
  // The mean of all sentences, by the classifiers of a layer less or more.
  const auto mean_of = [&](int layers) {
    return kept_curve(r.trained, pool_name(kPoolWays[0], {true, layers}), LabCurve::kAccuracy)
        .back();
  };
  if (run.word("sentences") == "negated" && mean_of(0) < 0.65 && mean_of(1) > 0.9)
    run.notice("added", {{"without", hundred(mean_of(0))}, {"with", hundred(mean_of(1))}});
  const std::size_t first = largest_at(q.rows.front()), last = largest_at(q.rows.back());
  if (first != last)
    run.notice("query", {{"first", with_query.tokens.front()},
                         {"first_key", with_query.tokens[first]},
                         {"last", with_query.tokens.back()},
                         {"last_key", with_query.tokens[last]}});

  for (const auto& [id, way] : {std::pair{"mean", "mean"}, std::pair{"class_token", "first"}}) {
    const double accuracy = r.value(std::string("accuracy.") + way);
    LabQuestion ask{id,
                    {},
                    {"chance", "some", "most"},
                    accuracy < 0.65  ? 0u
                    : accuracy < 0.9 ? 1u
                                     : 2u,
                    {}};
    std::vector<MessageSlot> slots;
    for (const PoolWay& each : kPoolWays)
      slots.push_back({each.id, hundred(r.value(std::string("accuracy.") + each.id))});
    ask.because = run.because(id, std::move(slots));
    run.result.questions.push_back(std::move(ask));
  }
}

void run_pooling(LabRun& run) {
  const std::vector<Tensor>& kept = run.trained([&] { return train_pools(run); });
  const PoolSetting setting{run.word("sentences") == "negated",
                            static_cast<int>(run.whole("layers"))};
  const std::string sentence =
      known_sentence(run, *opinions(setting.negated), kMostPooledWords, run.whole("example"),
                     setting.negated ? bundled_recipe("sentiment").example
                                     : "lucy thinks that the cake is very good .");
  AllPooled all;
  for (std::size_t w = 0; w < kPoolWays.size(); ++w) {
    run.tell(static_cast<double>(w) / kPoolWays.size());
    all[w] = pooled_by(run, kPoolWays[w], setting, sentence, kept);
  }
  // Of the classifier that has both, a vector w and attention.
  const Pooled both = pooled_by(run, kPoolWays[3], {setting.negated, 1}, sentence, kept);
  const Queried q = queried(*both.trace);
  add_curves(run, setting, kept);
  LabSeries positive{"positive", {}, {}};
  for (std::size_t w = 0; w < kPoolWays.size(); ++w) {
    run.value(std::string("positive.") + kPoolWays[w].id, all[w].positive);
    double largest = 0;
    for (const std::vector<double>& focus : all[w].foci)
      largest = std::max(largest, std::ranges::max(focus));
    run.value(std::string("largest.") + kPoolWays[w].id, largest);
    positive.x.push_back(static_cast<double>(w));
    positive.y.push_back(all[w].positive);
  }
  positive.names = {"1/T", "x_T", "[CLS]", "w", "w₁ w₂ w₃"};
  run.result.series.push_back(std::move(positive));
  add_pool_picture(run, all);
  add_query_step(run, both, q);
  add_pool_tensors(run, all, q);
  run.result.tensors.push_back(lab_tensor(
      "rows.w", {{"position", std::ssize(both.tokens)}, {"feature", both.width}}, both.rows));
  const Trace& t = *both.trace;
  run.result.tensors.push_back(
      lab_tensor("w", {{"feature", both.width}},
                 cells_of_tensor(t, with_role(t.program(), Role::kFocusWeight))));
  add_pool_words(run, all, both, q);
  Document& steps = run.result.in_steps;
  steps = {};
  steps.model = std::string(kBundledRef) + "sentiment";
  steps.config = run.runner().load(steps.model)->file.config;
  steps.sentence = sentence;
}

}  // namespace

Lab pooling_lab() {
  return {"pooling",
          "around",
          "Lin et al. 2017, https://arxiv.org/abs/1703.03130; [CLS]: Devlin et al. 2019, "
          "https://arxiv.org/abs/1810.04805",
          {{"sentences", {"plain", "negated"}},
           {"layers", {"0", "1"}},
           {"example", {}, 0, 1000, 0, true},
           training_control()},
          run_pooling,
          {{"accuracy", {"mean", "last", "first", "vector", "foci"}},
           {.id = "positive", .form = LabChartForm::kBars},
           {.id = "queries", .lines = {"w", "q_first", "q_last"}, .form = LabChartForm::kBars}},
          "",
          {Role::kFocusScores, Role::kFocusWeights, Role::kPooled},
          "lab.pooling.formula",
          {"sentiment"}};
}

}  // namespace headlight
