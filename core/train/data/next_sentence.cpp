#include "core/train/data/next_sentence.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/text/sentences.h"
#include "core/train/data/masked_text.h"

namespace headlight {
namespace {

constexpr int kFollows = 0, kDrawn = 1;  // the classes

MessageSlot count_slot(const char* name, std::size_t n) {
  return {name, count_text(static_cast<long long>(n))};
}

// The sentences of a text as ids, and which of them belong together.
class Sentences {
 public:
  Sentences(CutTexts cut, const std::vector<SentenceRange>& ranges) : cut_(std::move(cut)) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].opens) passages_.push_back(i);
    }
    passages_.push_back(ranges.size());
  }

  const std::shared_ptr<const Vocabulary>& vocabulary() const { return cut_.vocabulary; }
  std::size_t size() const { return cut_.ends.size(); }
  std::size_t length(std::size_t i) const { return cut_.ends[i] - begin(i); }
  void append(std::size_t i, int most, std::vector<int>& ids) const {
    const std::size_t end = std::min(cut_.ends[i], begin(i) + static_cast<std::size_t>(most));
    for (std::size_t t = begin(i); t < end; ++t) ids.push_back(static_cast<int>(cut_.ids[t]));
  }

  struct Span {
    std::size_t begin = 0, end = 0;  // sentences
    std::size_t size() const { return end - begin; }
  };
  // Of the passage that the sentence stands in, what lies in the part.
  Span passage(std::size_t i, const Span& part) const {
    const auto next = std::ranges::upper_bound(passages_, i);
    return {std::max(*(next - 1), part.begin), std::min(*next, part.end)};
  }

 private:
  std::size_t begin(std::size_t i) const { return i == 0 ? 0 : cut_.ends[i - 1]; }

  CutTexts cut_;
  std::vector<std::size_t> passages_;  // where each begins, and the end of the last
};

// A part of the text: the sentences that another one follows.
struct Part {
  Sentences::Span span;
  std::vector<std::size_t> firsts;

  Part(const Sentences& all, std::size_t begin, std::size_t end) : span{begin, end} {
    for (std::size_t i = begin; i + 1 < end; ++i) {
      if (i + 1 < all.passage(i, span).end) firsts.push_back(i);
    }
  }
  // A second sentence that does not follow has to come from somewhere.
  bool suffices() const { return !firsts.empty() && span.size() >= 3; }

  // A sentence of another passage; where there is none, any but the first one and its next.
  std::size_t elsewhere(const Sentences& all, std::size_t first, Random& random) const {
    Sentences::Span own = all.passage(first, span);
    if (own.size() == span.size()) own = {first, first + 2};
    const std::size_t at = span.begin + random.below(span.size() - own.size());
    return at < own.begin ? at : at + own.size();
  }
};

class NextSentenceTask final : public Task {
 public:
  NextSentenceTask(Sentences all, Part training, Part validation, int context, int hidden)
      : Task({.id = std::string(kNextSentenceTask),
              .kind = TaskKind::kClassify,
              .vocabulary = all.vocabulary(),
              .context = context,
              .source_length = 0,
              .classes = {kNextSentenceClasses.begin(), kNextSentenceClasses.end()},
              .options = {{"context", context}},
              .hides = hidden > 0,
              .closed = true}),
        hidden_(hidden),
        all_(std::move(all)),
        parts_{std::move(training), std::move(validation)} {}

  bool has(Split split) const override { return part(split).suffices(); }
  std::size_t rows(Split split) const override { return part(split).firsts.size(); }
  TaskExample row(std::size_t i, Split split) const override {
    Random fixed(hash_text("next sentence"), i);
    return pair(part(split).firsts[i], split, fixed);
  }

  /// How much of two sentences is read where both have so much room: of the longer one it goes.
  static std::pair<int, int> kept(std::size_t first, std::size_t second, int room) {
    const int a = static_cast<int>(first), b = static_cast<int>(second);
    const int of_first = std::min(a, std::max(room - b, room / 2));
    return {of_first, std::min(b, room - of_first)};
  }

 private:
  const Part& part(Split split) const { return parts_[split == Split::kTraining ? 0 : 1]; }

  TaskExample make(Random& random, Split split) const override {
    const std::vector<std::size_t>& firsts = part(split).firsts;
    return pair(firsts[random.below(firsts.size())], split, random);
  }

