// Segments: a text longer than the context, read with and without the rows of the segment before
// as further keys and values, by a model trained on a source that repeats itself.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/train/predictor.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

constexpr int kSegmentLength = 16, kRepeatLetters = 8, kLag = 10, kNewPercent = 5;
constexpr std::size_t kSourceSegments = 2048, kStreams = 64, kReadSegments = 8;

// Each letter is the one kLag letters before it, but for a few that are new.
class RepeatTask final : public Task {
 public:
  RepeatTask()
      : Task({.id = "repeats",
              .kind = TaskKind::kNextToken,
              .vocabulary = words_vocabulary({}, letters(kRepeatLetters)),
              .context = kSegmentLength,
              .source_length = 0,
              .classes = {},
              .options = {}}) {
    for (const Split split : {Split::kTraining, Split::kValidation}) {
      std::vector<int>& text = text_[split == Split::kValidation];
      Random random(split == Split::kValidation ? 6 : 5);
      for (std::size_t t = 0; t <= kSourceSegments * kSegmentLength; ++t) {
        const bool is_new = t < kLag || random.percent(kNewPercent);
        text.push_back(is_new ? static_cast<int>(random.below(kRepeatLetters)) : text[t - kLag]);
      }
    }
  }
  std::size_t rows(Split) const override { return kSourceSegments; }
  double bytes_per_token(Split) const override { return 1; }  // a running text
  TaskExample row(std::size_t i, Split split) const override {
    const auto from = text_[split == Split::kValidation].begin() +
                      static_cast<std::ptrdiff_t>(i * kSegmentLength);
    TaskExample example;
    example.tokens.assign(from, from + kSegmentLength);
    example.targets.assign(from + 1, from + kSegmentLength + 1);
    return example;
  }

 private:
  TaskExample make(Random& random, Split split) const override {
    return row(random.below(kSourceSegments), split);
  }
  std::array<std::vector<int>, 2> text_;
};

constexpr std::array<int, 3> kMemories = {0, 8, 16};
constexpr std::int64_t kRepeatSteps = 500;

std::string memory_name(int memory) { return "memory_" + std::to_string(memory); }

RunPlan repeat_plan(int memory) {
  RunPlan plan = copying_plan(32, kRepeatSteps);
  plan.config.positions = PositionKind::kTransformerXl;
  plan.config.memory = memory;
  return plan;
}

void set_curve(LabRun& run, std::span<const Tensor> kept, const std::string& name) {
  LabSeries curve{"training." + name, kept_curve(kept, name, LabCurve::kStep),
                  kept_curve(kept, name, LabCurve::kLoss)};
  const auto found = std::ranges::find(run.result.series, curve.name, &LabSeries::name);
  if (found != run.result.series.end())
    *found = std::move(curve);
  else
    run.result.series.push_back(std::move(curve));
}

std::vector<Tensor> train_repeats(LabRun& run, const std::shared_ptr<const Task>& task) {
  std::vector<Tensor> kept;
  double done = 0;
  for (const int memory : kMemories) {
    const std::string name = memory_name(memory);
    const auto seen = [&](const TrainingRun&) { set_curve(run, kept, name); };
    const LabTraining training{name,
                               repeat_plan(memory),
                               task,
                               20,
                               seen,
                               done / kMemories.size(),
                               (done + 1) / kMemories.size()};
    keep_weights(*train(run, training, kept), name, kept);
    ++done;
  }
  return kept;
}

double negative_log(std::span<const float> logits, int target) {
  double largest = -INFINITY, sum = 0;
  for (const float z : logits) largest = std::max(largest, static_cast<double>(z));
  for (const float z : logits) sum += std::exp(static_cast<double>(z) - largest);
  return largest + std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(target)]);
}

