// A gate and its experts: on a curve of two straight parts, learned here and now, beside one
// network without a gate; and on words, in a small model that has learned sentences.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lab/gated_lines.h"
#include "core/lab/known_sentence.h"
#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

constexpr std::int64_t kWordExperts = 4;
constexpr int kReadStories = 24;
constexpr std::size_t kMostGatedWords = 24;

RunPlan expert_plan() {
  RunPlan plan = default_plan("grammar");
  plan.settings.task_options = {{"context", 24}};
  Config& c = plan.config;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 16;
  c.d_hidden = 16;
  c.positions = PositionKind::kRotary;
  c.experts = kWordExperts;
  c.balance = 0.02;
  plan.init = Init::kGlorot;
  plan.settings.batch = 16;
  plan.stop.steps = 1200;
  plan.settings.schedule = {ScheduleKind::kCosine, 1e-2, 0, 50, plan.stop.steps};
  return plan;
}

std::vector<Tensor> train_experts(LabRun& run) {
  std::vector<Tensor> kept;
  const RunPlan plan = expert_plan();
  LabTraining training{"words", plan, lab_task(plan)};
  training.every = 100;
  keep_weights(*train(run, training, kept), training.name, kept);
  return kept;
}

TensorId gated_tensor(const Program& p, Role role) {
  const auto found = std::ranges::find(p.tensors, role, &TensorSpec::role);
  return static_cast<TensorId>(found - p.tensors.begin());
}

// What the gate reads of a sentence, and the weights that it makes of it.
struct Gated {
  std::vector<std::string> words;
  std::vector<float> rows, gate;  // (word, d_model), (word, expert)

  std::size_t best(std::size_t word) const {
    const auto first = gate.begin() + static_cast<std::ptrdiff_t>(word * kWordExperts);
    return static_cast<std::size_t>(std::max_element(first, first + kWordExperts) - first);
  }
  std::vector<double> load() const {
    std::vector<double> mean(kWordExperts, 0.0);
    for (std::size_t i = 0; i < gate.size(); ++i)
      mean[i % kWordExperts] += static_cast<double>(gate[i]) / static_cast<double>(words.size());
    return mean;
  }
};

void add_gated(Gated& g, const Trace& t, bool unique) {
  const Program& p = t.program();
  const TensorId scores = gated_tensor(p, Role::kGateScores);
  const OpCall& call = p.calls[static_cast<std::size_t>(p.producer(scores))];
  const auto append = [&](std::vector<float>& to, TensorId id) {
    const std::span<const float> cells = t.tensor(id).cells();
    to.insert(to.end(), cells.begin(), cells.end());
  };
  append(g.rows, call.in[0]);
  append(g.gate, gated_tensor(p, Role::kGateWeights));
  for (std::int64_t i = 0; i < t.length(); ++i)
    g.words.push_back(unique ? t.name("position", i) : t.tick("position", i));
}

// ---- what is shown ----

std::string expert_line(const char* chart, std::size_t expert) {
  return std::string(chart) + ".expert_" + std::to_string(expert + 1);
}

void add_curve_result(LabRun& run, const LearnedCurve& c, std::size_t experts) {
  std::vector<double> x, truth;
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    x.push_back(curve_x(i));
    truth.push_back(curve_y(x.back()));
  }
  const auto column = [&](const std::vector<double>& cells, std::size_t e) {
    std::vector<double> y;
    for (std::size_t i = e; i < cells.size(); i += experts) y.push_back(cells[i]);
    return y;
  };
  auto& series = run.result.series;
  series.push_back({"curve.truth", x, truth});
  series.push_back({"curve.mixture", x, c.mixed.mean});
  series.push_back({"curve.network", x, c.net_says});
  for (std::size_t e = 0; e < experts; ++e) {
    series.push_back({expert_line("curve", e), x, column(c.mixed.lines, e)});
    series.push_back({expert_line("gate", e), x, column(c.mixed.gate, e)});
  }
  series.push_back({"error.mixture", c.steps, c.errors});
  series.push_back({"error.network", c.steps, c.net_errors});
  run.value("error.mixture", c.mixed.error);
  run.value("error.alone", c.mixed.alone);
  run.value("error.network", c.net_errors.back());
  // The gate's mean weights of each expert left of the jump and right of it.
  for (std::size_t e = 0; e < experts; ++e) {
    double left = 0, right = 0;
    for (std::size_t i = 0; i < kCurvePoints; ++i)
      (x[i] < 0 ? left : right) += c.mixed.gate[i * experts + e] / (kCurvePoints / 2.0);
    run.value("left." + std::to_string(e + 1), left);
    run.value("right." + std::to_string(e + 1), right);
  }
  run.result.tensors.push_back(
      lab_tensor("lines_before", {{"feature", 4}, {"expert", static_cast<std::int64_t>(experts)}},
                 c.lines_before));
  run.result.tensors.push_back(
      lab_tensor("net_before", {{"feature", 3}, {"hidden", 3}}, c.net_before));
}

