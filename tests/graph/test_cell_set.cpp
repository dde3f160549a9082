// CellSet: sets of cells as stretches, against a plain set of pairs.
#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/graph/cell_set.h"
#include "core/graph/config.h"

namespace headlight::test_cell_set {
namespace {

using Pairs = std::set<std::pair<int, int>>;

void check_same(const CellSet& cells, const Pairs& pairs, int size) {
  CHECK(cells.size() == static_cast<std::int64_t>(pairs.size()));
  CHECK(cells.empty() == pairs.empty());
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) CHECK(cells.contains(i, j) == pairs.contains({i, j}));
    const std::vector<Span>& spans = cells.row(i);
    for (std::size_t s = 0; s < spans.size(); ++s) {
      CHECK(spans[s].first <= spans[s].last);
      if (s > 0) CHECK(spans[s].first > spans[s - 1].last + 1);  // apart, else they were one
    }
  }
}

}  // namespace

TEST_CASE("cell set: painting and taking away, against a set of pairs") {
  constexpr int kSize = 9;
  CellSet cells;
  Pairs pairs;
  for (std::uint64_t step = 0; step < 400; ++step) {
    const auto draw = [&](std::uint64_t salt) {
      return static_cast<int>(scatter(step * 7 + salt) % kSize);
    };
    const int row = draw(1) % 3, first = draw(2), last = draw(3);
    const bool in = scatter(step + 99) % 2 == 0;
    cells.set(row, {first, last}, in);
    for (int j = first; j <= last; ++j) {
      if (in) {
        pairs.insert({row, j});
      } else {
        pairs.erase({row, j});
      }
    }
    check_same(cells, pairs, kSize);
  }
}

TEST_CASE("cell set: equal however it came about, and copies do not follow") {
  CellSet a, b;
  a.set(2, {0, 5}, true);
  for (const int j : {5, 0, 3, 1, 4, 2}) b.insert(2, j);
  CHECK(a == b);
  const CellSet copy = a;
  a.set(2, {3, 3}, false);
  CHECK_FALSE(a == copy);
  CHECK(copy == b);
  a.set(2, {0, 9}, false);
  CHECK(a == CellSet{});
  CHECK(a.rows().empty());
  CellSet c;
  c.set_row(1, {{7, 8}, {0, 2}, {3, 3}, {9, 4}, {8, 9}});
  CHECK(c.row(1) == std::vector<Span>{{0, 3}, {7, 9}});
}

TEST_CASE("cell set: a row as text and back") {
  CellSet cells{{3, 1}, {3, 2}, {3, 14}};
  CHECK(row_text(3, cells.row(3)) == "3: 1-2, 14");
  CellSet read;
  read_row("3: 1-2, 14", 100, read);
  CHECK(read == cells);
  read_row("3:14,1-2,2", 100, read);  // again, less tidy
  CHECK(read == cells);
  for (const char* wrong : {"", "3", "3:", "3: ", "x: 1", "3: 1-", "3: 4-2", "3: 1,", "3: 1 2",
                            "-1: 1", "3: 100", "100: 3", "3: 99999999999", "3: 1-2 x", "3; 1"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(read_row(wrong, 100, read), UsageError);
  }
}

TEST_CASE("mask: what each kind forbids as stretches is what it forbids cell by cell") {
  constexpr int kTokens = 13;
  MaskSpec mask;
  mask.padding = {0, 1, 4, 12};
  mask.forbidden = {{0, 0}, {3, 2}, {3, 3}, {3, 9}, {12, 12}, {40, 2}, {2, 40}};
  for (const auto& kind : choices(MaskKind{})) {
    for (const std::optional<bool> causal : {std::optional<bool>(), {true}, {false}}) {
      mask.kind = kind.value;
      mask.causal = causal;
      CAPTURE(kind.word);
      CAPTURE(mask.is_causal());
      const MaskSpec painted = as_free(mask, kTokens);
      CHECK(painted.kind == MaskKind::kFree);
      CHECK_FALSE(painted.is_causal());
      for (int i = 0; i < kTokens; ++i) {
        CellSet row;
        for (const Span& span : forbidden_keys(mask, i, kTokens)) row.set(i, span, true);
        for (int j = 0; j < kTokens; ++j) {
          CHECK(row.contains(i, j) == !mask.allows(i, j));
          CHECK(painted.allows(i, j) == mask.allows(i, j));
        }
      }
    }
  }
}

}  // namespace headlight::test_cell_set