// The loss by segment and position, mean over the streams: each reads some segments of the source
// that was not learned from, one after the other, or all of them at once.
std::vector<float> losses_of(LabRun& run, const std::shared_ptr<const Model>& model,
                             const Task& task, bool at_once) {
  const std::size_t passes = at_once ? 1 : kReadSegments, together = kReadSegments / passes;
  Predictor predictor(model, 1);
  std::vector<double> sums(kReadSegments * kSegmentLength, 0.0);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    run.tell(0.95);
    std::vector<int> ids, targets;
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      for (std::size_t s = pass; s < pass + together; ++s) {
        const TaskExample row =
            task.row(stream * (kSourceSegments / kStreams) + s, Split::kValidation);
        ids.insert(ids.end(), row.tokens.begin(), row.tokens.end());
        targets.insert(targets.end(), row.targets.begin(), row.targets.end());
      }
    }
    const std::size_t length = together * kSegmentLength;
    const auto logits = predictor.logits(ids, static_cast<std::int64_t>(length));
    for (std::size_t i = 0; i < ids.size(); ++i)
      sums[pass * kSegmentLength + i % length] +=
          negative_log(logits.subspan(i * kRepeatLetters, kRepeatLetters), targets[i]);
    predictor.remember();
  }
  std::vector<float> means;
  for (const double sum : sums) means.push_back(static_cast<float>(sum / kStreams));
  return means;
}

struct SegmentLosses {
  std::vector<double> by_position, by_segment;  // the first without the first segment
  double mean = 0;                              // the same
};

SegmentLosses add_losses(LabRun& run, const std::string& name, const std::vector<float>& all) {
  run.result.tensors.push_back(
      lab_tensor("losses." + name, {{"kept", kReadSegments}, {"position", kSegmentLength}}, all));
  SegmentLosses found{std::vector<double>(kSegmentLength, 0.0), {}};
  for (std::size_t s = 0; s < kReadSegments; ++s) {
    double sum = 0;
    for (std::size_t p = 0; p < kSegmentLength; ++p) {
      const double loss = static_cast<double>(all[s * kSegmentLength + p]);
      sum += loss;
      if (s > 0) found.by_position[p] += loss / (kReadSegments - 1);
    }
    found.by_segment.push_back(sum / kSegmentLength);
    if (s > 0) found.mean += found.by_segment.back() / (kReadSegments - 1);
  }
  LabSeries position{"position." + name, {}, found.by_position},
      segment{"segment." + name, {}, found.by_segment};
  for (std::size_t p = 0; p < kSegmentLength; ++p) position.x.push_back(static_cast<double>(p));
  for (std::size_t s = 0; s < kReadSegments; ++s) segment.x.push_back(static_cast<double>(s));
  run.result.series.push_back(std::move(position));
  run.result.series.push_back(std::move(segment));
  run.value("loss." + name, found.mean);
  run.value("first." + name, found.by_position[0]);
  return found;
}

// What a segment looks at, mean over the heads: the rows that are remembered of the one before it,
// which is read first where there is a memory, and its own.
void add_looked_at(LabRun& run, const std::shared_ptr<const Model>& model, const Task& task) {
  std::string sentence;
  for (std::size_t s = model->file.config.memory > 0 ? 1 : 2; s < 3; ++s) {
    for (const int id : task.row(s, Split::kValidation).tokens)
      sentence += (sentence.empty() ? "" : " ") + task.vocabulary().token(id);
  }
  const auto trace = read_with(run, model, sentence);
  const Program& program = trace->program();
  const TensorView pattern = trace->tensor(program.find(Role::kPattern, program.logits));
  const auto size = [&](std::string_view axis) {
    return static_cast<std::size_t>(pattern.axes[static_cast<std::size_t>(pattern.dim(axis))].size);
  };
  const std::size_t heads = size("head"), rows = size("query"), keys = size("key");
  LabPicture picture{"looks", trace->input().tokens, {}, std::vector<float>(rows * keys, 0.0f)};
  for (const int id : trace->input().memory_ids)
    picture.columns.push_back(task.vocabulary().token(id));
  picture.columns.insert(picture.columns.end(), picture.rows.begin(), picture.rows.end());
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t c = 0; c < rows * keys; ++c)
      picture.cells[c] += pattern.data[h * rows * keys + c] / static_cast<float>(heads);
  }
  run.result.pictures.push_back(std::move(picture));
}

