#include "core/train/data/text_source.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/io/atomic_file.h"
#include "core/io/file_steps.h"
#include "core/train/data/masked_text.h"
#include "core/train/data/next_sentence.h"

namespace headlight {
namespace {

[[noreturn]] void fail_range(const char* what, int low, int high, int got) {
  throw UsageError(Message{"text.option_range",
                           {{"what", what, true},
                            {"low", std::to_string(low)},
                            {"high", std::to_string(high)},
                            {"got", std::to_string(got)}}});
}

// The bytes that the tokens [begin, end) stand for. A long text has a hundred million of them.
std::size_t text_bytes(const CutTexts& cut, std::size_t begin, std::size_t end,
                       const ProgressFunction& progress) {
  constexpr std::size_t kBytesPerTell = std::size_t{1} << 22;
  std::vector<std::size_t> sizes;
  for (int id = 0; id < cut.vocabulary->size(); ++id)
    sizes.push_back(cut.vocabulary->text_of(id).size());
  std::size_t bytes = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (i % kBytesPerTell == 0) tell(progress, "progress.cutting", 1);
    bytes += sizes[cut.ids[i]];
  }
  return bytes;
}

// Where the character begins that byte `at` is in the middle of; else `at`.
std::size_t character_begin(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongest = 4;  // bytes of a code point
  for (std::size_t back = 1; back < kLongest && back <= at && at < text.size(); ++back) {
    const CodePoint c = code_point_at(text, at - back);
    if (c.valid && c.size > back) return at - back;
  }
  return at;
}

class TextTask : public Task {
 public:
  explicit TextTask(std::shared_ptr<const TextSource> source)
      : Task({.id = "text",
              .kind = TaskKind::kNextToken,
              .vocabulary = source->vocabulary(),
              .context = source->context(),
              .source_length = 0,
              .classes = {},
              .options = {{"context", source->context()}}}),
        source_(std::move(source)) {}

  bool has(Split split) const override {
    const TextSource::Part part = source_->part(split);
    return part.end > part.begin;
  }
  double bytes_per_token(Split split) const override { return source_->bytes_per_token(split); }
  // Windows side by side: each token but the part's first is predicted at most once.
  std::size_t rows(Split split) const override {
    const TextSource::Part part = source_->part(split);
    return part.end > part.begin ? (part.end - part.begin - 1) / width() : 0;
  }
  TaskExample row(std::size_t i, Split split) const override {
    return window(source_->part(split).begin + i * width());
  }
  std::vector<int> running_text(Split split) const override { return source_->ids(split); }

 private:
  std::size_t width() const { return static_cast<std::size_t>(context()); }

  TaskExample make(Random& random, Split split) const override {
    const TextSource::Part part = source_->part(split);
    const std::size_t starts = part.end - part.begin - width();
    return window(part.begin + random.below(starts));
  }

  TaskExample window(std::size_t begin) const {
    const std::vector<int> row = source_->window(begin, context() + 1);
    TaskExample example;
    example.tokens.assign(row.begin(), row.end() - 1);
    example.targets.assign(row.begin() + 1, row.end());
    return example;
  }

  std::shared_ptr<const TextSource> source_;
};

}  // namespace

TextFile TextInput::read(const ProgressFunction& progress) const {
  if (path.empty()) return checked_text(text.str(), name(), progress);
  if (!bytes) return read_text_file(path, progress);
  const std::string whole = read_file(path, kMaxTextBytes);
  if (bytes->begin >= bytes->end || bytes->end > whole.size()) {
    throw UsageError(Message{"text.bytes_range",
                             {name(),
                              {"begin", std::to_string(bytes->begin)},
                              {"end", std::to_string(bytes->end)},
                              {"size", std::to_string(whole.size())}}});
  }
  for (const std::uint64_t at : {bytes->begin, bytes->end}) {
    const std::size_t begin = character_begin(whole, at);
    if (begin == at) continue;
    throw UsageError(Message{
        "text.bytes_part", {name(), {"at", std::to_string(at)}, {"begin", std::to_string(begin)}}});
  }
  return checked_text(whole.substr(bytes->begin, bytes->end - bytes->begin), name(), progress);
}

const std::string& SharedText::str() const {
  static const std::string kEmpty;
  return text_ ? *text_ : kEmpty;
}

std::span<const Choice<OwnData>> choices(OwnData) {
  static constexpr Choice<OwnData> kAll[] = {
      {OwnData::kText, "text"}, {OwnData::kLabels, "labels"}, {OwnData::kPairs, "pairs"}};
  return kAll;
}

TaskKind kind_of(OwnData data, const TextOptions& options) {
  if (data == OwnData::kPairs && options.joined) return TaskKind::kNextToken;
  if (data == OwnData::kText && options.next_sentence) return TaskKind::kClassify;
  if (data == OwnData::kText && options.masked > 0) return TaskKind::kMasked;
  return data == OwnData::kLabels  ? TaskKind::kClassify
         : data == OwnData::kPairs ? TaskKind::kTranslate
                                   : TaskKind::kNextToken;
}

TextOptions default_options(OwnData data) {
  TextOptions options;
  if (data == OwnData::kText) return options;
  options.context = 0;
  if (data == OwnData::kLabels) options.cut = TextCut::kWords;
  return options;
}

