#include "core/train/metrics/rows_score.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/run/model_input.h"
#include "core/run/run_trace.h"
#include "core/run/written_row.h"
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

  /// Of the last row, where the model has a head of tokens.
  std::span<const float> token_logits() const {
    return trace_->tensor(trace_->program().token_logits).cells();
  }

  /// What the model writes by itself, without what it opens with, `most` tokens at the most.
  std::vector<int> written(const std::vector<int>& source, std::size_t most) {
    RunInput input;
    input.source_ids = source;
    const std::vector<int> opening = opening_of(*model_);
    const auto length = static_cast<std::int64_t>(most + opening.size());
    std::vector<int> ids =
        greedy_row(*model_, model_->file.config, input, length, weights_, *backend_);
    ids.erase(ids.begin(), std::ranges::mismatch(ids, opening).in1);
    if (ids.size() > most) ids.resize(most);
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
    shape.separator = separator_of(model_->file.config, model_->vocabulary.get());
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
    if (!task.hides_tokens()) continue;
    const std::span<const float> words = runner.token_logits();
    const auto vocab = static_cast<std::size_t>(task.vocabulary().size());
    for (std::size_t t = 0; t < example.targets.size(); ++t) {
      if (example.targets[t] < 0) continue;
      const std::span<const float> row = words.subspan(t * vocab, vocab);
      ++figures.hidden;
      figures.hidden_right += largest_of(row) == example.targets[t];
      figures.hidden_nats += nats_of(row, example.targets[t]);
    }
  }
  return figures;
}

std::string confusion_text(const std::vector<std::string>& classes,
                           std::span<const std::int64_t> counts) {
  std::vector<std::vector<std::string>> cells = {{"is \\ taken for"}};
  cells[0].insert(cells[0].end(), classes.begin(), classes.end());
  for (std::size_t c = 0; c < classes.size(); ++c) {
    cells.push_back({classes[c]});
    for (const std::int64_t count : counts.subspan(c * classes.size(), classes.size()))
      cells.back().push_back(std::to_string(count));
  }
  std::string text;
  for (const auto& row : cells) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      std::size_t width = 0;
      for (const auto& other : cells) width = std::max(width, to_code_points(other[column]).size());
      const std::string gap(width - to_code_points(row[column]).size(), ' ');
      text += column == 0 ? row[column] + gap : "  " + gap + row[column];
    }
    text += '\n';
  }
  return text;
}

namespace {

// Pairs as a decoder alone reads them.
bool joins_pairs(const Model& model) {
  const bool next = model.file.config.form == ModelForm::kTokens;
  return next && model.vocabulary->id_of(Special::kSeparator) &&
         model.vocabulary->id_of(Special::kEnd);
}

// What the model says at each place of the target; the sum of −log p goes to `nats`.
std::vector<int> given_answers(RowRunner& runner, const TaskExample& example, std::size_t vocab,
                               double& nats) {
  std::vector<int> said;
  const std::span<const float> logits = runner.logits(example.tokens, example.source);
  for (std::size_t t = 0; t < example.targets.size(); ++t) {
    if (example.targets[t] < 0) continue;
    const auto row = logits.subspan(t * vocab, vocab);
    said.push_back(largest_of(row));
    nats += nats_of(row, example.targets[t]);
  }
  return said;
}

// What it writes by itself, as long as the target; [EOS] stands for all that it has not written.
std::vector<int> own_answers(RowRunner& runner, const TaskExample& example, std::size_t vocab,
                             int end) {
  std::vector<int> own;
  std::vector<int> row = example.tokens;
  const auto counted = [](int target) { return target >= 0; };
  const auto first = std::ranges::find_if(example.targets, counted) - example.targets.begin();
  const auto length = static_cast<std::size_t>(std::ranges::count_if(example.targets, counted));
  if (!example.source.empty()) {
    own = runner.written(example.source, length);
  } else {
    row.resize(static_cast<std::size_t>(first) + 1);
    while (own.size() < length) {
      const int next = largest_of(runner.logits(row, {}).last(vocab));
      if (next == end) break;
      own.push_back(next);
      row.push_back(next);
    }
  }
  own.resize(length, end);
  return own;
}

}  // namespace

PairFigures score_pairs(std::shared_ptr<const Model> model, const Task& task, int threads,
                        const std::function<void(const PairRow&)>& rows) {
  check_form(*model, task, joins_pairs(*model) ? ModelForm::kTokens : ModelForm::kTranslate);
  PairFigures figures;
  const auto vocab = static_cast<std::size_t>(model->file.vocab);
  const int end = end_of(*model).value_or(-1);
  RowRunner runner(std::move(model), threads);
  for (std::size_t i = 0; i < task.rows(Split::kTraining); ++i) {
    const TaskExample example = task.row(i, Split::kTraining);
    PairRow row;
    std::ranges::copy_if(example.targets, std::back_inserter(row.target),
                         [](int target) { return target >= 0; });
    row.given = given_answers(runner, example, vocab, figures.nats);
    // Who is right at every place goes on with the right row all the way.
    const bool exact = row.given == row.target;
    row.alone = exact ? row.target : own_answers(runner, example, vocab, end);
    ++figures.rows;
    figures.exact += exact;
    figures.tokens += std::ssize(row.target);
    for (std::size_t t = 0; t < row.target.size(); ++t) {
      figures.given += row.given[t] == row.target[t];
      figures.alone += row.alone[t] == row.target[t];
    }
    if (!rows) continue;
    row.source = example.source;
    const std::ptrdiff_t before = std::ssize(example.targets) - std::ssize(row.target);
    if (row.source.empty() && before > 0)
      row.source.assign(example.tokens.begin(), example.tokens.begin() + before);
    rows(row);
  }
  return figures;
}

}  // namespace headlight