void add_segment_words(LabRun& run, const std::map<std::string, SegmentLosses>& found) {
  const SegmentLosses &none = found.at("memory_0"), &all = found.at("memory_16"),
                      &whole = found.at("whole");
  const std::size_t last = kSegmentLength - 1;
  if (none.by_position[0] > none.by_position[last] + 0.5)
    run.notice("without", {{"first", lab_number(none.by_position[0])},
                           {"last", lab_number(none.by_position[last])},
                           {"lag", std::to_string(kLag)}});
  if (none.mean > all.mean + 0.3)
    run.notice("memory", {{"first", lab_number(all.by_position[0])},
                          {"with", lab_number(all.mean)},
                          {"without", lab_number(none.mean)}});
  if (all.by_segment[0] > all.mean + 0.5)
    run.notice("beginning",
               {{"first", lab_number(all.by_segment[0])}, {"later", lab_number(all.mean)}});
  if (whole.mean < none.mean - 0.3)
    run.notice("whole", {{"whole", lab_number(whole.mean)},
                         {"with", lab_number(all.mean)},
                         {"all", std::to_string(kReadSegments * kSegmentLength)},
                         {"keys", std::to_string(2 * kSegmentLength)}});
  const SegmentLosses& chosen = found.at(memory_name(static_cast<int>(run.whole("memory"))));
  LabQuestion ask{"begins", {{"memory", run.word("memory")}}, {"same", "higher"}, 0, {}};
  ask.right = chosen.by_position[0] > chosen.by_position[last] + 0.5 ? 1 : 0;
  ask.because = run.because("begins", {{"first", lab_number(chosen.by_position[0])},
                                       {"last", lab_number(chosen.by_position[last])}});
  run.result.questions.push_back(std::move(ask));
}

void run_segments(LabRun& run) {
  const auto task = std::make_shared<const RepeatTask>();
  const std::vector<Tensor>& kept = run.trained([&] { return train_repeats(run, task); });
  for (const int memory : kMemories) set_curve(run, kept, memory_name(memory));
  run.show();
  std::map<std::string, SegmentLosses> found;
  for (const int memory : kMemories) {
    const std::string name = memory_name(memory);
    const auto model = kept_model(repeat_plan(memory), task, name, kept);
    found[name] = add_losses(run, name, losses_of(run, model, *task, false));
    if (memory == 0) found["whole"] = add_losses(run, "whole", losses_of(run, model, *task, true));
    run.result.tensors.push_back(kept_tensor(kept, name + ".curve"));
    if (memory == run.whole("memory")) add_looked_at(run, model, *task);
    run.show();
  }
  add_segment_words(run, found);
  run.show_in_steps([&](Config& c) {
    c = next_token_config(c);
    c.mixer = MixerKind::kAttention;
    c.positions = PositionKind::kTransformerXl;
    c.memory = static_cast<int>(run.whole("memory"));
  });
}

}  // namespace

Lab segments_lab() {
  return {"segments",
          "whole",
          "Dai et al. 2019, https://arxiv.org/abs/1901.02860",
          {{.id = "memory", .words = {"0", "8", "16"}, .first_word = 1}, training_control()},
          run_segments,
          {{"position", {"memory_0", "memory_8", "memory_16", "whole"}},
           {"segment", {"memory_0", "memory_8", "memory_16", "whole"}},
           {"training", {"memory_0", "memory_8", "memory_16"}}},
          "",
          {Role::kMemory, Role::kExtended}};
}

}  // namespace headlight
