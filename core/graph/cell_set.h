// CellSet: the forbidden cells of a painted mask. Kept as stretches of columns, row by row, since
// half of a million cells is what a triangle over 1,024 tokens comes to, and a mask is copied with
// every edit. Copies share the rows that they do not change.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight {

/// Columns first..last, both included.
struct Span {
  int first = 0, last = 0;
  bool operator==(const Span&) const = default;
};

class CellSet {
 public:
  CellSet() = default;
  CellSet(std::initializer_list<std::pair<int, int>> cells) {
    for (const auto& [row, column] : cells) insert(row, column);
  }

  void insert(int row, int column) { set(row, {column, column}, true); }
  /// Puts these columns of the row in, or takes them out. Nothing happens when last < first.
  void set(int row, Span columns, bool in);
  /// Gives the row just these columns, in any order, also overlapping.
  void set_row(int row, std::vector<Span> columns);
  void clear() { rows_.clear(); }

  bool contains(int row, int column) const;
  /// The row's columns as stretches that are ascending, apart and as long as can be.
  const std::vector<Span>& row(int row) const;
  /// Rows that have a cell, ascending.
  std::vector<int> rows() const;
  bool empty() const { return rows_.empty(); }
  std::int64_t size() const;

  bool operator==(const CellSet&) const;

 private:
  // Only rows with a cell, so that equal sets are equal maps.
  std::map<int, std::shared_ptr<const std::vector<Span>>> rows_;
};

/// One row as a person reads it, "3: 1-11, 14", and back. read_row throws UsageError; positions are
/// from 0 up to `limit` − 1.
std::string row_text(int row, const std::vector<Span>&);
void read_row(std::string_view text, int limit, CellSet& into);

}  // namespace headlight
