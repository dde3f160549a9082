// Masks: a model trained to sort without the causal mask reads the answer, and cannot write it.
// masked_padding.cpp: [PAD] that is not masked takes weight; a row without a key.
#include <algorithm>
#include <array>

#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/lab/parts/parts.h"
#include "core/lab/parts/sort_rows.h"

namespace headlight {
namespace {

constexpr std::int64_t kLeakRows = 64;
constexpr int kSortLength = 6, kSortNumbers = 10;
constexpr std::int64_t kLeakSteps = 400;

constexpr std::size_t kLeakOpen = 0, kLeakCausal = 1, kLeaks = 2;
constexpr std::array<const char*, kLeaks> kLeakNames = {"none", "causal"};

// The same but for the mask.
RunPlan leak_plan(std::size_t leak) {
  RunPlan plan = default_plan("sort");
  plan.settings.task_options = {{"length", kSortLength}, {"numbers", kSortNumbers}};
  plan.config.layers = 1;
  plan.config.heads = 2;
  plan.config.d_model = 32;
  plan.config.mask.kind = leak == kLeakOpen ? MaskKind::kNone : MaskKind::kCausal;
  plan.stop.steps = kLeakSteps;
  plan.settings.schedule = {ScheduleKind::kCosine, 5e-3, 0, 20, kLeakSteps};
  return plan;
}

LabSeries leak_loss(std::span<const Tensor> kept, std::size_t leak) {
  return {std::string("loss.") + kLeakNames[leak],
          kept_curve(kept, kLeakNames[leak], LabCurve::kStep),
          kept_curve(kept, kLeakNames[leak], LabCurve::kLoss)};
}

std::vector<Tensor> train_leaks(LabRun& run) {
  std::vector<Tensor> kept;
  for (std::size_t leak = 0; leak < kLeaks; ++leak) {
    const RunPlan plan = leak_plan(leak);
    LabTraining one{kLeakNames[leak], plan, lab_task(plan), 10, {}, 0, 1};
    one.begin = static_cast<double>(leak) / kLeaks;
    one.end = static_cast<double>(leak + 1) / kLeaks;
    one.seen = [&](const TrainingRun&) {
      run.result.series.clear();
      for (std::size_t shown = 0; shown <= leak; ++shown)
        run.result.series.push_back(leak_loss(kept, shown));
    };
    const std::shared_ptr<const Model> model = train(run, one, kept);
    keep_weights(*model, kLeakNames[leak], kept);
  }
  run.result.series.clear();
  return kept;
}

// The heads of one model on the first row: pictures, and the head that looks most at the next
// token, which is what the model is to say.
struct NextHead {
  std::int64_t head = 0;
  double weight = -1;  // the mean of the places that write
};

NextHead show_heads(LabRun& run, const std::shared_ptr<const Model>& model, const SortRows& rows) {
  const auto trace = read_with(run, model, spaced(*model->vocabulary, rows.read[0]));
  const Program& p = trace->program();
  const TensorView pattern = trace->tensor(p.find(Role::kPattern, p.logits));
  const auto n = static_cast<std::size_t>(pattern.axes[2].size);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n; ++i)
    names.push_back(trace->name("position", static_cast<std::int64_t>(i)));
  NextHead most;
  for (std::int64_t h = 0; h < pattern.axes[1].size; ++h) {
    const float* cells = pattern.data + static_cast<std::size_t>(h) * n * n;
    double next = 0;
    for (std::size_t i = kSortLength; i + 1 < n; ++i)
      next += static_cast<double>(cells[i * n + i + 1]) / static_cast<double>(n - kSortLength - 1);
    if (next > most.weight) most = {h, next};
    run.result.pictures.push_back({"sorting",
                                   names,
                                   names,
                                   {cells, cells + n * n},
                                   LabColours::kWeights,
                                   0,
                                   {},
                                   std::to_string(h)});
  }
  run.result.tensors.push_back(
      lab_tensor("pattern", {pattern.axes[1], {"query", std::int64_t(n)}, {"key", std::int64_t(n)}},
                 {pattern.data, pattern.data + pattern.size()}));
  return most;
}

void add_bars(LabRun& run, const std::array<SaidSorted, kLeaks>& said) {
  for (const bool alone : {false, true}) {
    LabSeries bars{alone ? "right.alone" : "right.training", {0, 1}, {}};
    for (std::size_t leak = 0; leak < kLeaks; ++leak) {
      const SaidSorted& s = said[leak];
      bars.y.push_back(alone ? s.share_alone : s.share_forced);
      bars.names.push_back(kLeakNames[leak]);
      run.value(std::string(alone ? "alone." : "training.") + kLeakNames[leak], bars.y.back());
    }
    run.result.series.push_back(std::move(bars));
  }
}

void ask_alone(LabRun& run, const SaidSorted& said, std::size_t leak) {
  LabQuestion ask{"alone",
                  {{"share", lab_percent(said.share_forced)}},
                  {"all", "most", "few"},
                  said.share_alone >= 0.9   ? 0u
                  : said.share_alone >= 0.5 ? 1u
                                            : 2u,
                  {}};
  ask.id = leak == kLeakOpen ? "alone_open" : "alone_causal";
  ask.because = run.because("alone", {{"alone", lab_percent(said.share_alone)}});
  run.result.questions.push_back(std::move(ask));
}

void show_leak(LabRun& run) {
  const std::vector<Tensor>& kept = run.trained([&] { return train_leaks(run); });
  const std::size_t chosen = run.word("mask") == "none" ? kLeakOpen : kLeakCausal;
  const std::shared_ptr<const Task> task = lab_task(leak_plan(chosen));
  const SortRows rows = draw_sort_rows(*task, kSortLength, kLeakRows);
  const std::vector<Axis> axes = {{"batch", kLeakRows}, {"position", kSortLength}};
  std::array<SaidSorted, kLeaks> said;
  NextHead next;
  for (std::size_t leak = 0; leak < kLeaks; ++leak) {
    const char* name = kLeakNames[leak];
    const auto model = kept_model(leak_plan(leak), task, name, kept);
    said[leak] = say_sorted(model, rows);
    run.result.series.push_back(leak_loss(kept, leak));
    run.result.tensors.push_back(kept_tensor(kept, std::string(name) + ".curve"));
    run.result.tensors.push_back(
        lab_tensor(std::string("forced.") + name, axes, said[leak].forced));
    run.result.tensors.push_back(lab_tensor(std::string("alone.") + name, axes, said[leak].alone));
    if (leak == chosen) next = show_heads(run, model, rows);
  }
  run.result.tensors.push_back(lab_tensor("right", axes, rows.right));
  add_bars(run, said);
  run.value("next", next.weight);
  const SaidSorted &open = said[kLeakOpen], &causal = said[kLeakCausal];
  if (open.share_forced > 0.9 && open.share_alone < 0.75 && causal.share_alone > 0.9)
    run.notice("leak", {{"training", lab_percent(open.share_forced)},
                        {"alone", lab_percent(open.share_alone)},
                        {"masked", lab_percent(causal.share_alone)}});
  if (next.weight > 0.5)
    run.notice("next", {{"head", std::to_string(next.head)}, {"weight", lab_number(next.weight)}});
  const auto row = [&](const std::vector<float>& ids) {
    const std::vector<int> first(ids.begin(), ids.begin() + kSortLength);
    return spaced(task->vocabulary(), first);
  };
  if (row(open.alone) != row(rows.right))
    run.notice(
        "writes",
        {{"given", row(rows.given)}, {"written", row(open.alone)}, {"right", row(rows.right)}});
  ask_alone(run, said[chosen], chosen);
}

void run_masks(LabRun& run) {
  run.trace();  // a sentence that cannot be read is refused before anything is trained
  show_leak(run);
  run.show();
  show_masked_padding(run);
}

}  // namespace

Lab masks_lab() {
  return {
      "masks",
      "order",
      "Vaswani et al. 2017, 3.2.3, https://arxiv.org/abs/1706.03762",
      {training_control(), {"mask", {"none", "causal"}}, {"padding", {}, 0, kMostPads, 4, true}},
      run_masks,
      {{"loss", {"none", "causal"}, false, true},
       {.id = "right", .lines = {"training", "alone"}, .form = LabChartForm::kBars},
       {"pads", {"weight", "change"}, false, false, "padding"}},
      "",
      {Role::kMaskedScores},
      "A = softmax(QKᵀ ÷ √d_k + M)"};
}

}  // namespace headlight
