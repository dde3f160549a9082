// Rows of a table as tasks: text and label, or source and target.
#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/train/data/table_columns.h"

namespace headlight {
namespace {

// Rows in an order that has nothing to do with their order in the file, which is often sorted; the
// last ones are for validation.
struct RowOrder {
  std::vector<std::uint32_t> rows;
  std::size_t training = 0;

  RowOrder(std::size_t n, int percent, std::vector<Message>& notes) {
    for (std::size_t i = 0; i < n; ++i) rows.push_back(static_cast<std::uint32_t>(i));
    Random fixed(hash_text("rows held out"));
    for (std::size_t i = n; i > 1; --i) std::swap(rows[i - 1], rows[fixed.below(i)]);
    const std::size_t held_out = n * static_cast<std::size_t>(percent) / 100;
    training = n - held_out;
    if (percent > 0 && held_out == 0) notes.push_back(Message{"text.no_validation"});
  }
  bool has(Split split) const { return split == Split::kTraining || training < rows.size(); }
  std::size_t draw(Random& random, Split split) const {
    if (split == Split::kTraining) return rows[random.below(training)];
    return rows[training + random.below(rows.size() - training)];
  }
  std::size_t size(Split split) const {
    return split == Split::kTraining ? training : rows.size() - training;
  }
  std::size_t at(std::size_t i, Split split) const {
    return rows[split == Split::kTraining ? i : training + i];
  }
};

// The ids of texts: of all that were cut, or of every second one.
struct RowIds {
  RowIds(std::shared_ptr<const CutTexts> texts, std::size_t from = 0, std::size_t by = 1)
      : cut(std::move(texts)), first(from), step(by) {}
  std::size_t count() const { return cut->ends.size() / step; }
  std::vector<int> of(std::size_t text, int most) const {
    const std::size_t from = begin(text);
    const std::size_t to = std::min(end(text), from + static_cast<std::size_t>(most));
    std::vector<int> ids;
    for (std::size_t i = from; i < to; ++i) ids.push_back(static_cast<int>(cut->ids[i]));
    return ids;
  }
  std::size_t length(std::size_t text) const { return end(text) - begin(text); }

  std::shared_ptr<const CutTexts> cut;

 private:
  std::size_t place(std::size_t text) const { return first + step * text; }
  std::size_t begin(std::size_t text) const {
    return place(text) == 0 ? 0 : cut->ends[place(text) - 1];
  }
  std::size_t end(std::size_t text) const { return cut->ends[place(text)]; }

  std::size_t first, step;
};

RowIds cut_rows(const std::vector<TableRow>& rows, std::size_t texts_per_row,
                const TextOptions& options, std::vector<Special> specials,
                const ProgressFunction& progress) {
  std::size_t bytes = 1;
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < texts_per_row; ++i) bytes += row.cells[i].size();
  }
  const bool open = options.cut == TextCut::kWords || options.cut == TextCut::kCharacters;
  if (open) specials.push_back(Special::kUnknown);
  TextCutter cutter({options.cut, options.vocabulary, options.characters, options.most_tokens,
                     std::move(specials), options.known});
  std::size_t done = 0, told = 0;
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < texts_per_row; ++i) {
      // Told only now and then: rows are short.
      const bool now = done >= told;
      if (now) told = done + (std::size_t{1} << 20);
      cutter.add(row.cells[i], now ? progress : ProgressFunction{},
                 static_cast<double>(done) / double(bytes), 1.0 / static_cast<double>(bytes));
      done += row.cells[i].size();
    }
  }
  return {std::make_shared<const CutTexts>(cutter.finish(progress))};
}