MessageSlot TextInput::name() const {
  if (path.empty()) return {"file", "text.pasted", true};
  return {"file", "'" + path.string() + "'"};
}

void validate(const TextOptions& options, bool rows) {
  if (options.context < (rows ? 0 : 1) || options.context > kMaxContext)
    fail_range("text.option.context", rows ? 0 : 1, kMaxContext, options.context);
  if (options.validation < 0 || options.validation > 50)
    fail_range("text.option.validation", 0, 50, options.validation);
  if (options.most_tokens < 1 || options.most_tokens > kMaxVocabulary)
    fail_range("text.option.most_tokens", 1, kMaxVocabulary, options.most_tokens);
  if (options.vocabulary < 0 || options.vocabulary > kMaxVocabulary)
    fail_range("text.option.vocabulary", 0, kMaxVocabulary, options.vocabulary);
  if (options.masked < 0 || options.masked > kMostMasked)
    fail_range("text.option.masked", 0, kMostMasked, options.masked);
  if (options.next_sentence && options.context < kShortestPair)
    throw UsageError(Message{
        "text.next_sentence.context",
        {{"least", std::to_string(kShortestPair)}, {"got", std::to_string(options.context)}}});
}

TextSource TextSource::load(const TextInput& input, const TextOptions& options,
                            const ProgressFunction& progress) {
  validate(options, false);
  const TextFile file = input.read(progress);
  const std::size_t size = file.text().size();
  TextSource source;
  source.notes_ = file.notes;
  source.context_ = options.context;
  TextCutter cutter({options.cut, options.vocabulary, options.characters, options.most_tokens,
                     options.masked > 0 ? std::vector{Special::kMask} : std::vector<Special>{},
                     options.known});
  file.read([&](std::string_view text) {
    cutter.add(text, progress, 0, 1.0 / static_cast<double>(size),
               [&](std::size_t bytes) { file.passed(bytes); });
    return size;
  });
  const bool masked = options.masked > 0;
  const std::size_t window = static_cast<std::size_t>(options.context) + (masked ? 0 : 1);
  const auto too_short = [&](std::size_t tokens) {
    throw Error(Message{masked ? "text.short.masked" : "text.short",
                        {input.name(),
                         {"tokens", count_text(static_cast<long long>(tokens))},
                         {"window", count_text(static_cast<long long>(window))},
                         {"context", count_text(options.context)}}});
  };
  if (cutter.empty()) too_short(0);
  source.cut_ = cutter.finish(progress);

  const std::size_t n = source.size();
  std::size_t held_out = n * static_cast<std::size_t>(options.validation) / 100;
  if (held_out < window) {
    held_out = 0;
    if (options.validation > 0) source.notes_.push_back(Message{"text.no_validation"});
  }
  if (n < window) too_short(n);
  source.training_ = n - held_out;
  const std::size_t trained = text_bytes(source.cut_, 0, source.training_, progress);
  const std::size_t rest = text_bytes(source.cut_, source.training_, n, progress);
  const double all = static_cast<double>(trained + rest);
  // What a words tokenizer drops is shared out evenly.
  const double whole = all > 0 ? static_cast<double>(size) / all : 0;
  for (const Split split : {Split::kTraining, Split::kValidation}) {
    const Part part = source.part(split);
    if (part.end == part.begin) continue;
    source.bytes_per_token_[static_cast<int>(split)] =
        whole * static_cast<double>(split == Split::kTraining ? trained : rest) /
        static_cast<double>(part.end - part.begin);
  }
  return source;
}

TextSource::Part TextSource::part(Split split) const {
  if (split == Split::kTraining) return {0, training_};
  return {training_, size()};
}

std::vector<int> TextSource::window(std::size_t begin, int length) const {
  std::vector<int> ids;
  ids.reserve(static_cast<std::size_t>(length));
  for (int i = 0; i < length; ++i) ids.push_back(id(begin + static_cast<std::size_t>(i)));
  return ids;
}

double TextSource::bytes_per_token(Split split) const {
  return bytes_per_token_[static_cast<int>(split)];
}

LoadedTask text_task(std::shared_ptr<const TextSource> source, int masked) {
  LoadedTask loaded;
  loaded.notes = source->notes();
  loaded.task = masked > 0 ? masked_text_task(std::move(source), masked)
                           : std::make_unique<TextTask>(std::move(source));
  return loaded;
}

LoadedTask load_text_task(const TextInput& input, const TextOptions& options,
                          const ProgressFunction& progress) {
  return text_task(std::make_shared<const TextSource>(TextSource::load(input, options, progress)),
                   options.masked);
}

LoadedTask load_own_task(OwnData data, const TextInput& input, const TextOptions& options,
                         const ProgressFunction& progress) try {
  if (data == OwnData::kLabels) return load_labelled_task(input, options, progress);
  if (data == OwnData::kPairs) return load_pairs_task(input, options, progress);
  if (options.next_sentence) return load_next_sentence_task(input, options, progress);
  return load_text_task(input, options, progress);
} catch (const UsageError& error) {
  // What was asked for is right; the file does not go with the vocabulary.
  if (input.path.empty() || error.message().id != "vocabulary.unknown_token") throw;
  throw Error(Message{"checkpoint.in_file", {{"path", shown(input.path)}}}.with(error.message()));
}

}  // namespace headlight
