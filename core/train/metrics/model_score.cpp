#include "core/train/metrics/model_score.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/io/plain_file.h"
#include "core/model/checkpoint.h"
#include "core/run/model_input.h"
#include "core/train/data/batches.h"
#include "core/train/metrics/likelihood.h"
#include "core/train/model_recipe.h"
#include "core/train/predictor.h"
#include "core/train/tasks/class_token.h"
#include "core/train/trainer.h"

namespace headlight {
namespace {

constexpr std::int64_t kMaxRows = 64;
constexpr double kMaxLogits = 4e6;         // floats at a time
constexpr std::uint64_t kScoreStream = 3;  // of random numbers; 0 to 2 are those of training

std::int64_t rows_at_once(std::int64_t positions, std::int64_t vocab) {
  const double fit = kMaxLogits / (static_cast<double>(positions) * static_cast<double>(vocab));
  return std::clamp(static_cast<std::int64_t>(fit), std::int64_t{1}, kMaxRows);
}

TaskOptions sizes_of(const Model& model) {
  if (model.ref.starts_with(kBundledRef)) return bundled_recipe(model.name).training.task_options;
  const Checkpoint checkpoint = load_checkpoint(model.ref, true);
  if (!checkpoint.training) return {};
  RunSettings settings;
  TrainState state;
  naming_file(std::filesystem::path(model.ref) / kTrainFile,
              [&] { parse_train(checkpoint.training->json, settings, state); });
  return settings.task_options;
}

class TaskScorer {
 public:
  TaskScorer(std::shared_ptr<const Model> model, const Task& task, int threads)
      : task_(task), vocab_(model->file.vocab), predictor_(std::move(model), threads) {}

  void add(std::span<const TaskExample> examples, TaskFigures& out) {
    ids_.clear();
    for (const TaskExample& example : examples) {
      TaskExample whole = example;
      pad(whole, task_);
      ids_.insert(ids_.end(), whole.tokens.begin(), whole.tokens.end());
    }
    const auto positions = static_cast<std::size_t>(task_.context());
    const auto vocab = static_cast<std::size_t>(vocab_);
    const std::span<const float> logits = predictor_.logits(ids_, task_.context());
    for (std::size_t e = 0; e < examples.size(); ++e) {
      std::vector<int> predicted;
      for (std::size_t t = 0; t < examples[e].tokens.size(); ++t) {
        const auto row = logits.subspan((e * positions + t) * vocab, vocab);
        predicted.push_back(largest_of(row));
        if (examples[e].targets[t] < 0) continue;
        nats_ += nats_of(row, examples[e].targets[t]);
        ++out.counted;
      }
      out.score.add(examples[e], predicted);
      if (const auto distance = task_.distance(examples[e]))
        out.by_distance[*distance].add(examples[e], predicted);
    }
    out.loss = out.counted ? nats_ / static_cast<double>(out.counted) : 0;
  }

 private:
  const Task& task_;
  std::int64_t vocab_;
  Predictor predictor_;
  std::vector<int> ids_;
  double nats_ = 0;
};

// Adds what the next batch gives.
void add_padded(Trainer& trainer, TaskBatches& data, TaskFigures& out, double& nats) {
  const Evaluation e = trainer.evaluate(data.next());
  nats += e.loss * static_cast<double>(e.counted);
  out.counted += e.counted;
  out.score.tokens += e.counted;
  out.score.tokens_right += e.correct;
  out.score.sequences += e.rows;
  out.score.sequences_right += e.rows_correct;
}

// Of tasks whose rows differ in length, where a model would see the padding: as training pads them.
TaskFigures score_padded(const Model& model, const Task& task, std::uint64_t seed, int count,
                         int threads) {
  const Split split = task.has(Split::kValidation) ? Split::kValidation : Split::kTraining;
  TrainerOptions options;
  options.threads = threads;
  Trainer trainer(model.file.config, shape_of(task, model.file.config), model.weights, options);
  const std::shared_ptr<const Task> borrowed(std::shared_ptr<void>(), &task);
  std::uint64_t state = Random(seed, kScoreStream).state();
  TaskFigures figures;
  double nats = 0;
  for (std::int64_t left = count; left > 0;) {
    const std::int64_t rows = std::min(left, rows_at_once(task.context(), model.file.vocab));
    TaskBatches data(borrowed, rows, seed, split);
    data.restore(state);
    data.count_only_scored();
    add_padded(trainer, data, figures, nats);
    state = data.state();
    left -= rows;
  }
  figures.loss = figures.counted ? nats / static_cast<double>(figures.counted) : 0;
  return figures;
}

}  // namespace

double TextFigures::perplexity() const { return std::exp(loss()); }

double TextFigures::bits_per_byte() const {
  return bytes ? nats / std::log(2.0) / static_cast<double>(bytes) : 0;
}

std::shared_ptr<const Task> task_of(const Model& model, const TaskOptions& other) {
  const auto& all = all_tasks();
  const bool known = std::any_of(all.begin(), all.end(),
                                 [&](const TaskInfo& info) { return info.id == model.file.task; });
  if (!known) throw UsageError(Message{"model.no_task", {{"name", model.name}}});
  TaskOptions sizes = sizes_of(model);
  for (const auto& [name, size] : other) sizes[name] = size;
  auto task = as_read_by(model.file.config, make_task(model.file.task, sizes));
  const bool same = !other.empty() || task->context() == model.file.context;
  if (!(task->vocabulary() == *model.vocabulary) || !same)
    throw Error(Message{"model.other_task", {{"name", model.name}, {"task", model.file.task}}});
  if (model.file.config.ends_at_context() && task->context() > model.file.context)
    throw UsageError(Message{"model.last_place",
                             {{"name", model.name},
                              {"context", std::to_string(model.file.context)},
                              {"got", std::to_string(task->context())}}});
  return task;
}

TaskFigures score_task(std::shared_ptr<const Model> model, const Task& task, std::uint64_t seed,
                       int count, int threads) {
  if (form_of(task.kind()) != model->file.config.form)
    throw Error(Message{"model.other_task", {{"name", model->name}, {"task", task.id()}}});
  if (model->file.config.form != ModelForm::kTokens)
    return score_padded(*model, task, seed, count, threads);
  const Split split = task.has(Split::kValidation) ? Split::kValidation : Split::kTraining;
  const std::int64_t rows = rows_at_once(task.context(), model->file.vocab);
  TaskScorer scorer(std::move(model), task, threads);
  TaskFigures figures;
  Random random(seed, kScoreStream);
  std::vector<TaskExample> examples;
  for (int i = 0; i < count; ++i) {
    examples.push_back(task.draw(random, split));
    if (static_cast<std::int64_t>(examples.size()) < rows && i + 1 < count) continue;
    scorer.add(examples, figures);
    examples.clear();
  }
  return figures;
}

namespace {

// What a model says to a stretch of the text from token `begin` on, and what follows each of them.
void add_predictions(std::span<const float> logits, std::span<const PlacedToken> targets,
                     std::size_t vocab, TextFigures& figures) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto cells = logits.subspan(i * vocab, vocab);
    figures.nats += nats_of(cells, targets[i].id);
    figures.right += largest_of(cells) == targets[i].id;
    ++figures.tokens;
  }
}

