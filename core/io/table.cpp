#include "core/io/table.h"

#include "core/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kBytesPerTell = std::size_t{1} << 20;

class TableReader {
 public:
  TableReader(std::string_view text, TableFormat format)
      : text_(text), separator_(format == TableFormat::kCsv ? ',' : '\t'), format_(format) {}

  bool at_end() const { return at_ >= text_.size(); }
  double share() const { return static_cast<double>(at_) / static_cast<double>(text_.size()); }
  std::size_t at() const { return at_; }

  // The row from here to the end of its last line, which may be an empty one: then it has one empty
  // cell.
  TableRow row() {
    TableRow row{line_, {}};
    for (;;) {
      const bool quoted = format_ == TableFormat::kCsv && !at_end() && text_[at_] == '"';
      row.cells.push_back(quoted ? quoted_cell() : plain_cell());
      if (!at_end() && text_[at_] == separator_) {
        ++at_;
        continue;
      }
      skip_line_end();
      return row;
    }
  }

 private:
  // CR LF or LF here; a CR alone is text.
  std::size_t line_end_size() const {
    if (text_[at_] == '\n') return 1;
    return text_.substr(at_, 2) == "\r\n" ? 2 : 0;
  }

  void skip_line_end() {
    if (at_end()) return;
    at_ += line_end_size();
    ++line_;
  }

  std::string plain_cell() {
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] != separator_ && line_end_size() == 0) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted_cell() {
    const std::size_t first_line = line_;
    std::string cell;
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        cell += text_[at_];
        continue;
      }
      if (text_.substr(at_, 2) == "\"\"") {
        cell += '"';
        ++at_;
        continue;
      }
      ++at_;  // the closing quote
      if (at_end() || text_[at_] == separator_ || line_end_size() > 0) return cell;
      throw Error(Message{"table.after_quote", {{"line", std::to_string(line_)}}});
    }
    throw Error(Message{"table.open_quote", {{"line", std::to_string(first_line)}}});
  }

  std::string_view text_;
  char separator_;
  TableFormat format_;
  std::size_t at_ = 0, line_ = 1;
};

}  // namespace

std::vector<TableRow> parse_table(std::string_view text, TableFormat format,
                                  const ProgressFunction& progress, const PassedFunction& passed) {
  std::vector<TableRow> rows;
  std::size_t next_tell = 0;
  for (TableReader reader(text, format); !reader.at_end();) {
    if (reader.at() >= next_tell) {
      if (passed) passed(reader.at());
      tell(progress, "progress.cutting", reader.share());
      next_tell = reader.at() + kBytesPerTell;
    }
    const std::size_t begin = reader.at();
    TableRow row = reader.row();
    const bool quoted = text[begin] == '"' && format == TableFormat::kCsv;
    if (row.cells.size() > 1 || !row.cells[0].empty() || quoted) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace headlight
