#include "core/train/data/table_columns.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"

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

}  // namespace

const ColumnNames kLabelledColumns = {kTextNames, kLabelNames, "table.columns.labelled"};
const ColumnNames kPairColumns = {kSourceNames, kTargetNames, "table.columns.pairs"};

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

}  // namespace headlight
