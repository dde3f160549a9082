#include "app/cli/train/train_source.h"

#include <glib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/io/file_steps.h"
#include "core/io/plain_file.h"
#include "core/train/data/length_batches.h"
#include "core/train/data/text_source.h"
#include "core/train/tasks/class_token.h"

namespace headlight {
namespace {

void tell_notes(const std::vector<Message>& notes) {
  for (const Message& note : notes) tell(say(Language::kEnglish, note));
}

constexpr std::size_t kMostValidationRows = 512, kValidationBatch = 64;

// "10%" is a share of what is learned from, kept from the training; anything else is a file.
std::optional<int> validation_share(const TrainOptions& o) {
  int percent = 0;
  char end = 0;
  if (std::sscanf(o.validation.c_str(), "%d%c", &percent, &end) != 2 || end != '%' ||
      o.validation.find('%') + 1 != o.validation.size())
    return std::nullopt;
  if (percent < 1 || percent > 50)
    throw UsageError("--validation as a share must be 1% to 50%; got '" + o.validation + "'");
  return percent;
}

// At most so many rows, evenly spread, that measuring stays short beside training. Of a model with
// memory they follow each other.
std::vector<TokenBatch> row_batches(const std::shared_ptr<const Task>& task, const Config& config,
                                    Split split, const std::string& path, bool narrow) {
  if (task->rows(split) == 0) {
    throw Error(
        (path.empty() ? "the share for validation" : path) +
        " holds no row to measure the validation loss on; take more, or a shorter --context");
  }
  if (config.memory > 0) return measured_segments(task, split, kMostValidationRows);
  return measured_rows(*task, config, split, kMostValidationRows, kValidationBatch, narrow);
}

// The shape is known when the config is.
LearnedFrom task_data(std::shared_ptr<const Task> made, const RunSettings& settings,
                      const Config& config) {
  const std::shared_ptr<const Task> task = as_read_by(config, std::move(made));
  LearnedFrom data;
  data.task = task;
  data.tokenizer = task->vocabulary().to_json();
  data.batches = training_batches(config, task, settings.batch, settings.seed, settings.by_length);
  return data;
}

// "15%" of --mask-tokens; 0 where it is empty.
int masked_share(const TrainOptions& o) {
  if (o.mask_tokens.empty()) return 0;
  int percent = 0;
  char end = 0, rest = 0;
  const int read = std::sscanf(o.mask_tokens.c_str(), "%d%c%c", &percent, &end, &rest);
  if (read != 2 || end != '%' || percent < 1 || percent > kMostMasked)
    throw UsageError("--mask-tokens must be 1% to " + std::to_string(kMostMasked) + "%; got '" +
                     o.mask_tokens + "'");
  return percent;
}

// "BEGIN:END"; nothing where it is empty.
std::optional<ByteRange> byte_range(const char* option, const std::string& text) {
  constexpr std::size_t kMostDigits = 18;  // of a file's size
  if (text.empty()) return std::nullopt;
  unsigned long long begin = 0, end = 0;
  char rest = 0;
  const bool plain = text.find_first_not_of("0123456789:") == text.npos &&
                     text.find(':') < kMostDigits && text.size() - text.find(':') <= kMostDigits;
  if (!plain || std::sscanf(text.c_str(), "%llu:%llu%c", &begin, &end, &rest) != 2 || begin >= end)
    throw UsageError(std::string(option) +
                     " must be two numbers, the first below the second, as 0:1000000; got '" +
                     text + "'");
  return ByteRange{begin, end};
}

std::string range_text(const ByteRange& bytes) {
  return std::to_string(bytes.begin) + ":" + std::to_string(bytes.end);
}

// In hexadecimal digits; empty for what can be read only once, as a pipe.
std::string sha256_of(const std::string& path) {
  std::error_code ignored;
  if (std::error_code error; !std::filesystem::exists(path, error))
    fail_to_read(path, error ? error.value() : ENOENT);
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  const std::unique_ptr<GChecksum, decltype(&g_checksum_free)> sum(
      g_checksum_new(G_CHECKSUM_SHA256), g_checksum_free);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_to_read(path, errno);
  std::vector<char> piece(std::size_t{1} << 20);
  while (file.read(piece.data(), std::ssize(piece)), file.gcount() > 0)
    g_checksum_update(sum.get(), reinterpret_cast<const guchar*>(piece.data()), file.gcount());
  return g_checksum_get_string(sum.get());
}

// As it is kept with the run; nothing where it cannot be read again.
std::optional<RunText> run_text(const TrainOptions& o, const TextOptions& options) {
  RunText text{.file = std::filesystem::path(o.text).filename().string(),
               .sha256 = sha256_of(o.text),
               .bytes = byte_range("--bytes", o.bytes),
               .validation_bytes = byte_range("--validation-bytes", o.validation_bytes),
               .cut = options.cut,
               .vocabulary = options.vocabulary,
               .context = options.context,
               .characters = options.characters,
               .masked = options.masked,
               .next_sentence = options.next_sentence};
  if (!o.sha256.empty() && text.sha256 != o.sha256) {
    throw Error(shown(o.text) + " is not the text that this run is made with: its SHA-256 is " +
                (text.sha256.empty() ? "unknown" : text.sha256) + ", not " + o.sha256 +
                ". Give the file as it was; with another text, begin a run of its own");
  }
  return text.sha256.empty() ? std::nullopt : std::optional(std::move(text));
}

// Pairs in one row, for a decoder alone: asked for, or those of the run that goes on.
bool joined_pairs(const TrainOptions& o, const Config& config) {
  if (!o.resume.empty()) return config.form == ModelForm::kTokens;
  return o.model.form == word(ModelForm::kTokens);
}

// Running text, labelled rows or pairs. Of rows the words are what matters, so labels are cut so;
// and a row is as long as it is.
LearnedFrom text_data(const TrainOptions& o, RunSettings& settings, const KnownTokens& known,
                      const Config& config) {
  const OwnData own = !o.text.empty()     ? OwnData::kText
                      : !o.labels.empty() ? OwnData::kLabels
                                          : OwnData::kPairs;
  const std::string& path = own == OwnData::kText     ? o.text
                            : own == OwnData::kLabels ? o.labels
                                                      : o.pairs;
  TextOptions options = default_options(own);
  if (o.next_sentence) options.cut = TextCut::kWordPiece;
  if (!o.cut.empty()) {
    const std::optional<TextCut> cut = text_cut_from_string(o.cut);
    if (!cut || !is_learned(*cut))
      throw UsageError("--cut must be characters, words, wordpiece, bytes or bpe; got '" + o.cut +
                       "'");
    options.cut = *cut;
  }
  options.vocabulary = o.vocabulary;
  options.characters = o.characters;
  options.masked = masked_share(o);
  options.next_sentence = o.next_sentence;
  if (o.context > 0) options.context = o.context;
  options.known = known.vocabulary;
  options.known_classes = known.classes;
  options.joined = own == OwnData::kPairs && joined_pairs(o, config);
  if (!settings.base.empty()) options.cut = options.known->cut();
  if (!o.validation.empty() && !o.validation_bytes.empty())
    throw UsageError("give --validation or --validation-bytes, not both");
  if (own == OwnData::kText) settings.text = run_text(o, options);
  const auto of_text = byte_range("--validation-bytes", o.validation_bytes);
  const bool other_file = of_text || (!o.validation.empty() && !validation_share(o));
  if (other_file) options.validation = 0;
  if (const auto share = validation_share(o)) options.validation = *share;
  const auto bytes = byte_range("--bytes", o.bytes);
  LoadedTask loaded = naming_file(path, [&] {
    return load_own_task(own, {path, "", bytes}, options);
  });
  LearnedFrom data = task_data(std::move(loaded.task), settings, config);
  if (!o.validation.empty() && !other_file)
    data.validation = row_batches(data.task, config, Split::kValidation, "", settings.by_length);
  tell_notes(loaded.notes);
  if (!other_file) return data;
  options.known = data.task->shared_vocabulary();
  options.known_classes = data.task->classes();
  // Without [BOS], or what stands around a row with a class.
  const bool judges = own == OwnData::kLabels || o.next_sentence;
  const bool begins = own == OwnData::kPairs && !options.joined;
  const int around =
      judges ? classifier_frame(config, *options.known, data.task->closes_rows()).size() : begins;
  options.context = data.task->context() - around;
  options.source_context = data.task->source_length();
  const std::string& measured_path = of_text ? path : o.validation;
  LoadedTask measured = naming_file(measured_path, [&] {
    return load_own_task(own, {measured_path, "", of_text}, options);
  });
  tell_notes(measured.notes);
  data.validation = row_batches(as_read_by(config, std::move(measured.task)), config,
                                Split::kTraining, measured_path, settings.by_length);
  return data;
}

LearnedFrom row_data(const TrainOptions& o, const RunSettings& settings, const Config& config) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;
  if (config.memory > 0) throw UsageError(Message{"error.memory_task", {{"task", "--data-ids"}}});
  auto rows = naming_file(o.data_ids, [&] {
    return std::make_unique<RowBatches>(read_npy_integers(o.data_ids, kMaxBytes), settings.batch);
  });
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

void use_text(const RunText& text, TrainOptions& o) {
  if (o.text.empty())
    throw UsageError("this run learns from a text: give " + text.file + " with --text");
  o.sha256 = text.sha256;
  if (o.bytes.empty() && text.bytes) o.bytes = range_text(*text.bytes);
  if (o.validation.empty() && o.validation_bytes.empty() && text.validation_bytes)
    o.validation_bytes = range_text(*text.validation_bytes);
  // A folder's own tokenizer is no choice of --cut: it lies with the run.
  if (o.cut.empty() && is_learned(text.cut)) o.cut = to_string(text.cut);
  o.characters |= text.characters;
  if (o.vocabulary == 0) o.vocabulary = text.vocabulary;
  if (o.context == 0) o.context = text.context;
  o.next_sentence |= text.next_sentence;
  if (o.mask_tokens.empty() && text.masked > 0) o.mask_tokens = std::to_string(text.masked) + "%";
}

void fit_rows(TrainOptions& o, const ModelFile& run, const Vocabulary& tokens) {
  const RowFrame frame = classifier_frame(run.config, tokens, o.next_sentence);
  const int most = std::max(static_cast<int>(run.context) - frame.size(), 1);
  if (!o.labels.empty() && o.context == 0) o.context = most;
  if (o.next_sentence) o.context = std::min(o.context, most);
}

LearnedFrom open_data(const TrainOptions& o, RunSettings& settings, const KnownTokens& known,
                      const Config& config) {
  const bool file = !o.text.empty() || !o.labels.empty() || !o.pairs.empty();
  if (o.text.empty() && (!o.bytes.empty() || !o.validation_bytes.empty()))
    throw UsageError("--bytes and --validation-bytes go with --text");
  if (o.text.empty() && !o.mask_tokens.empty())
    throw UsageError("--mask-tokens goes with --text; give a text, or leave it out");
  if (o.next_sentence && o.text.empty()) throw UsageError(Message{"train.next_sentence.text"});
  const int given = !o.text.empty() + !o.labels.empty() + !o.pairs.empty() + !o.data_ids.empty() +
                    !settings.task.empty();
  if (given != 1) {
    throw UsageError(
        "say what to learn from: --task NAME, --text FILE, --labels FILE.tsv, --pairs FILE.tsv or "
        "--data-ids FILE.npy" +
        std::string(given > 1 ? ", just one of them" : ""));
  }
  if (!file && !o.validation.empty()) {
    throw UsageError(
        "--validation goes with --text, --labels or --pairs; a task draws fresh examples itself, "
        "and rows of ids have no file beside them. Leave it out");
  }
  if (!o.data_ids.empty()) return row_data(o, settings, config);
  if (file) return text_data(o, settings, known, config);
  TaskOptions sizes = settings.task_options;
  if (o.context > 0) sizes["context"] = o.context;
  std::shared_ptr<const Task> task = make_task(settings.task, sizes);
  settings.task_options = task->options();  // defaults may change, a run may not
  return task_data(std::move(task), settings, config);
}

std::vector<TokenBatch> fresh_examples(const std::shared_ptr<const Task>& task,
                                       const RunSettings& settings, const Config& config) {
  constexpr std::int64_t kBatches = 8, kRows = 64;
  if (!task || !task->has(Split::kValidation)) return {};
  if (config.memory > 0) return measured_segments(task, Split::kValidation, kBatches * kRows);
  if (config.form == ModelForm::kClasses && task->rows(Split::kValidation) > 0)
    return measured_rows(*task, config, Split::kValidation, kBatches * kRows, kRows,
                         settings.by_length);
  TaskBatches fresh(task, kRows, settings.seed, Split::kValidation);
  fresh.count_only_scored();
  std::vector<TokenBatch> batches;
  for (std::int64_t b = 0; b < kBatches; ++b) batches.push_back(fresh.next());
  return batches;
}

}  // namespace headlight
