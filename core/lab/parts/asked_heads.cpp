// "mary gave roses to susan", and a question: who, whom, what, or both, which asks for the pair of
// the two names. One head and two learn to answer, each with the same number of weights.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lab/lab_training.h"
#include "core/lab/parts/parts.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

constexpr std::array<const char*, 8> kGivers = {"mary", "john", "susan", "tom",
                                                "anna", "paul", "lucy",  "peter"};
constexpr std::array<const char*, 4> kThings = {"roses", "books", "cakes", "letters"};
constexpr std::array<const char*, 4> kAsked = {"who", "whom", "what", "both"};
constexpr int kGave = 0, kTo = 1, kFirstAsked = 2, kFirstThing = 6, kFirstName = 10,
              kFirstPair = 18;
constexpr int kNameCount = 8, kThingCount = 4, kAskedCount = 4;
constexpr std::int64_t kGiver = 0, kThing = 2, kReceiver = 4, kAskedTokens = 6;
constexpr std::int64_t kAskedSteps = 1000;

std::vector<std::string> asked_words() {
  std::vector<std::string> words = {"gave", "to"};
  words.insert(words.end(), kAsked.begin(), kAsked.end());
  words.insert(words.end(), kThings.begin(), kThings.end());
  words.insert(words.end(), kGivers.begin(), kGivers.end());
  for (const std::string a : kGivers) {
    for (const std::string b : kGivers) {
      if (a != b) words.push_back(a + "→" + b);
    }
  }
  return words;
}

TaskExample gave(int giver, int thing, int receiver, int asked) {
  const int pair = giver * (kNameCount - 1) + receiver - (receiver > giver ? 1 : 0);
  const std::array<int, kAskedCount> answers = {kFirstName + giver, kFirstName + receiver,
                                                kFirstThing + thing, kFirstPair + pair};
  TaskExample example;
  example.tokens = {kFirstName + giver, kGave, kFirstThing + thing, kTo, kFirstName + receiver,
                    kFirstAsked + asked};
  example.targets.assign(example.tokens.size(), -1);
  example.targets.back() = answers[static_cast<std::size_t>(asked)];
  return example;
}

class GaveTask : public Task {
 public:
  GaveTask()
      : Task({.id = "gave",
              .kind = TaskKind::kNextToken,
              .vocabulary = words_vocabulary({}, asked_words()),
              .context = static_cast<int>(kAskedTokens),
              .source_length = 0,
              .classes = {},
              .options = {}}) {}

 private:
  TaskExample make(Random& random, Split) const override {
    const int giver = random.between(0, kNameCount - 1), other = random.between(0, kNameCount - 2);
    const int thing = random.between(0, kThingCount - 1),
              asked = random.between(0, kAskedCount - 1);
    return gave(giver, thing, other >= giver ? other + 1 : other, asked);
  }
};

RunPlan asked_plan(int heads) {
  RunPlan plan = default_plan("sort");  // as any task of next tokens
  plan.settings.task.clear();
  Config& c = plan.config;
  c.layers = 1;
  c.heads = heads;
  c.d_model = c.d_hidden = 16;
  plan.stop.steps = kAskedSteps;
  plan.settings.schedule = {ScheduleKind::kCosine, 5e-3, 0, 20, kAskedSteps};
  return plan;
}

constexpr std::array<const char*, 2> kAskedRuns = {"one", "two"};

LabSeries asked_loss(std::span<const Tensor> kept, std::size_t i) {
  return {std::string("learning.") + kAskedRuns[i],
          kept_curve(kept, kAskedRuns[i], LabCurve::kStep),
          kept_curve(kept, kAskedRuns[i], LabCurve::kLoss)};
}

std::vector<Tensor> train_asked(LabRun& run, const std::shared_ptr<const Task>& task) {
  std::vector<Tensor> kept;
  const std::vector<LabSeries> before = run.result.series;
  for (std::size_t i = 0; i < 2; ++i) {
    LabTraining one{kAskedRuns[i], asked_plan(static_cast<int>(i) + 1), task, 20, {}, 0, 1};
    one.begin = static_cast<double>(i) / 2, one.end = one.begin + 0.5;
    one.seen = [&](const TrainingRun&) {
      run.result.series = before;
      for (std::size_t shown = 0; shown <= i; ++shown)
        run.result.series.push_back(asked_loss(kept, shown));
    };
    keep_weights(*train(run, one, kept), kAskedRuns[i], kept);
  }
  run.result.series = before;
  return kept;
}

// What a model finds in all sentences with one question: the mean loss, and by head the mean weight
// of the question on each token.
struct AskedFound {
  double loss = 0;
  std::vector<std::vector<double>> looks;
};

