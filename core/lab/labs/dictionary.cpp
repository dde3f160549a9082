// A soft dictionary: one query of the sentence looks up its keys. A hard look-up takes the value of
// the best key, attention a little of all, and the temperature leads from one to the other and on
// to the mean. A key can be edited, number by number.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/lab/labs/look_up.h"

namespace headlight {
namespace {

constexpr int kSteps = 25;                            // of the temperature,
constexpr double kColdest = 1.0 / 64, kHottest = 64;  // each as many times the one before
constexpr std::int64_t kShownNumbers = 32;

struct Answer {
  Tensor weights;
  std::vector<double> value;
};

std::vector<double> mixed(const Tensor& values, std::span<const double> weights) {
  const auto width = static_cast<std::size_t>(values.axes[1].size);
  std::vector<double> sum(width, 0.0);
  for (std::size_t j = 0; j < weights.size(); ++j) {
    for (std::size_t f = 0; f < width; ++f)
      sum[f] += weights[j] * static_cast<double>(values.data[j * width + f]);
  }
  return sum;
}

// At 0 all is the best key's (the first of equal ones), at ∞ every key has as much.
Answer soft(const LookUp& l, double temperature) {
  Answer a;
  const std::size_t n = l.scores.data.size();
  if (temperature > 0 && !std::isinf(temperature)) {
    OpParams params;
    params.temperature = temperature;
    const Tensor* in[] = {&l.scores};
    a.weights = lab_op(Op::kSoftmax, in, params);
  } else {
    std::vector<float> weights(n, temperature > 0 ? 1.0f / static_cast<float>(n) : 0.0f);
    const auto best = std::ranges::max_element(l.scores.data) - l.scores.data.begin();
    if (temperature == 0) weights[static_cast<std::size_t>(best)] = 1;
    a.weights = lab_tensor("weights", l.scores.axes, weights);
  }
  const std::vector<double> weights(a.weights.data.begin(), a.weights.data.end());
  a.value = mixed(l.values, weights);
  return a;
}

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

double entropy(const Tensor& weights) {
  double bits = 0;
  for (const double w : weights.data) bits -= w > 0 ? w * std::log2(w) : 0;
  return bits;
}

// What the look-ups come to at both ends: the best key's value, and the mean of all.
struct Ends {
  std::size_t best = 0;
  std::vector<double> hard, mean;
};

Ends ends_of(const LookUp& l) {
  Ends e;
  const auto n = l.scores.data.size();
  e.best =
      static_cast<std::size_t>(std::ranges::max_element(l.scores.data) - l.scores.data.begin());
  std::vector<double> one(n, 0.0), level(n, 1 / static_cast<double>(n));
  one[e.best] = 1;
  e.hard = mixed(l.values, one);
  e.mean = mixed(l.values, level);
  return e;
}

void add_words(LabRun& run, const LookUp& l, const Ends& ends, const Answer& now,
               const std::optional<EditedKey>& edited) {
  const std::string& best = l.names[ends.best];
  const Answer cold = soft(l, kColdest), hot = soft(l, kHottest);
  const auto at_best = [&](const Answer& a) {
    return static_cast<double>(a.weights.data[ends.best]);
  };
  const double temperature = run.number("temperature");
  if (edited && edited->score_is != edited->score_was)
    run.notice("edited", {{"key", l.names[edited->key]},
                          {"feature", std::to_string(edited->feature)},
                          {"was", lab_number(edited->was)},
                          {"is", lab_number(edited->is)},
                          {"before", lab_number(edited->score_was)},
                          {"after", lab_number(edited->score_is)}});
  if (l.names.size() < 2) return;
  if (temperature == 0) run.notice("hard", {{"key", best}});
  if (std::isinf(temperature))
    run.notice("mean",
               {{"n", std::to_string(l.names.size())}, {"weight", lab_number(at_best(now))}});
  if (at_best(cold) > 0.99)
    run.notice("cold", {{"key", best}, {"weight", lab_number(at_best(cold))}});
  const auto [low, high] = std::ranges::minmax(hot.weights.data);
  if (high - low < 0.1f)
    run.notice("hot", {{"low", lab_number(static_cast<double>(low))},
                       {"high", lab_number(static_cast<double>(high))},
                       {"n", std::to_string(l.names.size())}});
  if (at_best(now) < 0.99 && !std::isinf(temperature))
    run.notice("now", {{"key", best},
                       {"weight", lab_number(at_best(now))},
                       {"rest", lab_number(1 - at_best(now))},
                       {"temperature", lab_number(temperature)}});
  LabQuestion ask{"cold", {}, {"best", "mean", "nothing"}, 0, {}};
  const std::vector<double> zero(cold.value.size(), 0.0);
  const double to_best = distance(cold.value, ends.hard), to_mean = distance(cold.value, ends.mean),
               to_zero = distance(cold.value, zero);
  ask.right = to_best <= std::min(to_mean, to_zero) ? 0 : to_mean <= to_zero ? 1 : 2;
  ask.because = run.because("cold", {{"best", lab_number(to_best)},
                                     {"mean", lab_number(to_mean)},
                                     {"zero", lab_number(to_zero)},
                                     {"key", best}});
  run.result.questions.push_back(std::move(ask));
}

// Keys and values as a table, and what three ways of looking up make of it.
void add_pictures(LabRun& run, const LookUp& l, const Ends& ends, const Answer& now) {
  const auto columns = [](std::int64_t width) {
    std::vector<std::string> names;
    for (std::int64_t f = 0; f < std::min(width, kShownNumbers); ++f)
      names.push_back(std::to_string(f));
    return names;
  };
  const auto table = [&](const char* over, const Tensor& rows) {
    LabPicture p{"table", l.names, columns(rows.axes[1].size), {}, LabColours::kSigned};
    p.over = "lab.dictionary.over." + std::string(over);
    for (std::size_t j = 0; j < l.names.size(); ++j) {
      for (std::size_t f = 0; f < p.columns.size(); ++f)
        p.cells.push_back(rows.data[j * static_cast<std::size_t>(rows.axes[1].size) + f]);
    }
    run.result.pictures.push_back(std::move(p));
  };
  const std::size_t n = l.names.size();
  LabPicture weights{"weights", {}, l.names, std::vector<float>(3 * n, 0.0f)};
  LabPicture found{"found", {}, columns(l.values.axes[1].size), {}, LabColours::kSigned};
  for (const char* row : {"hard", "soft", "mean"}) {
    weights.rows.push_back("lab.dictionary.row." + std::string(row));
    const std::vector<double>& value = *row == 'h'   ? ends.hard
                                       : *row == 's' ? now.value
                                                     : ends.mean;
    for (std::size_t f = 0; f < found.columns.size(); ++f)
      found.cells.push_back(static_cast<float>(value[f]));
  }
  found.rows = weights.rows;
  weights.cells[ends.best] = 1;
  for (std::size_t j = 0; j < n; ++j) {
    weights.cells[n + j] = now.weights.data[j];
    weights.cells[2 * n + j] = 1.0f / static_cast<float>(n);
  }
  weights.under = l.asks;
  run.result.pictures.push_back(std::move(weights));
  run.result.pictures.push_back(std::move(found));
  if (!l.keys.data.empty()) table("keys", l.keys);
  table("values", l.values);
}

// What is said of one look-up, in the order of the series.
std::array<double, 4> figures(const Answer& a, const Ends& ends) {
  return {static_cast<double>(*std::ranges::max_element(a.weights.data)), entropy(a.weights),
          distance(a.value, ends.hard), distance(a.value, ends.mean)};
}
constexpr std::array<const char*, 4> kFound = {"largest", "entropy", "distance.hard",
                                               "distance.mean"};

void run_dictionary(LabRun& run) {
  LookUp l = look_up(run);
  run.result.tensors = {l.scores, l.values};
  for (const Tensor& t : {l.query, l.keys}) {
    if (!t.data.empty()) run.result.tensors.push_back(t);
  }
  if (!l.score_vector.empty())
    run.result.tensors.push_back(lab_tensor("v", l.query.axes, l.score_vector));
  run.result.tensors.push_back(
      lab_tensor("factor", {{"feature", 1}}, {static_cast<float>(l.factor)}));
  const std::optional<EditedKey> edited = edit_key(run, l);
  const Ends ends = ends_of(l);
  const Answer now = soft(l, run.number("temperature"));
  for (std::size_t f = 0; f < kFound.size(); ++f) {
    run.value(kFound[f], figures(now, ends)[f]);
    run.result.series.push_back({kFound[f], {}, {}});
  }
  for (int i = 0; i < kSteps; ++i) {
    const double t =
        kColdest * std::pow(kHottest / kColdest, static_cast<double>(i) / (kSteps - 1));
    const std::array<double, 4> found = figures(soft(l, t), ends);
    for (std::size_t f = 0; f < kFound.size(); ++f) {
      run.result.series[f].x.push_back(t);
      run.result.series[f].y.push_back(found[f]);
    }
  }
  LabSeries scores{"scores", {}, {}};
  for (std::size_t j = 0; j < l.names.size(); ++j) {
    scores.x.push_back(static_cast<double>(j));
    scores.y.push_back(l.scores.data[j]);
  }
  scores.names = l.names;
  run.result.series.push_back(std::move(scores));
  add_pictures(run, l, ends, now);
  add_words(run, l, ends, now, edited);
  run.result.in_steps.config.temperature =
      std::clamp(run.number("temperature"), kLowestTemperature, kHighestTemperature);
}

}  // namespace

Lab dictionary_lab() {
  return {"dictionary",
          "what",
          "Graves et al. 2014, https://arxiv.org/abs/1410.5401",
          {{.id = "temperature",
            .words = {"0", "0.0625", "0.125", "0.25", "0.5", "1", "2", "4", "8", "16", "64",
                      "infinity"},
            .first_word = 5},
           {"layer", {}, 0, 1000, 0, true},
           {"head", {}, 0, 1000, 0, true},
           {"key", {}, 0, 64, 0, true},
           {"feature", {}, 0, 65535, 0, true},
           {"number", {}, -10, 10, 2}},
          run_dictionary,
          {{"scores", {}, false, false, {}, LabChartForm::kBars},
           {"largest", {}, true, false, "temperature"},
           {"distance", {"hard", "mean"}, true, false, "temperature"},
           {"entropy", {}, true, false, "temperature"}},
          "random",
          {Role::kPattern, Role::kHeadOutput},
          "lab.dictionary.formula"};
}

}  // namespace headlight
