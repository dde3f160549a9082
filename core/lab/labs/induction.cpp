// Watching a head form: two layers of one head each learn to go on with a repeated row. The first
// head finds the token before, the second with its help the place behind the same token (Olsson et
// al. 2022); without the first the second finds nothing.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/model/bundled.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

constexpr int kSymbols = 32;
constexpr std::size_t kRepeatedTokens = 15, kFormRows = 8, kFormContext = 32;
constexpr std::int64_t kFormSteps = 600;
constexpr std::array<std::string_view, 10> kFormWords = {"0",   "60",  "120", "150", "180",
                                                         "210", "240", "300", "420", "600"};

// Which head is off.
constexpr std::size_t kNoneOff = 0, kPreviousOff = 1, kInductionOff = 2, kOffs = 3;
constexpr std::array<const char*, kOffs> kOffNames = {"none", "previous", "induction"};
constexpr std::array<const char*, kOffs> kOffLines = {"none", "no_previous", "no_induction"};

RunPlan form_plan() {
  RunPlan plan = default_plan("induction");
  plan.settings.task_options = {{"context", static_cast<int>(kFormContext)},
                                {"symbols", kSymbols},
                                {"shortest", 6},
                                {"longest", 15}};
  Config& c = plan.config;
  c.layers = 2;
  c.heads = 1;
  c.d_model = c.d_hidden = 24;
  c.positions = PositionKind::kRotary;
  plan.stop.steps = kFormSteps;
  plan.settings.schedule = {ScheduleKind::kCosine, 4e-3, 0, 20, kFormSteps};
  return plan;
}

LabSeries form_loss(std::span<const Tensor> kept) {
  return {"loss", kept_curve(kept, "run", LabCurve::kStep),
          kept_curve(kept, "run", LabCurve::kLoss)};
}

std::vector<Tensor> train_heads(LabRun& run) {
  std::vector<Tensor> kept;
  const RunPlan plan = form_plan();
  LabTraining one{"run", plan, lab_task(plan), 10, {}, 0, 1};
  one.seen = [&](const TrainingRun& now) {
    const std::string step = std::to_string(now.steps_done());
    if (std::ranges::find(kFormWords, step) != kFormWords.end())
      keep_weights(*now.model(), "step." + step, kept);
    run.result.series = {form_loss(kept)};
  };
  train(run, one, kept);
  run.result.series.clear();
  return kept;
}

// Weights (query, key) of the two heads and logits (position, vocab), of one row.
struct FormRow {
  std::array<std::vector<float>, 2> weights;
  std::vector<float> logits;
};

FormRow read_form_row(LabRun& run, const std::shared_ptr<const Model>& model,
                      const std::string& text, std::size_t off) {
  Config config = model->file.config;
  if (off != kNoneOff) config.masked_heads = {{HeadsOf::kOwn, static_cast<int>(off) - 1, 0}};
  const auto trace = read_with(run, model, text, config);
  const Program& p = trace->program();
  FormRow row;
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    const TensorSpec& spec = p.tensors[id];
    // A head that is off has weights and, in their place, zeros.
    if (spec.role != Role::kPattern && spec.role != Role::kMaskedPattern) continue;
    const TensorView t = trace->tensor(static_cast<TensorId>(id));
    row.weights[static_cast<std::size_t>(spec.place.layer)].assign(t.data, t.data + t.size());
  }
  const TensorView logits = trace->tensor(p.logits);
  row.logits.assign(logits.data, logits.data + logits.size());
  return row;
}

// The mean weight on the token before, of all tokens but the first.
double previous_score(const std::vector<float>& weights, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 1; i < n; ++i) sum += static_cast<double>(weights[i * n + i - 1]);
  return n > 1 ? sum / static_cast<double>(n - 1) : 0;
}

// The mean weight on tokens that stand behind an earlier one of the same kind, of the tokens that
// have such.
double induction_score(const std::vector<float>& weights, std::span<const int> ids) {
  const std::size_t n = ids.size();
  double sum = 0, rows = 0;
  for (std::size_t i = 1; i < n; ++i) {
    double here = 0;
    bool any = false;
    for (std::size_t j = 1; j <= i; ++j) {
      if (ids[j - 1] != ids[i] || j - 1 == i) continue;
      here += static_cast<double>(weights[i * n + j]), any = true;
    }
    if (any) sum += here, ++rows;
  }
  return rows > 0 ? sum / rows : 0;
}

// Means over the rows, by kept step and by what is off.
struct Formed {
  std::array<std::array<double, kOffs>, kFormWords.size()> loss{}, previous{}, induction{};
};