// Sources and targets, cut by one vocabulary that is learned from both, or each by its own.
std::pair<RowIds, RowIds> cut_pairs(const std::vector<TableRow>& rows, const TextOptions& options,
                                    const ProgressFunction& progress) {
  std::vector<Special> specials = {Special::kPad, Special::kBegin, Special::kEnd};
  if (!options.marks.empty()) specials.clear();
  if (!options.known_target) {
    const RowIds both = cut_rows(rows, 2, options, std::move(specials), progress);
    return {{both.cut, 0, 2}, {both.cut, 1, 2}};
  }
  std::vector<TableRow> written = rows;
  for (TableRow& row : written) std::swap(row.cells[0], row.cells[1]);
  TextOptions of_written = options;
  of_written.known = options.known_target;
  return {cut_rows(rows, 1, options, {}, progress), cut_rows(written, 1, of_written, {}, progress)};
}

// How long texts are, and how many tokens are beyond a limit.
class CutCount {
 public:
  explicit CutCount(std::size_t limit) : limit_(limit) {}
  void add(std::size_t length) {
    ++texts_;
    longest_ = std::max(longest_, length);
    tokens_ += length;
    if (length <= limit_) return;
    ++cut_;
    lost_ += length - limit_;
  }
  /// The limit where it is asked for, else the longest within it; a note when some are longer.
  int context(bool asked, std::vector<Message>& notes) const {
    const auto count = [](std::size_t n) { return count_text(static_cast<long long>(n)); };
    if (cut_ > 0) {
      notes.push_back(Message{"table.cut_rows",
                              {{"n", count(cut_)},
                               {"of", count(texts_)},
                               {"limit", count(limit_)},
                               {"lost", count(lost_)},
                               {"all", count(tokens_)},
                               {"longest", count(longest_)}}});
    }
    return static_cast<int>(asked ? limit_ : std::min(longest_, limit_));
  }

 private:
  std::size_t limit_, texts_ = 0, longest_ = 1, tokens_ = 0, cut_ = 0, lost_ = 0;
};

// The longest text, within what is asked for; a note when some are longer.
int longest(const RowIds& ids, const TextOptions& options, std::vector<Message>& notes) {
  CutCount count(static_cast<std::size_t>(options.context > 0 ? options.context : kLongestRow));
  for (std::size_t text = 0; text < ids.count(); ++text) count.add(ids.length(text));
  return count.context(options.context > 0, notes);
}

struct Labels {
  std::vector<std::string> names;
  std::vector<int> of_row;
};

Labels read_labels(const TwoColumns& table, const std::vector<std::string>& known) {
  std::map<std::string, int> ids;
  for (const TableRow& row : table.rows) ids.emplace(row.cells[1], 0);
  Labels labels;
  labels.names = known;
  if (known.empty()) {
    for (const auto& entry : ids) labels.names.push_back(entry.first);
  }
  const auto n = static_cast<long long>(labels.names.size());
  if (n == 1) throw Error(Message{"table.one_class", {table.file, {"label", labels.names[0]}}});
  if (n > kMaxClasses) {
    throw Error(Message{"table.many_classes",
                        {table.file,
                         {"n", count_text(n)},
                         {"limit", count_text(kMaxClasses)},
                         {"label", shortened(labels.names[0], 40)}}});
  }
  // Of a handful of rows each may well be the only one of its class.
  constexpr std::size_t kHandful = 16;
  if (known.empty() && ids.size() == table.rows.size() && ids.size() > kHandful) {
    throw Error(
        Message{"table.labels_once",
                {table.file, {"n", count_text(n)}, {"label", shortened(labels.names[0], 40)}}});
  }
  for (auto& entry : ids) entry.second = -1;
  for (std::size_t i = 0; i < labels.names.size(); ++i) ids[labels.names[i]] = static_cast<int>(i);
  for (const TableRow& row : table.rows) {
    const int id = ids[row.cells[1]];
    if (id < 0) {
      throw Error(Message{"table.unknown_class",
                          {table.file,
                           {"line", std::to_string(row.line)},
                           {"label", shortened(row.cells[1], 40)}}});
    }
    labels.of_row.push_back(id);
  }
  return labels;
}

