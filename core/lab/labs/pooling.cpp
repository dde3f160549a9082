// From the rows of all words to one row: mean, last, [CLS], one learned vector w, several foci. Ten
// small classifiers learn to judge sentences, each way without a layer of attention and with one.
// And the step from a learned w to the query of a word.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/model/bundled.h"
#include "core/run/trace.h"
#include "core/train/data/batches.h"
#include "core/train/model_recipe.h"
#include "core/train/tasks/class_token.h"

namespace headlight {
namespace {

constexpr std::size_t kMostPooledWords = 24;
constexpr const char* kPoolTask = "sentiment";

struct PoolWay {
  const char* id;
  PoolKind kind;
};
constexpr std::array<PoolWay, 5> kPoolWays = {{{"mean", PoolKind::kMean},
                                               {"last", PoolKind::kLast},
                                               {"first", PoolKind::kFirst},
                                               {"vector", PoolKind::kVector},
                                               {"foci", PoolKind::kFoci}}};
constexpr int kPoolLayers = 2;  // none, and one

RunPlan pool_plan(const PoolWay& way, int layers) {
  RunPlan plan = default_plan(kPoolTask);
  Config& c = plan.config;
  c.layers = layers;
  c.heads = 2;
  c.d_model = 16;
  c.d_hidden = 32;
  c.positions = PositionKind::kRotary;
  c.pool = way.kind;
  c.foci = 3;
  c.pool_hidden = 8;
  c.foci_penalty = 0.1;
  c.mask = {};
  c.mask.kind = MaskKind::kNone;
  plan.init = Init::kGlorot;
  plan.stop.steps = 500;
  plan.settings.schedule = {ScheduleKind::kCosine, 1e-2, 0, 20, plan.stop.steps};
  return plan;
}

std::string pool_name(const PoolWay& way, int layers) {
  return std::to_string(layers) + "." + way.id;
}

std::shared_ptr<const Task> pool_task(const RunPlan& plan) {
  return as_read_by(plan.config, lab_task(plan));
}

std::vector<Tensor> train_pools(LabRun& run) {
  std::vector<Tensor> kept;
  int done = 0;
  for (int layers = 0; layers < kPoolLayers; ++layers) {
    for (const PoolWay& way : kPoolWays) {
      const RunPlan plan = pool_plan(way, layers);
      LabTraining training{pool_name(way, layers), plan, pool_task(plan)};
      training.every = 50;
      training.begin = done++ / 10.0;
      training.end = done / 10.0;
      keep_weights(*train(run, training, kept), training.name, kept);
    }
  }
  return kept;
}

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

Pooled pooled_by(LabRun& run, const PoolWay& way, int layers, const std::string& sentence,
                 std::span<const Tensor> kept) {
  const RunPlan plan = pool_plan(way, layers);
  const auto model = kept_model(plan, pool_task(plan), pool_name(way, layers), kept);
  Pooled result;
  result.trace = read_with(run, model, sentence);
  const Trace& t = *result.trace;
  const Program& p = t.program();
  const auto length = static_cast<std::size_t>(t.length());
  for (std::size_t i = 0; i < length; ++i)
    result.tokens.push_back(t.name("position", static_cast<std::int64_t>(i)));
  const OpCall& call = p.calls[static_cast<std::size_t>(p.producer(with_role(p, Role::kPooled)))];
  const bool weighs = plan.config.pools_by_weights();
  result.width = plan.config.d_model;
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

// The person's own sentence where the classifiers know its words, else an example of the task.
std::string pooled_sentence(LabRun& run) {
  const auto task = lab_task(pool_plan(kPoolWays[0], 0));
  const Vocabulary& words = task->vocabulary();
  const auto written = [&](std::span<const int> ids) {
    std::string text;
    for (const int id : ids) text += (text.empty() ? "" : " ") + words.token(id);
    return text;
  };
  const std::int64_t example = run.whole("example");
  if (example > 0) {
    Random random(static_cast<std::uint64_t>(example));
    return written(task->draw(random).tokens);
  }
  std::string own = run.document().sentence;
  for (char& letter : own) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  std::vector<int> ids;
  try {
    ids = words.encode(own);
  } catch (const Error&) {
    ids.clear();
  }
  if (ids.empty()) {
    run.result.notes.emplace_back("lab.pooling.note.example");
    return bundled_recipe(kPoolTask).example;
  }
  if (ids.size() > kMostPooledWords) {
    run.result.notes.emplace_back(
        "lab.note.first_tokens",
        std::vector<MessageSlot>{{"most", std::to_string(kMostPooledWords)},
                                 {"all", std::to_string(ids.size())}});
    ids.resize(kMostPooledWords);
  }
  return written(ids);
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
  double difference = 0;  // from the model's own weights
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
  run.result.series.push_back({"queries.first", x, q.rows.front(), {}, {}, names});
  run.result.series.push_back({"queries.last", x, q.rows.back(), {}, {}, names});
  run.value("difference", q.difference);
}

void add_curves(LabRun& run, int layers, std::span<const Tensor> kept) {
  for (const PoolWay& way : kPoolWays) {
    const std::string name = pool_name(way, layers);
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
         {std::pair{Role::kUnembedding, "classes"},
          std::pair{Role::kUnembeddingBias, "classes_bias"}, std::pair{Role::kPoolWeight, "W_1"},
          std::pair{Role::kFocusWeight, "W_2"}}) {
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
  const std::size_t first = largest_at(q.rows.front()), last = largest_at(q.rows.back());
  if (first != last)
    run.notice("query", {{"first", with_query.tokens.front()},
                         {"first_key", with_query.tokens[first]},
                         {"last", with_query.tokens.back()},
                         {"last_key", with_query.tokens[last]}});

  LabQuestion class_token{"class_token",
                          {},
                          {"chance", "some", "most"},
                          alone < 0.65  ? 0u
                          : alone < 0.9 ? 1u
                                        : 2u,
                          run.because("class_token", {{"accuracy", hundred(alone)}})};
  class_token.slots = {{"layers", run.word("layers")}};
  run.result.questions.push_back(std::move(class_token));
  LabQuestion best{"best", {}, {}, 0, {}};
  std::vector<MessageSlot> slots;
  double most = -1;
  for (const PoolWay& way : kPoolWays) {
    const double accuracy = r.value(std::string("accuracy.") + way.id);
    if (accuracy > most) most = accuracy, best.right = best.answers.size();
    best.answers.emplace_back(way.id);
    slots.push_back({way.id, hundred(accuracy)});
  }
  best.because = run.because("best", std::move(slots));
  run.result.questions.push_back(std::move(best));
}

void run_pooling(LabRun& run) {
  const std::vector<Tensor>& kept = run.trained([&] { return train_pools(run); });
  const auto layers = static_cast<int>(run.whole("layers"));
  const std::string sentence = pooled_sentence(run);
  AllPooled all;
  for (std::size_t w = 0; w < kPoolWays.size(); ++w) {
    run.tell(static_cast<double>(w) / kPoolWays.size());
    all[w] = pooled_by(run, kPoolWays[w], layers, sentence, kept);
  }
  // Of the classifier that has both, a vector w and attention.
  const Pooled both = pooled_by(run, kPoolWays[3], 1, sentence, kept);
  const Queried q = queried(*both.trace);
  add_curves(run, layers, kept);
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
  steps.model = std::string(kBundledRef) + kPoolTask;
  steps.config = run.runner().load(steps.model)->file.config;
  steps.sentence = sentence;
}

}  // namespace

Lab pooling_lab() {
  return {"pooling",
          "around",
          "Lin et al. 2017, https://arxiv.org/abs/1703.03130; [CLS]: Devlin et al. 2019, "
          "https://arxiv.org/abs/1810.04805",
          {{"layers", {"0", "1"}}, {"example", {}, 0, 1000, 0, true}, training_control()},
          run_pooling,
          {{"accuracy", {"mean", "last", "first", "vector", "foci"}},
           {.id = "positive", .form = LabChartForm::kBars},
           {.id = "queries", .lines = {"w", "first", "last"}, .form = LabChartForm::kBars}},
          "",
          {Role::kFocusScores, Role::kFocusWeights, Role::kPooled},
          "foci: A = softmax(tanh(X W₁) W₂)ᵀ, rows A X; attention: softmax(Q Kᵀ ÷ √d_k) V"};
}

}  // namespace headlight
