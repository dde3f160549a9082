// Encoder, decoder, both: who sees whom in each; what a gap is worth to who reads both sides of it
// (core/lab/parts/gap.cpp); and a row written with the right one before it, or alone.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/lab/parts/parts.h"
#include "core/lab/parts/sort_rows.h"

namespace headlight {
namespace {

constexpr std::size_t kThreeWords = 3, kForcedLength = 12, kForcedRows = 64;
constexpr std::int64_t kForcedSteps = 400;
constexpr std::array<std::string_view, 8> kForcedWords = {"0",   "20",  "40",  "60",
                                                          "100", "150", "200", "400"};

// ---- the same three words in each ----

Document three_words(LabRun& run, ModelForm form, MaskKind mask) {
  Document d;
  if (run.document().model.empty()) d.tokenizer = run.document().tokenizer;
  const auto tokens = Tokenizer(d.tokenizer).tokenize(run.document().sentence, kThreeWords);
  if (!tokens.empty()) d.sentence = run.document().sentence.substr(0, tokens.back().end);
  if (tokens.empty()) d.sentence = run.document().sentence;
  d.config.layers = 1;
  d.config.seed = run.document().config.seed;
  d.config.form = form;
  d.config.mask.kind = mask;
  return d;
}

// Each attention's first head, and in how many pairs a word may look at another.
void show_form(LabRun& run, const char* name, const Document& document) {
  const auto trace = run.run(document);
  const Program& p = trace->program();
  double pairs = 0;
  int number = 0;
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    const TensorSpec& spec = p.tensors[id];
    if (spec.role != Role::kPattern) continue;
    const TensorView t = trace->tensor(static_cast<TensorId>(id));
    const Axis &rows = t.axes[2], &columns = t.axes[3];
    LabPicture picture;
    picture.name = spec.place.section == Section::kCrossAttention ? "cross"
                   : spec.place.stack == Stack::kOnly             ? name
                   : spec.place.stack == Stack::kEncoder          ? "source"
                                                                  : "target";
    for (std::int64_t i = 0; i < rows.size; ++i) picture.rows.push_back(trace->name(rows.name, i));
    for (std::int64_t i = 0; i < columns.size; ++i)
      picture.columns.push_back(trace->name(columns.name, i));
    picture.cells.assign(t.data, t.data + rows.size * columns.size);
    for (const float w : picture.cells) pairs += w > 0;
    run.result.tensors.push_back(lab_tensor(std::string(name) + "." + std::to_string(number++),
                                            {rows, columns}, picture.cells));
    run.result.pictures.push_back(std::move(picture));
  }
  run.value(std::string("pairs.") + name, pairs);
}

void show_forms(LabRun& run) {
  show_form(run, "encoder", three_words(run, ModelForm::kTokens, MaskKind::kNone));
  show_form(run, "decoder", three_words(run, ModelForm::kTokens, MaskKind::kCausal));
  const Document both = three_words(run, ModelForm::kTranslate, MaskKind::kCausal);
  show_form(run, "both", both);
  run.result.in_steps = both;
  const auto pairs = [&](const char* form) {
    return std::to_string(std::lround(run.result.value(std::string("pairs.") + form)));
  };
  run.notice(
      "pairs",
      {{"encoder", pairs("encoder")}, {"decoder", pairs("decoder")}, {"both", pairs("both")}});
}

// ---- with the right row before it, or alone ----

RunPlan forced_plan() {
  RunPlan plan = default_plan("sort");
  plan.settings.task_options = {{"length", static_cast<int>(kForcedLength)}, {"numbers", 10}};
  plan.config.layers = 1;
  plan.config.heads = 2;
  plan.config.d_model = 32;
  plan.stop.steps = kForcedSteps;
  plan.settings.schedule = {ScheduleKind::kCosine, 5e-3, 0, 20, kForcedSteps};
  return plan;
}

std::vector<Tensor> train_forced(LabRun& run, const SortRows& rows) {
  const RunPlan plan = forced_plan();
  std::vector<float> forced, alone;
  LabTraining one{"run", plan, lab_task(plan), 10, {}, 0, 1};
  one.seen = [&](const TrainingRun& now) {
    const std::string step = std::to_string(now.steps_done());
    if (std::ranges::find(kForcedWords, step) == kForcedWords.end()) return;
    const SaidSorted said = say_sorted(now.model(), rows);
    forced.insert(forced.end(), said.forced.begin(), said.forced.end());
    alone.insert(alone.end(), said.alone.begin(), said.alone.end());
  };
  std::vector<Tensor> kept;
  train(run, one, kept);
  const std::vector<Axis> axes = {
      {"kept", std::ssize(kForcedWords)}, {"batch", kForcedRows}, {"position", kForcedLength}};
  kept.push_back(lab_tensor("forced", axes, std::move(forced)));
  kept.push_back(lab_tensor("alone", axes, std::move(alone)));
  return kept;
}

// Of one step: the share that is right, of all and by place in the row.
struct ForcedShare {
  double all = 0;
  std::vector<double> by_place;
};

ForcedShare share_right(const Tensor& said, std::size_t step, const std::vector<float>& right) {
  ForcedShare share{0, std::vector<double>(kForcedLength, 0.0)};
  const float* first = said.data.data() + step * right.size();
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double equal = first[i] == right[i];
    share.all += equal / static_cast<double>(right.size());
    share.by_place[i % kForcedLength] += equal / static_cast<double>(kForcedRows);
  }
  return share;
}

