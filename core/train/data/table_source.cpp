// Rows of a table as tasks: text and label, or source and target.
#include <unicode/uchar.h>

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/train/data/text_source.h"

namespace headlight {
namespace {

constexpr std::size_t kNoColumn = SIZE_MAX;

// Words that name the columns in a header, the more usual ones.
constexpr std::string_view kTextNames[] = {"text",    "sentence", "review", "content", "comment",
                                           "message", "tweet",    "phrase", "body",    "document"};
constexpr std::string_view kLabelNames[] = {"label",     "labels",   "class",  "category",
                                            "sentiment", "polarity", "target", "intent"};
constexpr std::string_view kSourceNames[] = {"source", "src", "input", "from"};
constexpr std::string_view kTargetNames[] = {"target", "tgt", "output", "to"};

struct ColumnNames {
  std::span<const std::string_view> first, second;
  const char* both;  // text id: what the two columns are
};
constexpr ColumnNames kLabelled = {kTextNames, kLabelNames, "table.columns.labelled"};
constexpr ColumnNames kPairs = {kSourceNames, kTargetNames, "table.columns.pairs"};

std::string trimmed(std::string_view text) {
  const auto white = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && white(text.front())) text.remove_prefix(1);
  while (!text.empty() && white(text.back())) text.remove_suffix(1);
  return std::string(text);
}

// White space only, of any script: no token for a words tokenizer.
bool blank(std::string_view text) {
  for (const char32_t c : to_code_points(text)) {
    if (!u_isUWhiteSpace(static_cast<UChar32>(c))) return false;
  }
  return true;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::size_t column_named(const TableRow& row, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (std::find(names.begin(), names.end(), lower(trimmed(row.cells[i]))) != names.end())
      return i;
  }
  return kNoColumn;
}

struct TwoColumns {
  MessageSlot file;            // what messages call it
  std::vector<TableRow> rows;  // two cells each; the second may be empty
  std::vector<Message> notes;
};

TableFormat format_of(const TextInput& input, const TextOptions& options, std::string_view text) {
  if (options.format) return *options.format;
  if (input.path.empty()) {
    const std::string_view line = text.substr(0, text.find('\n', text.find_first_not_of('\n')));
    const bool commas = line.find('\t') == line.npos && line.find(',') != line.npos;
    return commas ? TableFormat::kCsv : TableFormat::kTsv;
  }
  return lower(input.path.extension().string()) == ".csv" ? TableFormat::kCsv : TableFormat::kTsv;
}

// Which columns are meant, and whether the first row was a header.
bool read_header(const TableRow& row, TableHeader header, const ColumnNames& names,
                 std::size_t& first, std::size_t& second) {
  if (header == TableHeader::kNone) return false;
  const std::size_t a = column_named(row, names.first), b = column_named(row, names.second);
  const bool named = a != kNoColumn && b != kNoColumn && a != b;
  if (named) {
    first = a;
    second = b;
  }
  return named || header == TableHeader::kFirstRow;
}

TwoColumns read_columns(const TextInput& input, const TextOptions& options,
                        const ColumnNames& names, const ProgressFunction& progress) {
  TwoColumns table;
  table.file = input.name();
  const TextFile file = input.read(progress);
  table.notes = file.notes;
  TableFormat format{};
  std::vector<TableRow> rows = file.read([&](std::string_view text) {
    format = format_of(input, options, text);
    return parse_table(text, format, progress, [&](std::size_t bytes) { file.passed(bytes); });
  });
  std::size_t first = 0, second = 1;
  bool named = false;
  if (!rows.empty() && read_header(rows[0], options.header, names, first, second)) {
    named = first != 0 || second != 1 || rows[0].cells.size() != 2;
    rows.erase(rows.begin());
  }
  if (rows.empty()) {
    throw Error(Message{"table.no_rows", {table.file, {"columns", names.both, true}}});
  }
  const char* separator =
      format == TableFormat::kCsv ? "table.separator.comma" : "table.separator.tab";
  const auto single = [](const TableRow& row) { return row.cells.size() < 2; };
  if (std::all_of(rows.begin(), rows.end(), single)) {
    throw Error(Message{"table.one_column",
                        {table.file,
                         {"line", std::to_string(rows[0].line)},
                         {"columns", names.both, true},
                         {"separator", separator, true}}});
  }
  for (TableRow& row : rows) {
    if (!named && row.cells.size() > 2) {
      throw Error(Message{"table.columns",
                          {table.file,
                           {"line", std::to_string(row.line)},
                           {"got", std::to_string(row.cells.size())},
                           {"columns", names.both, true},
                           {"separator", separator, true}}});
    }
    row.cells.resize(std::max(row.cells.size(), std::max(first, second) + 1));
    row.cells = {std::move(row.cells[first]), trimmed(row.cells[second])};
  }
  table.rows = std::move(rows);
  return table;
}

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

// The ids of every row's texts, `per_row` texts a row.
struct RowIds {
  CutTexts cut;
  std::vector<int> of(std::size_t text, int most) const {
    const std::size_t begin = text == 0 ? 0 : cut.ends[text - 1];
    const std::size_t end = std::min(cut.ends[text], begin + static_cast<std::size_t>(most));
    std::vector<int> ids;
    for (std::size_t i = begin; i < end; ++i) ids.push_back(static_cast<int>(cut.ids[i]));
    return ids;
  }
  std::size_t length(std::size_t text) const {
    return cut.ends[text] - (text == 0 ? 0 : cut.ends[text - 1]);
  }
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
  return {cutter.finish(progress)};
}

// The longest of every `step`-th text from `first` on, within what is asked for; a note when some
// are longer.
int longest(const RowIds& ids, std::size_t first, std::size_t step, const TextOptions& options,
            std::vector<Message>& notes) {
  const auto limit = static_cast<std::size_t>(options.context > 0 ? options.context : kLongestRow);
  std::size_t most = 1;
  long long cut = 0;
  for (std::size_t text = first; text < ids.cut.ends.size(); text += step) {
    most = std::max(most, ids.length(text));
    cut += ids.length(text) > limit;
  }
  if (cut > 0) {
    notes.push_back(
        Message{"table.cut_rows",
                {{"n", count_text(cut)}, {"limit", count_text(static_cast<long long>(limit))}}});
  }
  return static_cast<int>(options.context > 0 ? limit : std::min(most, limit));
}

// Rows without a text are no examples.
void drop_empty(TwoColumns& table, const ColumnNames& names) {
  const std::size_t before = table.rows.size();
  std::erase_if(table.rows, [](const TableRow& row) { return blank(row.cells[0]); });
  const auto dropped = static_cast<long long>(before - table.rows.size());
  if (dropped == 0) return;
  table.notes.push_back(Message{"table.empty_texts", {{"n", count_text(dropped)}}});
  if (table.rows.empty()) {
    throw Error(Message{"table.no_rows", {table.file, {"columns", names.both, true}}});
  }
}

void check_second_column(const TwoColumns& table, const char* problem) {
  const TableRow* first = nullptr;
  long long missing = 0;
  for (const TableRow& row : table.rows) {
    if (!blank(row.cells[1])) continue;
    if (!first) first = &row;
    ++missing;
  }
  if (!first) return;
  throw Error(Message{problem,
                      {table.file,
                       {"n", count_text(missing)},
                       {"of", count_text(static_cast<long long>(table.rows.size()))},
                       {"line", std::to_string(first->line)}}});
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
                  .vocabulary = ids.cut.vocabulary,
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
  PairsTask(RowIds ids, RowOrder order, int source_length, int context)
      : RowsTask({.id = "pairs",
                  .kind = TaskKind::kTranslate,
                  .vocabulary = ids.cut.vocabulary,
                  .context = context,
                  .source_length = source_length,
                  .classes = {},
                  .options = {{"context", context}}},
                 std::move(ids), std::move(order)) {}

 private:
  TaskExample of(std::size_t row) const override {
    TaskExample example;
    example.source = ids_.of(2 * row, source_length());
    example.targets = ids_.of(2 * row + 1, context() - 1);
    example.tokens = example.targets;
    example.tokens.insert(example.tokens.begin(), *vocabulary().id_of(Special::kBegin));
    // A target that was cut has no end to be learned.
    const bool cut = ids_.length(2 * row + 1) > static_cast<std::size_t>(context() - 1);
    example.targets.push_back(cut ? -1 : *vocabulary().id_of(Special::kEnd));
    return example;
  }
};

}  // namespace