using FormModels = std::vector<std::shared_ptr<const Model>>;

Formed measure_forming(LabRun& run, const Task& task, const FormModels& models) {
  std::vector<TaskExample> rows;
  Random random(99);
  for (std::size_t r = 0; r < kFormRows; ++r) rows.push_back(task.draw(random));
  Formed formed;
  std::vector<float> weights, logits, ids, targets;
  for (std::size_t s = 0; s < models.size(); ++s) {
    run.tell(static_cast<double>(s) / static_cast<double>(models.size()));
    for (std::size_t off = 0; off < kOffs; ++off) {
      for (const TaskExample& row : rows) {
        const FormRow found =
            read_form_row(run, models[s], spaced(task.vocabulary(), row.tokens), off);
        constexpr double kShare = 1.0 / static_cast<double>(kFormRows);
        formed.loss[s][off] += kShare * mean_loss(found.logits, row.targets);
        formed.previous[s][off] += kShare * previous_score(found.weights[0], row.tokens.size());
        formed.induction[s][off] += kShare * induction_score(found.weights[1], row.tokens);
        for (const auto& head : found.weights)
          weights.insert(weights.end(), head.begin(), head.end());
        logits.insert(logits.end(), found.logits.begin(), found.logits.end());
      }
    }
  }
  for (const TaskExample& row : rows) {
    ids.insert(ids.end(), row.tokens.begin(), row.tokens.end());
    targets.insert(targets.end(), row.targets.begin(), row.targets.end());
  }
  const Axis steps{"kept", std::ssize(kFormWords)}, offs{"kept", kOffs}, batch{"batch", kFormRows};
  const Axis n{"position", kFormContext};
  auto& all = run.result.tensors;
  all.push_back(lab_tensor("ids", {batch, n}, std::move(ids)));
  all.push_back(lab_tensor("targets", {batch, n}, std::move(targets)));
  all.push_back(lab_tensor("weights", {steps, offs, batch, {"head", 2}, n, n}, std::move(weights)));
  all.push_back(
      lab_tensor("said", {steps, offs, batch, n, {"vocab", kSymbols}}, std::move(logits)));
  return formed;
}

void add_form_series(LabRun& run, const Formed& formed) {
  const auto line = [&](std::string name, const auto& of, std::size_t off) {
    LabSeries s{std::move(name), {}, {}};
    for (std::size_t i = 0; i < kFormWords.size(); ++i) {
      s.x.push_back(std::stod(std::string(kFormWords[i])));
      s.y.push_back(of[i][off]);
    }
    run.result.series.push_back(std::move(s));
  };
  line("score.previous", formed.previous, kNoneOff);
  line("score.induction", formed.induction, kNoneOff);
  line("score.without", formed.induction, kPreviousOff);
  for (std::size_t off = 0; off < kOffs; ++off)
    line(std::string("off.") + kOffLines[off], formed.loss, off);
}

// The sentence twice: its words stand for symbols, which mean nothing to the model.
void show_form_sentence(LabRun& run, const std::shared_ptr<const Model>& model, std::size_t off) {
  std::vector<std::string> names = run.tokens(kRepeatedTokens);
  std::vector<int> known, ids;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int id = run.trace().input().ids[i];
    auto at = std::ranges::find(known, id);
    if (at == known.end()) at = known.insert(known.end(), id);
    ids.push_back(static_cast<int>(at - known.begin()));
  }
  const auto twice = [](auto& all) {
    const auto once = all;
    all.insert(all.end(), once.begin(), once.end());
  };
  twice(ids), twice(names);
  const FormRow row = read_form_row(run, model, spaced(*model->vocabulary, ids), off);
  const std::int64_t n = std::ssize(ids);
  const double score = induction_score(row.weights[1], ids);
  run.value("sentence.induction", score);
  for (const std::size_t layer : {0u, 1u})
    run.result.pictures.push_back({layer == 0 ? "previous" : "induction",
                                   names,
                                   names,
                                   row.weights[layer],
                                   LabColours::kWeights,
                                   0,
                                   {},
                                   {}});
  run.result.tensors.push_back(lab_tensor("sentence", {{"query", n}, {"key", n}}, row.weights[1]));
  run.result.tensors.push_back(
      lab_tensor("sentence.ids", {{"position", n}}, {ids.begin(), ids.end()}));
  if (score > 0.5 && n > 2) run.notice("sentence", {{"score", lab_number(score)}});
}