void show_forcing(LabRun& run) {
  const SortRows rows = draw_sort_rows(*lab_task(forced_plan()), kForcedLength, kForcedRows);
  const std::vector<Tensor>& kept = run.trained([&] { return train_forced(run, rows); });
  const auto chosen = static_cast<std::size_t>(std::ranges::find(kForcedWords, run.word("step")) -
                                               kForcedWords.begin());
  std::array<ForcedShare, 2> now;
  for (const std::size_t way : {0u, 1u}) {
    const std::string name = way == 0 ? "forced" : "alone";
    const Tensor& said = kept_tensor(kept, name);
    LabSeries steps{"forcing." + name, {}, {}}, places{"place." + name, {}, {}};
    for (std::size_t s = 0; s < kForcedWords.size(); ++s) {
      steps.x.push_back(std::stod(std::string(kForcedWords[s])));
      steps.y.push_back(share_right(said, s, rows.right).all);
    }
    now[way] = share_right(said, chosen, rows.right);
    for (std::size_t i = 0; i < kForcedLength; ++i) places.x.push_back(static_cast<double>(i + 1));
    places.y = now[way].by_place;
    run.value(name, now[way].all);
    run.result.series.push_back(std::move(steps));
    run.result.series.push_back(std::move(places));
    run.result.tensors.push_back(said);
  }
  run.result.tensors.push_back(
      lab_tensor("right", {{"batch", kForcedRows}, {"position", kForcedLength}}, rows.right));
  const double forced = now[0].all, alone = now[1].all;
  if (alone < forced - 0.02)
    run.notice("forcing", {{"step", run.word("step")},
                           {"forced", lab_percent(forced)},
                           {"alone", lab_percent(alone)},
                           {"first", lab_percent(now[1].by_place.front())},
                           {"last", lab_percent(now[1].by_place.back())}});
  LabQuestion ask{"forcing",
                  {{"step", run.word("step")}, {"forced", lab_percent(forced)}},
                  {"same", "fewer", "more"},
                  alone < forced - 0.02   ? 1u
                  : alone > forced + 0.02 ? 2u
                                          : 0u,
                  {}};
  ask.because = run.because("forcing", {{"alone", lab_percent(alone)}});
  run.result.questions.push_back(std::move(ask));
}

void run_forms(LabRun& run) {
  show_forms(run);
  run.show();
  show_gap(run);
  run.show();
  show_forcing(run);
}

}  // namespace

Lab forms_lab() {
  return {"forms",
          "whole",
          "Devlin et al. 2019, https://arxiv.org/abs/1810.04805",
          {training_control(),
           {"gap", {}, 1, 22, 8, true},
           {.id = "step", .words = {kForcedWords.begin(), kForcedWords.end()}, .first_word = 3}},
          run_forms,
          {{"gap", {"both", "left"}, false, false, "gap"},
           {"forcing", {"forced", "alone"}, false, false, "step"},
           {"place", {"forced", "alone"}}},
          "",
          {},
          {}};
}

}  // namespace headlight
