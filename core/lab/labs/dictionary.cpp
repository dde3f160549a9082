// A soft dictionary: one query of the sentence looks up its keys. A hard look-up takes the value of
// the best key, attention a little of all, and the temperature leads from one to the other and on
// to the mean.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

constexpr int kSteps = 25;                            // of the temperature,
constexpr double kColdest = 1.0 / 64, kHottest = 64;  // each as many times the one before
constexpr std::size_t kMostKeys = 64;

// One head's look-up: a score and a value for each key that the query may look at.
struct LookUp {
  std::vector<std::string> names;
  Tensor scores;  // (query 1, key)
  Tensor values;  // (key, d_head)
};

struct Attention {
  TensorId scores = -1, values = -1;
};

// What each softmax of the program weighs and what it weighs them for, in the order of the program.
std::vector<Attention> attentions_of(const Program& program) {
  std::vector<Attention> all;
  for (const OpCall& call : program.calls) {
    const TensorSpec& made = program.tensors[place(call.out)];
    if (made.role != Role::kPattern) continue;
    TensorId values = program.find(Role::kExtendedValues, call.out);
    if (values < 0 || program.tensors[place(values)].place != made.place)
      values = program.find(Role::kValues, call.out);
    all.push_back({call.in[0], values});
  }
  return all;
}

std::int64_t chosen(LabRun& run, std::string_view control, std::int64_t count) {
  const std::int64_t at = run.whole(control);
  if (at < count) return at;
  throw UsageError(Message{"lab.error.setting",
                           {{"control", std::string(control)},
                            {"known", "0 … " + std::to_string(count - 1)},
                            {"got", std::to_string(at)}}});
}

LookUp look_up(LabRun& run) {
  const Trace& trace = run.trace();
  const std::vector<Attention> all = attentions_of(trace.program());
  if (all.empty())
    throw Error(Message{trace.config().keeps_pattern() || !trace.config().attends()
                            ? "lab.error.no_attention"
                            : "lab.error.fused"});
  const Attention& one = all[static_cast<std::size_t>(chosen(run, "layer", std::ssize(all)))];
  const TensorView scores = trace.tensor(one.scores), values = trace.tensor(one.values);
  const std::int64_t heads = scores.axes[1].size, queries = scores.axes[2].size,
                     keys = scores.axes[3].size, width = values.axes[3].size;
  const std::int64_t head = chosen(run, "head", heads);
  const std::int64_t query = queries - 1 - chosen(run, "back", queries);
  const float* row = scores.data + (head * queries + query) * keys;
  const float* table = values.data + head / (heads / values.axes[1].size) * keys * width;
  LookUp found;
  std::vector<float> s, v;
  for (std::int64_t j = 0; j < keys && s.size() < kMostKeys; ++j) {
    if (std::isinf(row[j])) continue;  // the mask forbids it
    found.names.push_back(trace.name(scores.axes[3].name, j));
    s.push_back(row[j]);
    v.insert(v.end(), table + j * width, table + (j + 1) * width);
  }
  if (s.empty()) throw Error(Message{"lab.error.no_key"});
  const auto n = static_cast<std::int64_t>(s.size());
  found.scores = lab_tensor("scores", {{"query", 1}, {"key", n}}, s);
  found.values = lab_tensor("values", {{"key", n}, {"d_head", width}}, v);
  return found;
}

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

Answer soft(const LookUp& l, double temperature) {
  OpParams params;
  params.temperature = temperature;
  const Tensor* in[] = {&l.scores};
  Answer a{lab_op(Op::kSoftmax, in, params), {}};
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

void add_words(LabRun& run, const LookUp& l, const Ends& ends, const Answer& cold,
               const Answer& now, const Answer& hot) {
  const std::string& best = l.names[ends.best];
  const auto at_best = [&](const Answer& a) {
    return static_cast<double>(a.weights.data[ends.best]);
  };
  if (l.names.size() < 2) return;
  if (at_best(cold) > 0.99)
    run.notice("cold", {{"key", best}, {"weight", lab_number(at_best(cold))}});
  const auto [low, high] = std::ranges::minmax(hot.weights.data);
  if (high - low < 0.1f)
    run.notice("hot", {{"low", lab_number(static_cast<double>(low))},
                       {"high", lab_number(static_cast<double>(high))},
                       {"n", std::to_string(l.names.size())}});
  if (at_best(now) < 0.99)
    run.notice("now", {{"key", best},
                       {"weight", lab_number(at_best(now))},
                       {"rest", lab_number(1 - at_best(now))},
                       {"temperature", lab_number(run.number("temperature"))}});
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

void run_dictionary(LabRun& run) {
  LookUp l = look_up(run);
  // A key that is edited by hand: so many times as long, its score is as many times as large.
  const std::int64_t edited = run.whole("edit");
  if (edited > 0) {
    const auto at = static_cast<std::size_t>(edited) - 1;
    if (at >= l.names.size()) chosen(run, "edit", std::ssize(l.names) + 1);
    l.scores.data[at] *= static_cast<float>(run.number("by"));
  }
  const Ends ends = ends_of(l);
  const Answer now = soft(l, run.number("temperature"));
  run.value("largest", *std::ranges::max_element(now.weights.data));
  run.value("entropy", entropy(now.weights));
  run.value("to_best", distance(now.value, ends.hard));
  run.value("to_mean", distance(now.value, ends.mean));
  LabSeries largest{"largest", {}, {}}, bits{"entropy", {}, {}}, to_best{"to_best", {}, {}},
      to_mean{"to_mean", {}, {}};
  std::optional<Answer> cold, hot;
  for (int i = 0; i < kSteps; ++i) {
    const double t =
        kColdest * std::pow(kHottest / kColdest, static_cast<double>(i) / (kSteps - 1));
    Answer a = soft(l, t);
    for (LabSeries* s : {&largest, &bits, &to_best, &to_mean}) s->x.push_back(t);
    largest.y.push_back(*std::ranges::max_element(a.weights.data));
    bits.y.push_back(entropy(a.weights));
    to_best.y.push_back(distance(a.value, ends.hard));
    to_mean.y.push_back(distance(a.value, ends.mean));
    if (i % 6 == 0)
      run.result.pictures.push_back({"soft",
                                     {""},
                                     l.names,
                                     {a.weights.data.begin(), a.weights.data.end()},
                                     LabColours::kWeights,
                                     t,
                                     lab_number(largest.y.back())});
    if (i == 0) cold = a;
    hot = std::move(a);
  }
  std::vector<float> one(l.names.size(), 0.0f);
  one[ends.best] = 1;
  run.result.pictures.push_back({"hard", {""}, l.names, std::move(one)});
  run.result.series = {largest, bits, to_best, to_mean};
  add_words(run, l, ends, *cold, now, *hot);
  run.result.in_steps.config.temperature = run.number("temperature");
  run.result.tensors = {std::move(l.scores), std::move(l.values)};
}

}  // namespace

Lab dictionary_lab() {
  return {"dictionary",
          "what",
          "Graves et al. 2014, https://arxiv.org/abs/1410.5401",
          {{"temperature", {}, 0.05, 10, 1},
           {"layer", {}, 0, 1000, 0, true},
           {"head", {}, 0, 1000, 0, true},
           {"back", {}, 0, 100000, 0, true},
           {"edit", {}, 0, 64, 0, true},
           {"by", {}, -4, 4, 2}},
          run_dictionary};
}

}  // namespace headlight