void add_form_words(LabRun& run, const Formed& f, std::size_t chosen) {
  const auto fall = [&](std::size_t s) { return f.loss[s - 1][0] - f.loss[s][0]; };
  std::size_t drop = 1;
  for (std::size_t s = 2; s < kFormWords.size(); ++s) drop = fall(s) > fall(drop) ? s : drop;
  const auto word = [](std::size_t s) { return std::string(kFormWords[s]); };
  if (fall(drop) > 0.5 && f.induction[drop][0] > f.induction[drop - 1][0] + 0.1)
    run.notice("drop", {{"from", word(drop - 1)},
                        {"to", word(drop)},
                        {"before", lab_number(f.loss[drop - 1][0])},
                        {"after", lab_number(f.loss[drop][0])},
                        {"low", lab_number(f.induction[drop - 1][0])},
                        {"high", lab_number(f.induction[drop][0])}});
  if (f.loss[chosen][kPreviousOff] > f.loss[chosen][0] + 0.5)
    run.notice("off", {{"step", word(chosen)},
                       {"loss", lab_number(f.loss[chosen][0])},
                       {"without", lab_number(f.loss[chosen][kPreviousOff])}});
  if (std::fabs(f.loss[chosen][0] - std::log(kSymbols)) < 0.35)
    run.notice("chance", {{"step", word(chosen)},
                          {"loss", lab_number(f.loss[chosen][0])},
                          {"symbols", std::to_string(kSymbols)},
                          {"chance", lab_number(std::log(kSymbols))}});
}

// Switched off is the first head, or the second where that one is off already.
void ask_off(LabRun& run, const Formed& f, std::size_t chosen, std::size_t off) {
  const bool second = off == kInductionOff;
  const auto& score = second ? f.previous : f.induction;
  const double before = score[chosen][kNoneOff],
               after = score[chosen][second ? kInductionOff : kPreviousOff];
  if (before < 0.2) return;  // it has not formed yet
  LabQuestion ask{second ? "second" : "first",
                  {{"step", std::string(kFormWords[chosen])}, {"score", lab_number(before)}},
                  {"same", "less", "lost"},
                  after >= 0.75 * before   ? 0u
                  : after >= 0.25 * before ? 1u
                                           : 2u,
                  {}};
  ask.because = run.because("off", {{"before", lab_number(before)}, {"after", lab_number(after)}});
  run.result.questions.push_back(std::move(ask));
}

void run_induction(LabRun& run) {
  run.trace();  // a sentence that cannot be read is refused before anything is trained
  const std::vector<Tensor>& kept = run.trained([&] { return train_heads(run); });
  const RunPlan plan = form_plan();
  const std::shared_ptr<const Task> task = lab_task(plan);
  FormModels models;
  for (const std::string_view step : kFormWords)
    models.push_back(kept_model(plan, task, "step." + std::string(step), kept));
  const auto chosen = static_cast<std::size_t>(std::ranges::find(kFormWords, run.word("step")) -
                                               kFormWords.begin());
  const auto off =
      static_cast<std::size_t>(std::ranges::find(kOffNames, run.word("off")) - kOffNames.begin());
  run.result.series.push_back(form_loss(kept));
  show_form_sentence(run, models[chosen], off);
  const Formed formed = measure_forming(run, *task, models);
  run.value("loss", formed.loss[chosen][off]);
  run.value("previous", formed.previous[chosen][off]);
  run.value("induction", formed.induction[chosen][off]);
  run.result.tensors.push_back(kept_tensor(kept, "run.curve"));
  add_form_series(run, formed);
  add_form_words(run, formed, chosen);
  ask_off(run, formed, chosen, off);
  Document& steps = run.result.in_steps;
  steps.model = std::string(kBundledRef) + "induction";
  const std::shared_ptr<const Model> bundled = run.runner().load(steps.model);
  steps.config = bundled->file.config;
  steps.sentence = example_sentence(*bundled);
  if (off != kNoneOff) steps.config.masked_heads = {{HeadsOf::kOwn, static_cast<int>(off) - 1, 0}};
}

}  // namespace

Lab induction_lab() {
  return {"induction",
          "training",
          "Olsson et al. 2022, https://arxiv.org/abs/2209.11895",
          {training_control(),
           {.id = "step",
            .words = {kFormWords.begin(), kFormWords.end()},
            .first_word = kFormWords.size() - 1},
           {"off", {"none", "previous", "induction"}}},
          run_induction,
          {{"loss", {}, false, false, "step"},
           {"score", {"previous", "induction", "without"}, false, false, "step"},
           {"off", {kOffLines.begin(), kOffLines.end()}, false, false, "step"}},
          "",
          {Role::kMaskedPattern},
          "… A B … A → B",
          {"induction"}};
}

}  // namespace headlight