  TaskExample pair(std::size_t first, Split split, Random& random) const {
    TaskExample example;
    example.label = random.below(2) == 0 ? kFollows : kDrawn;
    const std::size_t second =
        example.label == kFollows ? first + 1 : part(split).elsewhere(all_, first, random);
    const auto [a, b] = kept(all_.length(first), all_.length(second), context() - 2);
    const int separator = *vocabulary().id_of(Special::kSeparator);
    all_.append(first, a, example.tokens);
    example.tokens.push_back(separator);
    all_.append(second, b, example.tokens);
    example.tokens.push_back(separator);
    if (hidden_ > 0) {
      TaskExample asked =
          hide_tokens(std::move(example.tokens), hidden_, vocabulary(), random, own_ids());
      asked.label = example.label;
      return asked;
    }
    example.targets.assign(example.tokens.size(), -1);
    return example;
  }

  // Without the [CLS] that is put behind them for a model: a run that goes on has it already, and
  // draws the same tokens.
  int own_ids() const {
    const int ids = vocabulary().size();
    return vocabulary().id_of(Special::kClass) == ids - 1 ? ids - 1 : ids;
  }

  const int hidden_;  // percent of the tokens
  Sentences all_;
  Part parts_[2];
};

Sentences read_sentences(const TextInput& input, const TextOptions& options,
                         std::vector<Message>& notes, const ProgressFunction& progress) {
  const TextFile file = input.read(progress);
  notes = file.notes;
  std::vector<Special> specials = {Special::kPad, Special::kSeparator};
  const bool open = options.cut == TextCut::kWords || options.cut == TextCut::kCharacters;
  if (open) specials.push_back(Special::kUnknown);
  if (options.masked > 0) specials.push_back(Special::kMask);
  TextCutter cutter({options.cut, options.vocabulary, options.characters, options.most_tokens,
                     std::move(specials), options.known});
  const std::vector<SentenceRange> ranges = file.read([&](std::string_view text) {
    std::vector<SentenceRange> found = sentence_ranges(text, progress);
    std::size_t told = 0;
    for (const SentenceRange& range : found) {
      const bool now = range.end >= told;  // only now and then: sentences are short
      if (now) told = range.end + (std::size_t{1} << 20);
      cutter.add(text.substr(range.begin, range.end - range.begin),
                 now ? progress : ProgressFunction{},
                 static_cast<double>(range.begin) / static_cast<double>(text.size()), 0);
    }
    return found;
  });
  if (ranges.size() < 3)
    throw Error(Message{"text.few_sentences", {input.name(), count_slot("n", ranges.size())}});
  return {cutter.finish(progress), ranges};
}

// How many neighbours are too long for a row.
void note_cut(const Sentences& all, const Part& part, int context, std::vector<Message>& notes) {
  const auto most = static_cast<std::size_t>(context) - 2;
  const auto long_ones = static_cast<std::size_t>(std::ranges::count_if(
      part.firsts, [&](std::size_t i) { return all.length(i) + all.length(i + 1) > most; }));
  if (long_ones == 0) return;
  notes.push_back(Message{"text.pairs_cut",
                          {count_slot("n", long_ones),
                           count_slot("of", part.firsts.size()),
                           {"context", count_text(context)}}});
}

}  // namespace

LoadedTask load_next_sentence_task(const TextInput& input, const TextOptions& options,
                                   const ProgressFunction& progress) {
  validate(options, false);
  LoadedTask loaded;
  Sentences all = read_sentences(input, options, loaded.notes, progress);
  const std::size_t n = all.size();
  std::size_t trained = n - n * static_cast<std::size_t>(options.validation) / 100;
  if (!Part(all, trained, n).suffices()) {
    if (options.validation > 0) loaded.notes.push_back(Message{"text.no_validation"});
    trained = n;
  }
  Part training(all, 0, trained), validation(all, trained, n);
  if (!training.suffices())
    throw Error(Message{"text.no_neighbours", {input.name(), count_slot("n", n)}});
  note_cut(all, training, options.context, loaded.notes);
  loaded.task = std::make_unique<NextSentenceTask>(
      std::move(all), std::move(training), std::move(validation), options.context, options.masked);
  return loaded;
}

}  // namespace headlight