LoadedTask load_labelled_task(const TextInput& input, const TextOptions& options,
                              const ProgressFunction& progress) {
  validate(options, true);
  TwoColumns table = read_columns(input, options, kLabelled, progress);
  drop_empty(table, kLabelled);
  check_second_column(table, "table.no_label");
  Labels labels = read_labels(table, options.known_classes);
  RowIds ids = cut_rows(table.rows, 1, options, {Special::kPad}, progress);
  LoadedTask loaded;
  loaded.notes = std::move(table.notes);
  const int context = longest(ids, 0, 1, options, loaded.notes);
  RowOrder order(table.rows.size(), options.validation, loaded.notes);
  loaded.task =
      std::make_unique<LabelledTask>(std::move(ids), std::move(labels), std::move(order), context);
  return loaded;
}

LoadedTask load_pairs_task(const TextInput& input, const TextOptions& options,
                           const ProgressFunction& progress) {
  validate(options, true);
  TwoColumns table = read_columns(input, options, kPairs, progress);
  drop_empty(table, kPairs);
  check_second_column(table, "table.no_target");
  RowIds ids =
      cut_rows(table.rows, 2, options, {Special::kPad, Special::kBegin, Special::kEnd}, progress);
  LoadedTask loaded;
  loaded.notes = std::move(table.notes);
  TextOptions of_sources = options;
  if (options.source_context > 0) of_sources.context = options.source_context;
  const int source_length = longest(ids, 0, 2, of_sources, loaded.notes);
  const int context = longest(ids, 1, 2, options, loaded.notes) + 1;  // and [BOS]
  RowOrder order(table.rows.size(), options.validation, loaded.notes);
  loaded.task =
      std::make_unique<PairsTask>(std::move(ids), std::move(order), source_length, context);
  return loaded;
}

}  // namespace headlight