AskedFound ask_all(LabRun& run, const std::shared_ptr<const Model>& model, int asked,
                   const char* name) {
  AskedFound found;
  std::vector<float> weights, logits, targets;
  std::vector<int> counted;
  for (int giver = 0; giver < kNameCount; ++giver) {
    for (int receiver = 0; receiver < kNameCount; ++receiver) {
      if (receiver == giver) continue;
      const TaskExample row = gave(giver, (giver + receiver) % kThingCount, receiver, asked);
      const auto trace = read_with(run, model, spaced(*model->vocabulary, row.tokens));
      const Program& p = trace->program();
      const TensorView pattern = trace->tensor(p.find(Role::kPattern, p.logits));
      const TensorView said = trace->tensor(p.logits);
      const std::int64_t vocab = said.axes.back().size;
      found.looks.resize(static_cast<std::size_t>(pattern.axes[1].size),
                         std::vector<double>(kAskedTokens, 0.0));
      for (std::size_t h = 0; h < found.looks.size(); ++h) {
        const float* last =
            pattern.data +
            (static_cast<std::int64_t>(h) * kAskedTokens + kAskedTokens - 1) * kAskedTokens;
        weights.insert(weights.end(), last, last + kAskedTokens);
        for (std::size_t j = 0; j < kAskedTokens; ++j)
          found.looks[h][j] += static_cast<double>(last[j]);
      }
      const float* answer = said.data + (kAskedTokens - 1) * vocab;
      logits.insert(logits.end(), answer, answer + vocab);
      counted.push_back(row.targets.back());
    }
  }
  for (auto& head : found.looks) {
    for (double& w : head) w /= static_cast<double>(counted.size());
  }
  found.loss = mean_loss(logits, counted);
  targets.assign(counted.begin(), counted.end());
  const std::int64_t rows = std::ssize(counted);
  const std::string of = std::string(".") + name;
  auto& all = run.result.tensors;
  all.push_back(lab_tensor(
      "weights" + of, {{"batch", rows}, {"head", std::ssize(found.looks)}, {"key", kAskedTokens}},
      std::move(weights)));
  all.push_back(
      lab_tensor("said" + of, {{"batch", rows}, {"vocab", std::ssize(logits) / rows}}, logits));
  if (name == std::string("one")) all.push_back(lab_tensor("targets", {{"batch", rows}}, targets));
  return found;
}

void show_example(LabRun& run, const std::shared_ptr<const Model>& model, int asked,
                  const char* name) {
  const TaskExample row = gave(0, 0, 2, asked);
  const auto trace = read_with(run, model, spaced(*model->vocabulary, row.tokens));
  const Program& p = trace->program();
  const TensorView pattern = trace->tensor(p.find(Role::kPattern, p.logits));
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < kAskedTokens; ++i) words.push_back(trace->name("position", i));
  constexpr std::int64_t kCells = kAskedTokens * kAskedTokens;
  for (std::int64_t h = 0; h < pattern.axes[1].size; ++h) {
    const float* cells = pattern.data + h * kCells;
    run.result.pictures.push_back({name,
                                   words,
                                   words,
                                   {cells, cells + kCells},
                                   LabColours::kWeights,
                                   0,
                                   {},
                                   std::to_string(h)});
  }
}

void ask_one(LabRun& run, const std::vector<double>& looks, int asked) {
  const double giver = looks[kGiver], thing = looks[kThing], receiver = looks[kReceiver];
  const double most = std::max({giver, thing, receiver});
  LabQuestion ask{"asked",
                  {{"asked", kAsked[static_cast<std::size_t>(asked)]}},
                  {"giver", "thing", "receiver", "divided"},
                  0,
                  {}};
  ask.right = most < 0.6 ? 3u : most == giver ? 0u : most == thing ? 1u : 2u;
  ask.because = run.because("asked", {{"giver", lab_percent(giver)},
                                      {"thing", lab_percent(thing)},
                                      {"receiver", lab_percent(receiver)}});
  run.result.questions.push_back(std::move(ask));
}

void say_asked(LabRun& run, const AskedFound& one, const AskedFound& two, int asked) {
  const auto &a = one.looks[0], &x = two.looks[0], &y = two.looks[1];
  const bool x_gives = x[kGiver] > y[kGiver];
  const auto &gives = x_gives ? x : y, &gets = x_gives ? y : x;
  if (asked == 3 && gives[kGiver] > 0.5 && gets[kReceiver] > 0.5 &&
      std::max(a[kGiver], a[kReceiver]) < 0.6)
    run.notice("divided", {{"giver", lab_percent(a[kGiver])},
                           {"receiver", lab_percent(a[kReceiver])},
                           {"first", x_gives ? "0" : "1"},
                           {"second", x_gives ? "1" : "0"},
                           {"gives", lab_percent(gives[kGiver])},
                           {"gets", lab_percent(gets[kReceiver])}});
  if (two.loss < one.loss)
    run.notice("loss", {{"asked", kAsked[static_cast<std::size_t>(asked)]},
                        {"one", lab_number(one.loss)},
                        {"two", lab_number(two.loss)}});
}

}  // namespace

void show_asked_heads(LabRun& run) {
  const auto task = std::make_shared<const GaveTask>();
  const std::vector<Tensor>& kept = run.trained([&] { return train_asked(run, task); });
  const int asked = static_cast<int>(std::ranges::find(kAsked, run.word("asked")) - kAsked.begin());
  std::array<AskedFound, 2> found;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto model = kept_model(asked_plan(static_cast<int>(i) + 1), task, kAskedRuns[i], kept);
    found[i] = ask_all(run, model, asked, kAskedRuns[i]);
    show_example(run, model, asked, kAskedRuns[i]);
    run.value(std::string("loss.") + kAskedRuns[i], found[i].loss);
    run.result.series.push_back(asked_loss(kept, i));
    run.result.tensors.push_back(kept_tensor(kept, std::string(kAskedRuns[i]) + ".curve"));
  }
  const auto bars = [&](const char* name, const std::vector<double>& looks) {
    LabSeries s{std::string("looks.") + name, {0, 1, 2, 3, 4, 5}, looks};
    s.names = {"mary", "gave", "roses", "to", "susan", kAsked[static_cast<std::size_t>(asked)]};
    run.result.series.push_back(std::move(s));
  };
  bars("one", found[0].looks[0]);
  bars("first", found[1].looks[0]);
  bars("second", found[1].looks[1]);
  say_asked(run, found[0], found[1], asked);
  ask_one(run, found[0].looks[0], asked);
}

}  // namespace headlight