// Examples drawn from the rows of a table.
class RowsTask : public Task {
 public:
  RowsTask(TaskShape shape, RowIds&& ids, RowOrder&& order)
      : Task(std::move(shape)), ids_(std::move(ids)), order_(std::move(order)) {}
  bool has(Split split) const override { return order_.has(split); }
  std::size_t rows(Split split) const override { return order_.size(split); }
  TaskExample row(std::size_t i, Split split) const override { return of(order_.at(i, split)); }

 protected:
  /// The row of the file.
  virtual TaskExample of(std::size_t row) const = 0;
  RowIds ids_;

 private:
  TaskExample make(Random& random, Split split) const override {
    return of(order_.draw(random, split));
  }

  RowOrder order_;
};

class LabelledTask : public RowsTask {
 public:
  LabelledTask(RowIds ids, Labels labels, RowOrder order, int context)
      : RowsTask({.id = "labels",
                  .kind = TaskKind::kClassify,
                  .vocabulary = ids.cut->vocabulary,
                  .context = context,
                  .source_length = 0,
                  .classes = std::move(labels.names),
                  .options = {{"context", context}}},
                 std::move(ids), std::move(order)),
        labels_(std::move(labels.of_row)) {}

 private:
  TaskExample of(std::size_t row) const override {
    TaskExample example;
    example.tokens = ids_.of(row, context());
    example.targets.assign(example.tokens.size(), -1);
    example.label = labels_[row];
    return example;
  }

  std::vector<int> labels_;
};

class PairsTask : public RowsTask {
 public:
  PairsTask(RowIds sources, RowIds targets, RowOrder order, int source_length, int context,
            PairMarks marks)
      : RowsTask({.id = "pairs",
                  .kind = TaskKind::kTranslate,
                  .vocabulary = sources.cut->vocabulary,
                  .context = context,
                  .source_length = source_length,
                  .classes = {},
                  .options = {{"context", context}}},
                 std::move(sources), std::move(order)),
        targets_(std::move(targets)),
        marks_(std::move(marks)) {
    if (marks_.opening.empty()) marks_.opening = {*vocabulary().id_of(Special::kBegin)};
    if (!marks_.end) marks_.end = vocabulary().id_of(Special::kEnd);
  }

 private:
  TaskExample of(std::size_t row) const override {
    TaskExample example;
    example.source = ids_.of(row, source_length());
    put_around(marks_.source, example.source);
    const std::vector<int>& opening = marks_.opening;
    const int room = context() - static_cast<int>(opening.size());
    const std::vector<int> target = targets_.of(row, room);
    example.tokens = opening;
    example.tokens.insert(example.tokens.end(), target.begin(), target.end());
    // What it opens with nobody has to say; a target that was cut has no end to be learned.
    example.targets.assign(opening.size() - 1, -1);
    example.targets.insert(example.targets.end(), target.begin(), target.end());
    const bool cut = targets_.length(row) > static_cast<std::size_t>(room);
    example.targets.push_back(cut ? -1 : marks_.end.value_or(-1));
    return example;
  }

  RowIds targets_;
  PairMarks marks_;
};

// Pairs for a decoder alone: source [SEP] target in one row, of which the target counts, and [EOS].
class JoinedPairsTask : public RowsTask {
 public:
  JoinedPairsTask(RowIds ids, RowOrder order, int context)
      : RowsTask({.id = "pairs",
                  .kind = TaskKind::kNextToken,
                  .vocabulary = ids.cut->vocabulary,
                  .context = context,
                  .source_length = 0,
                  .classes = {},
                  .options = {{"context", context}}},
                 std::move(ids), std::move(order)) {}

  /// How much of a source and of a target is read where both with [SEP] have so much room: all of
  /// the target first, but of the source at least half of the room.
  static std::pair<int, int> kept(std::size_t source, std::size_t target, int context) {
    const int room = context - 1, s = static_cast<int>(source), t = static_cast<int>(target);
    const int of_source = std::min(s, std::max(room - t, room / 2));
    return {of_source, std::min(t, room - of_source)};
  }