std::vector<std::string> expert_names() {
  std::vector<std::string> names;
  for (int e = 1; e <= kWordExperts; ++e) names.push_back(std::to_string(e));
  return names;
}

void add_sentence_picture(LabRun& run, const Gated& own) {
  LabPicture picture{"words", expert_names(), own.words, {}};
  for (std::size_t e = 0; e < kWordExperts; ++e) {
    for (std::size_t w = 0; w < own.words.size(); ++w)
      picture.cells.push_back(own.gate[w * kWordExperts + e]);
  }
  run.result.pictures.push_back(std::move(picture));
}

// For each expert the four words that it gets most of, of those that the stories have five times.
void add_vocabulary_picture(LabRun& run, const Gated& stories) {
  struct Word {
    std::string text;
    double count = 0;
    std::array<double, kWordExperts> gate{};
  };
  std::vector<Word> words;
  for (std::size_t i = 0; i < stories.words.size(); ++i) {
    auto found = std::ranges::find(words, stories.words[i], &Word::text);
    if (found == words.end()) found = words.insert(found, Word{stories.words[i]});
    ++found->count;
    for (std::size_t e = 0; e < kWordExperts; ++e)
      found->gate[e] += static_cast<double>(stories.gate[i * kWordExperts + e]);
  }
  std::erase_if(words, [](const Word& w) { return w.count < 5; });
  LabPicture picture{"vocabulary", {}, expert_names(), {}};
  for (std::size_t e = 0; e < kWordExperts; ++e) {
    std::ranges::stable_sort(words, std::greater{},
                             [&](const Word& w) { return w.gate[e] / w.count; });
    int taken = 0;
    for (const Word& w : words) {
      if (taken == 4) break;
      if (std::ranges::find(picture.rows, w.text) != picture.rows.end()) continue;
      ++taken;
      picture.rows.push_back(w.text);
      for (const double sum : w.gate) picture.cells.push_back(static_cast<float>(sum / w.count));
    }
  }
  run.result.pictures.push_back(std::move(picture));
}

void add_gate_result(LabRun& run, const Gated& own, const Gated& stories, const Trace& t) {
  const std::vector<double> x = {0, 1, 2, 3};
  run.result.series.push_back({"load.sentence", x, own.load(), {}, {}, expert_names()});
  run.result.series.push_back({"load.stories", x, stories.load(), {}, {}, expert_names()});
  std::array<bool, kWordExperts> used{};
  double largest = 0;
  for (std::size_t w = 0; w < own.words.size(); ++w) {
    used[own.best(w)] = true;
    largest += static_cast<double>(own.gate[w * kWordExperts + own.best(w)]) /
               static_cast<double>(own.words.size());
  }
  run.value("used", static_cast<double>(std::ranges::count(used, true)));
  run.value("largest", largest);
  const auto keep = [&](const char* name, const Gated& g) {
    const auto count = std::ssize(g.words);
    run.result.tensors.push_back(
        lab_tensor(name, {{"position", count}, {"feature", std::ssize(g.rows) / count}}, g.rows));
  };
  keep("rows", own);
  keep("story_rows", stories);
  for (const auto& [role, name] :
       {std::pair{Role::kExpertGate, "W_G"}, std::pair{Role::kExpertGateBias, "b_G"}}) {
    const TensorView cells = t.tensor(gated_tensor(t.program(), role));
    run.result.tensors.push_back(lab_tensor(name, {cells.axes.begin(), cells.axes.end()},
                                            {cells.cells().begin(), cells.cells().end()}));
  }
  add_sentence_picture(run, own);
  add_vocabulary_picture(run, stories);
}

