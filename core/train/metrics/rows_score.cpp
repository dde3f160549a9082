#include "core/train/metrics/rows_score.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/run/model_input.h"
#include "core/run/run_trace.h"
#include "core/train/metrics/likelihood.h"

namespace headlight {
namespace {

// A model that runs one row after another, each as long as it is.
class RowRunner {
 public:
  RowRunner(std::shared_ptr<const Model> model, int threads)
      : model_(std::move(model)), backend_(make_cpu_backend(threads)) {
    weights_.use(model_);
  }

  /// Valid until the next call.
  std::span<const float> logits(const std::vector<int>& ids, const std::vector<int>& source) {
    RunInput input;
    input.ids = ids;
    input.tokens.resize(ids.size());  // nobody reads their names
    input.source_ids = source;
    input.source_tokens.resize(source.size());
    trace_ = run_trace(program(ids.size(), source.size()), std::move(input), weights_, *backend_);
    return trace_->tensor(trace_->program().logits).cells();
  }

  /// What the model writes by itself, without [BOS], `most` tokens at the most.
  std::vector<int> written(const std::vector<int>& source, std::size_t most) {
    RunInput input;
    input.source_ids = source;
    std::vector<int> ids = greedy_row(*model_, model_->file.config, input,
                                      static_cast<std::int64_t>(most) + 1, weights_, *backend_);
    ids.erase(ids.begin());
    return ids;
  }

 private:
  std::shared_ptr<const Program> program(std::size_t tokens, std::size_t sources) {
    constexpr std::size_t kMostPrograms = 256;
    if (programs_.size() > kMostPrograms) programs_.clear();
    auto& program = programs_[{tokens, sources}];
    if (program) return program;
    RunShape shape = shape_of(model_->file);
    shape.positions = static_cast<std::int64_t>(tokens);
    shape.source = static_cast<std::int64_t>(sources);
    program = std::make_shared<const Program>(build_program(model_->file.config, shape));
    return program;
  }

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Backend> backend_;
  ModelParameters weights_;
  std::map<std::pair<std::size_t, std::size_t>, std::shared_ptr<const Program>> programs_;
  std::shared_ptr<const Trace> trace_;
};

void check_form(const Model& model, const Task& task, ModelForm form) {
  const bool fits = model.file.config.form == form && task.classes() == model.file.classes &&
                    task.vocabulary() == *model.vocabulary;
  if (!fits) throw Error(Message{"model.other_task", {{"name", model.name}, {"task", task.id()}}});
}

}  // namespace

LabelFigures score_labels(std::shared_ptr<const Model> model, const Task& task, int threads) {
  check_form(*model, task, ModelForm::kClasses);
  LabelFigures figures;
  figures.classes = static_cast<std::int64_t>(task.classes().size());
  figures.confusion.assign(static_cast<std::size_t>(figures.classes * figures.classes), 0);
  RowRunner runner(std::move(model), threads);
  for (std::size_t i = 0; i < task.rows(Split::kTraining); ++i) {
    const TaskExample example = task.row(i, Split::kTraining);
    const std::span<const float> logits = runner.logits(example.tokens, {});
    const int chosen = largest_of(logits);
    ++figures.rows;
    figures.right += chosen == example.label;
    ++figures.confusion[static_cast<std::size_t>(example.label * figures.classes + chosen)];
    figures.nats += nats_of(logits, example.label);
  }
  return figures;
}

PairFigures score_pairs(std::shared_ptr<const Model> model, const Task& task, int threads) {
  check_form(*model, task, ModelForm::kTranslate);
  PairFigures figures;
  const auto vocab = static_cast<std::size_t>(model->file.vocab);
  const std::optional<int> end = model->vocabulary->id_of(Special::kEnd);
  RowRunner runner(std::move(model), threads);
  for (std::size_t i = 0; i < task.rows(Split::kTraining); ++i) {
    const TaskExample example = task.row(i, Split::kTraining);
    const std::span<const float> logits = runner.logits(example.tokens, example.source);
    std::int64_t tokens = 0, right = 0;
    for (std::size_t t = 0; t < example.targets.size(); ++t) {
      if (example.targets[t] < 0) continue;
      const auto row = logits.subspan(t * vocab, vocab);
      ++tokens;
      right += largest_of(row) == example.targets[t];
      figures.nats += nats_of(row, example.targets[t]);
    }
    ++figures.rows;
    figures.tokens += tokens;
    figures.given += right;
    // Who is right at every place goes on with the right row all the way.
    if (right == tokens) {
      ++figures.exact;
      figures.alone += tokens;
      continue;
    }
    std::vector<int> own = runner.written(example.source, example.targets.size());
    own.resize(example.targets.size(), end.value_or(-1));
    for (std::size_t t = 0; t < own.size(); ++t)
      figures.alone += example.targets[t] >= 0 && own[t] == example.targets[t];
  }
  return figures;
}

}  // namespace headlight
