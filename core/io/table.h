// Tables in text files: comma-separated with quotes (RFC 4180) or separated by tabs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress.h"

namespace headlight {

enum class TableFormat { kTsv, kCsv };

struct TableRow {
  std::size_t line = 0;  // of the file, from 1, where the row begins
  std::vector<std::string> cells;
};

/// The rows of a table; lines without any character are left out. Lines end with LF or CR LF.
///   csv  a cell may stand in quotes, with commas, line ends and doubled quotes within. Quotes
///        within a cell that does not begin with one are text.
///   tsv  no quotes: a cell is what stands between two tabs.
/// `passed` is told now and then how many bytes of the text are done with. Throws Error for a quote
/// that is never closed and for text after a closing quote, with the line; Cancelled.
std::vector<TableRow> parse_table(std::string_view text, TableFormat format,
                                  const ProgressFunction& progress = {},
                                  const PassedFunction& passed = {});

}  // namespace headlight