void add_expert_words(LabRun& run, const Gated& own, std::size_t experts) {
  const LabResult& r = run.result;
  const auto share = [](double x) { return lab_number(100 * x); };
  const auto strongest = [&](const char* side) {
    std::size_t best = 0;
    for (std::size_t e = 1; e < experts; ++e) {
      const std::string at = std::string(side) + ".";
      if (r.value(at + std::to_string(e + 1)) > r.value(at + std::to_string(best + 1))) best = e;
    }
    return std::to_string(best + 1);
  };
  const std::string left = strongest("left"), right = strongest("right");
  if (left != right && r.value("left." + left) > 0.7 && r.value("right." + right) > 0.7)
    run.notice("regimes", {{"left", left},
                           {"left_share", share(r.value("left." + left))},
                           {"right", right},
                           {"right_share", share(r.value("right." + right))}});
  const double mixed = r.value("error.mixture"), alone = r.value("error.alone"),
               net = r.value("error.network");
  if (alone < 0.1 * net)
    run.notice("exact", {{"alone", lab_number(alone)}, {"network", lab_number(net)}});
  std::size_t surest = 0;
  const auto weight = [&](std::size_t w) { return own.gate[w * kWordExperts + own.best(w)]; };
  for (std::size_t w = 1; w < own.words.size(); ++w) {
    if (weight(w) > weight(surest)) surest = w;
  }
  run.notice("word", {{"word", own.words[surest]},
                      {"expert", std::to_string(own.best(surest) + 1)},
                      {"share", share(static_cast<double>(weight(surest)))}});

  LabQuestion ask{
      "alone",
      {},
      {"less", "same", "more"},
      alone < 0.8 * mixed     ? 0u
      : alone <= 1.25 * mixed ? 1u
                              : 2u,
      run.because("alone", {{"mixture", lab_number(mixed)}, {"alone", lab_number(alone)}})};
  run.result.questions.push_back(std::move(ask));
  const double used = r.value("used");
  LabQuestion count{
      "used",
      {},
      {"one", "some", "all"},
      used < 2              ? 0u
      : used < kWordExperts ? 1u
                            : 2u,
      run.because("used", {{"used", lab_number(used)}, {"largest", share(r.value("largest"))}})};
  run.result.questions.push_back(std::move(count));
}

void run_experts(LabRun& run) {
  const auto experts = static_cast<std::size_t>(run.whole("experts"));
  const LearnedCurve curve =
      learn_curve(static_cast<std::uint64_t>(run.whole("draw")), experts,
                  run.word("loss") == "competition", [&](double share) { run.tell(share / 4); });
  add_curve_result(run, curve, experts);
  run.show();
  const std::vector<Tensor>& kept = run.trained([&] { return train_experts(run); });
  const RunPlan plan = expert_plan();
  const std::shared_ptr<const Task> task = lab_task(plan);
  const auto model = kept_model(plan, task, "words", kept);
  const std::string sentence = known_sentence(run, *task, kMostGatedWords, 0,
                                              "mary gives the ball to john . he thanks her .");
  Gated own, stories;
  const std::shared_ptr<const Trace> trace = read_with(run, model, sentence);
  add_gated(own, *trace, true);
  for (int story = 1; story <= kReadStories; ++story) {
    run.tell(0.5 + 0.5 * story / kReadStories);
    Random random(static_cast<std::uint64_t>(story));
    add_gated(stories, *read_with(run, model, written(*task, task->draw(random).tokens)), false);
  }
  add_gate_result(run, own, stories, *trace);
  add_expert_words(run, own, experts);
  Document& steps = run.result.in_steps;
  steps = {};
  steps.sentence = sentence;
  steps.config = plan.config;
}

}  // namespace

Lab experts_lab() {
  return {
      "experts",
      "around",
      "Jacobs et al. 1991, https://doi.org/10.1162/neco.1991.3.1.79; Shazeer et al. 2017, "
      "https://arxiv.org/abs/1701.06538",
      {{.id = "experts", .words = {"1", "2", "3", "4"}, .first_word = 1},
       {"loss", {"competition", "blend"}},
       {"draw", {}, 1, 1e6, 1, true},
       training_control()},
      run_experts,
      {{"curve", {"truth", "mixture", "network", "expert_1", "expert_2", "expert_3", "expert_4"}},
       {"gate", {"expert_1", "expert_2", "expert_3", "expert_4"}},
       {.id = "error", .lines = {"mixture", "network"}, .log_y = true},
       {.id = "load", .lines = {"sentence", "stories"}, .form = LabChartForm::kBars}},
      "",
      {Role::kGateScores, Role::kGateWeights, Role::kExpertOutputs},
      "y = Σ g_i(x) · f_i(x), g = softmax(x W_G + b_G)",
      {"curve"}};
}

}  // namespace headlight