// The tokens of a text as a run reads it: behind what its tokenizer puts before every text.
std::vector<PlacedToken> tokens_of(const Model& model, std::string_view text) {
  std::vector<PlacedToken> tokens = model.vocabulary->encode_placed(text);
  std::vector<PlacedToken> before;
  for (const int id : model.before) before.push_back({id, 0, 0});
  tokens.insert(tokens.begin(), before.begin(), before.end());
  return tokens;
}

// Segment after segment, each with what the model remembers of those before.
void score_segments(Predictor& predictor, std::span<const PlacedToken> tokens,
                    TextFigures& figures) {
  const auto context = static_cast<std::size_t>(figures.context);
  const auto vocab = static_cast<std::size_t>(predictor.model().file.vocab);
  std::vector<int> ids;
  for (std::size_t begin = 0; begin + 1 < tokens.size(); begin += context) {
    const std::size_t length = std::min(context, tokens.size() - 1 - begin);
    ids.clear();
    for (std::size_t i = begin; i < begin + length; ++i) ids.push_back(tokens[i].id);
    add_predictions(predictor.logits(ids, static_cast<std::int64_t>(length)),
                    tokens.subspan(begin + 1, length), vocab, figures);
    predictor.remember();
  }
}

}  // namespace

TextFigures score_text(std::shared_ptr<const Model> model, std::string_view text,
                       std::int64_t stride, int threads) {
  const std::int64_t context = model->file.context;
  if (stride < 1 || stride > context) {
    throw UsageError(Message{
        "model.stride", {{"context", std::to_string(context)}, {"got", std::to_string(stride)}}});
  }
  if (!model->file.kind.empty() && model->file.kind != "next-token") {
    throw UsageError(not_next_token(*model));
  }
  const std::int64_t memory = model->file.config.memory;
  if (memory > 0 && stride != context)
    throw UsageError(Message{"model.stride_memory", {{"context", std::to_string(context)}}});
  const std::vector<PlacedToken> tokens = tokens_of(*model, text);
  const auto count = static_cast<std::int64_t>(tokens.size());
  const auto before = std::ssize(model->before);
  if (count < 2 || count == before)
    throw Error(Message{"model.short_text", {{"n", std::to_string(count - before)}}});
  TextFigures figures;
  figures.context = context;
  figures.stride = stride;
  figures.bytes = static_cast<std::int64_t>(text.size() - tokens[0].end);
  const auto vocab = static_cast<std::size_t>(model->file.vocab);
  const std::int64_t most = rows_at_once(context, model->file.vocab);
  Predictor predictor(std::move(model), threads);
  figures.memory = memory;
  if (memory > 0) {
    score_segments(predictor, tokens, figures);
    return figures;
  }
  // Targets are places 1 … count − 1, of which those that no text begins without are not predicted;
  // `done` of them have been.
  std::int64_t done = std::max<std::int64_t>(before - 1, 0);
  std::vector<int> ids;
  while (done < count - 1) {
    const std::int64_t length = std::min(context, count - 1);
    ids.clear();
    std::vector<std::int64_t> begins;
    // Windows end where their last target is the next `stride` on; the last one at the text's end.
    for (std::int64_t end = done;
         end < count - 1 && static_cast<std::int64_t>(begins.size()) < most;) {
      end = std::min(std::max(end + stride, length), count - 1);
      begins.push_back(end - length);
      for (std::int64_t i = end - length; i < end; ++i)
        ids.push_back(tokens[static_cast<std::size_t>(i)].id);
    }
    const std::span<const float> logits = predictor.logits(ids, length);
    for (std::size_t w = 0; w < begins.size(); ++w) {
      for (std::int64_t i = done; i < begins[w] + length; ++i) {
        const std::size_t row =
            w * static_cast<std::size_t>(length) + static_cast<std::size_t>(i - begins[w]);
        const auto cells = logits.subspan(row * vocab, vocab);
        const int target = tokens[static_cast<std::size_t>(i) + 1].id;
        figures.nats += nats_of(cells, target);
        figures.right += largest_of(cells) == target;
        ++figures.tokens;
      }
      done = begins[w] + length;
    }
  }
  return figures;
}

}  // namespace headlight
