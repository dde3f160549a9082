#include "app/cli/train_source.h"

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/io/plain_file.h"
#include "core/train/data/text_source.h"

namespace headlight {
namespace {

void tell_notes(const std::vector<Message>& notes) {
  for (const Message& note : notes) tell(say(Language::kEnglish, note));
}

// The shape is known when the config is.
LearnedFrom task_data(std::shared_ptr<const Task> task, const RunSettings& settings) {
  LearnedFrom data;
  data.task = task;
  data.tokenizer = task->vocabulary().to_json();
  data.batches = std::make_unique<TaskBatches>(std::move(task), settings.batch, settings.seed,
                                               Split::kTraining);
  return data;
}

// Running text, labelled rows or pairs. Of rows the words are what matters, so labels are cut so;
// and a row is as long as it is.
LearnedFrom text_data(const TrainOptions& o, const RunSettings& settings, const Checkpoint* from) {
  const OwnData own = !o.text.empty()     ? OwnData::kText
                      : !o.labels.empty() ? OwnData::kLabels
                                          : OwnData::kPairs;
  const std::string& path = own == OwnData::kText     ? o.text
                            : own == OwnData::kLabels ? o.labels
                                                      : o.pairs;
  TextOptions options = default_options(own);
  if (!o.cut.empty()) {
    const std::optional<TextCut> cut = text_cut_from_string(o.cut);
    if (!cut)
      throw UsageError("--cut must be characters, words, bytes or bpe; got '" + o.cut + "'");
    options.cut = *cut;
  }
  options.vocabulary = o.vocabulary;
  if (o.context > 0) options.context = o.context;
  if (from) {
    options.known = std::make_shared<Vocabulary>(Vocabulary::from_json(from->tokenizer));
    options.known_classes = from->model.classes;
  }
  LoadedTask loaded = load_own_task(own, {path, ""}, options);
  tell_notes(loaded.notes);
  return task_data(std::move(loaded.task), settings);
}

LearnedFrom row_data(const TrainOptions& o, const RunSettings& settings) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;
  auto rows =
      std::make_unique<RowBatches>(read_npy_integers(o.data_ids, kMaxBytes), settings.batch);
  if (o.context > 0 && o.context != rows->context()) {
    throw UsageError("--context is " + std::to_string(o.context) + ", but the rows of " +
                     o.data_ids + " have " + std::to_string(rows->context()) +
                     " ids to read and one to predict; leave --context out");
  }
  LearnedFrom data;
  data.shape = {.batch = 1, .positions = rows->context(), .vocab = rows->vocab()};
  data.tokenizer = kNoTokenizer;
  data.batches = std::move(rows);
  return data;
}

}  // namespace

LearnedFrom open_data(const TrainOptions& o, RunSettings& settings, const Checkpoint* from) {
  const bool file = !o.text.empty() || !o.labels.empty() || !o.pairs.empty();
  const int given = !o.text.empty() + !o.labels.empty() + !o.pairs.empty() + !o.data_ids.empty() +
                    !settings.task.empty();
  if (given != 1) {
    throw UsageError(
        "say what to learn from: --task NAME, --text FILE, --labels FILE.tsv, --pairs FILE.tsv or "
        "--data-ids FILE.npy" +
        std::string(given > 1 ? ", just one of them" : ""));
  }
  if (!o.data_ids.empty()) return row_data(o, settings);
  if (file) return text_data(o, settings, from);
  TaskOptions sizes = settings.task_options;
  if (o.context > 0) sizes["context"] = o.context;
  std::shared_ptr<const Task> task = make_task(settings.task, sizes);
  settings.task_options = task->options();  // defaults may change, a run may not
  return task_data(std::move(task), settings);
}

}  // namespace headlight