 private:
  TaskExample of(std::size_t row) const override {
    const std::size_t length = ids_.length(2 * row + 1);
    const auto [most_source, most_target] = kept(ids_.length(2 * row), length, context());
    TaskExample example;
    example.tokens = ids_.of(2 * row, most_source);
    example.targets.assign(example.tokens.size(), -1);
    example.tokens.push_back(*vocabulary().id_of(Special::kSeparator));
    for (const int id : ids_.of(2 * row + 1, most_target)) {
      example.tokens.push_back(id);
      example.targets.push_back(id);
    }
    // A target that was cut has no end to be learned.
    const bool cut = length > static_cast<std::size_t>(most_target);
    example.targets.push_back(cut ? -1 : *vocabulary().id_of(Special::kEnd));
    return example;
  }
};

// The longest joined row, within what is asked for; a note when some are longer.
int longest_joined(const RowIds& ids, const TextOptions& options, std::vector<Message>& notes) {
  CutCount count(static_cast<std::size_t>(options.context > 0 ? options.context : 2 * kLongestRow));
  for (std::size_t text = 0; text < ids.count(); text += 2)
    count.add(ids.length(text) + 1 + ids.length(text + 1));
  return count.context(options.context > 0, notes);
}

}  // namespace

LoadedTask load_labelled_task(const TextInput& input, const TextOptions& options,
                              const ProgressFunction& progress) {
  validate(options, true);
  TwoColumns table = read_columns(input, options, kLabelledColumns, progress);
  drop_empty(table, kLabelledColumns);
  check_second_column(table, "table.no_label");
  Labels labels = read_labels(table, options.known_classes);
  std::vector<Special> specials = {Special::kPad};
  // The tokenizer of a model from elsewhere is as its files say (vocabulary_on() looks for [PAD]).
  if (options.known && options.known->pieces()) specials.clear();
  RowIds ids = cut_rows(table.rows, 1, options, std::move(specials), progress);
  LoadedTask loaded;
  loaded.notes = std::move(table.notes);
  const int context = longest(ids, options, loaded.notes);
  RowOrder order(table.rows.size(), options.validation, loaded.notes);
  loaded.task =
      std::make_unique<LabelledTask>(std::move(ids), std::move(labels), std::move(order), context);
  return loaded;
}

LoadedTask load_pairs_task(const TextInput& input, const TextOptions& options,
                           const ProgressFunction& progress) {
  validate(options, true);
  TwoColumns table = read_columns(input, options, kPairColumns, progress);
  drop_empty(table, kPairColumns);
  check_second_column(table, "table.no_target");
  LoadedTask loaded;
  loaded.notes = std::move(table.notes);
  if (options.joined) {
    RowIds ids = cut_rows(table.rows, 2, options,
                          {Special::kPad, Special::kSeparator, Special::kEnd}, progress);
    const int context = longest_joined(ids, options, loaded.notes);
    RowOrder order(table.rows.size(), options.validation, loaded.notes);
    loaded.task = std::make_unique<JoinedPairsTask>(std::move(ids), std::move(order), context);
    return loaded;
  }
  auto [sources, targets] = cut_pairs(table.rows, options, progress);
  TextOptions of_sources = options;
  if (options.source_context > 0) of_sources.context = options.source_context;
  const int source_length = longest(sources, of_sources, loaded.notes);
  const auto opening = std::max<std::size_t>(options.marks.opening.size(), 1);  // [BOS]
  const int context = longest(targets, options, loaded.notes) + static_cast<int>(opening);
  RowOrder order(table.rows.size(), options.validation, loaded.notes);
  loaded.task =
      std::make_unique<PairsTask>(std::move(sources), std::move(targets), std::move(order),
                                  source_length, context, options.marks);
  return loaded;
}

}  // namespace headlight
