#include "core/graph/cell_set.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"

namespace headlight {

void CellSet::set(int row, Span add, bool in) {
  if (add.last < add.first) return;
  const std::vector<Span>& before = this->row(row);
  std::vector<Span> after;
  after.reserve(before.size() + 2);
  bool placed = !in;
  for (const Span& span : before) {
    // Stretches that touch become one; what is taken out only cuts what it overlaps.
    const bool apart_left = in ? span.last + 1 < add.first : span.last < add.first;
    const bool apart_right = in ? span.first > add.last + 1 : span.first > add.last;
    if (apart_right && !placed) {
      after.push_back(add);
      placed = true;
    }
    if (apart_left || apart_right) {
      after.push_back(span);
    } else if (in) {
      add = {std::min(add.first, span.first), std::max(add.last, span.last)};
    } else {
      if (span.first < add.first) after.push_back({span.first, add.first - 1});
      if (span.last > add.last) after.push_back({add.last + 1, span.last});
    }
  }
  if (!placed) after.push_back(add);
  if (after != before) set_row(row, std::move(after));
}

void CellSet::set_row(int row, std::vector<Span> columns) {
  std::erase_if(columns, [](const Span& span) { return span.last < span.first; });
  std::sort(columns.begin(), columns.end(),
            [](const Span& a, const Span& b) { return a.first < b.first; });
  std::vector<Span> merged;
  for (const Span& span : columns) {
    if (!merged.empty() && span.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, span.last);
    } else {
      merged.push_back(span);
    }
  }
  if (merged.empty()) {
    rows_.erase(row);
  } else {
    rows_[row] = std::make_shared<const std::vector<Span>>(std::move(merged));
  }
}

bool CellSet::contains(int row, int column) const {
  const std::vector<Span>& spans = this->row(row);
  const auto at = std::lower_bound(spans.begin(), spans.end(), column,
                                   [](const Span& span, int c) { return span.last < c; });
  return at != spans.end() && at->first <= column;
}

const std::vector<Span>& CellSet::row(int row) const {
  static const std::vector<Span> kNone;
  const auto at = rows_.find(row);
  return at == rows_.end() ? kNone : *at->second;
}

std::vector<int> CellSet::rows() const {
  std::vector<int> result;
  result.reserve(rows_.size());
  for (const auto& [row, spans] : rows_) result.push_back(row);
  return result;
}

std::int64_t CellSet::size() const {
  std::int64_t count = 0;
  for (const auto& [row, spans] : rows_) {
    for (const Span& span : *spans) count += span.last - span.first + 1;
  }
  return count;
}

bool CellSet::operator==(const CellSet& other) const {
  return std::equal(rows_.begin(), rows_.end(), other.rows_.begin(), other.rows_.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && (a.second == b.second || *a.second == *b.second);
                    });
}

std::string row_text(int row, const std::vector<Span>& spans) {
  std::string text = std::to_string(row) + ":";
  for (const Span& span : spans) {
    text += (&span == spans.data() ? " " : ", ") + std::to_string(span.first);
    if (span.last > span.first) text += "-" + std::to_string(span.last);
  }
  return text;
}

void read_row(std::string_view text, int limit, CellSet& into) {
  std::string_view rest = text;
  const auto fail = [&] {
    throw UsageError("expected a query and its keys as \"3: 1-11, 14\", positions from 0 to " +
                     std::to_string(limit - 1) + "; got \"" + std::string(text.substr(0, 60)) +
                     "\"");
  };
  const auto skip = [&](std::string_view mark) {
    const bool is = rest.starts_with(mark);
    if (is) rest.remove_prefix(mark.size());
    while (is && rest.starts_with(' ')) rest.remove_prefix(1);
    return is;
  };
  const auto number = [&] {
    int value = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value < 0 || value >= limit) fail();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
  };
  const int row = number();
  if (!skip(":")) fail();
  std::vector<Span> spans = into.row(row);
  do {
    const int first = number();
    const int last = skip("-") ? number() : first;
    if (last < first) fail();
    spans.push_back({first, last});
  } while (skip(","));
  if (!rest.empty()) fail();
  into.set_row(row, std::move(spans));
}

}  // namespace headlight
