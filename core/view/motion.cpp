#include "core/view/motion.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr std::size_t kPhases = static_cast<std::size_t>(MotionPhase::kDone);
// More cells than this cannot be followed one by one.
constexpr std::int64_t kRowByRow = 400;

// Seconds of each phase.
std::array<double, kPhases> durations(const MotionSize& size) {
  const auto terms = static_cast<double>(size.terms), cells = static_cast<double>(size.cells());
  std::array<double, kPhases> d{};
  const auto at = [&](MotionPhase p) -> double& { return d[static_cast<std::size_t>(p)]; };
  at(MotionPhase::kWords) = 1.0;
  at(MotionPhase::kLook) = size.terms > 0 ? 0.7 : 0;
  at(MotionPhase::kTerms) = std::min(0.4 * terms, 2.6);
  at(MotionPhase::kSum) = size.terms > 1 ? std::min(0.3 * terms, 1.8) : 0;
  at(MotionPhase::kFill) = size.cells() > 0 ? 0.4 : 0;
  at(MotionPhase::kRest) = std::clamp(0.35 * (cells - 1), 0.0, 4.0);
  return d;
}

// How many of `count` there are after this part of a time; all of them at its end.
std::int64_t come(std::int64_t count, double part, double power) {
  const double share = std::pow(std::clamp(part, 0.0, 1.0), power);
  return std::min(count, static_cast<std::int64_t>(std::floor(static_cast<double>(count) * share)));
}

// Cells and rows during kRest, the first cell included.
void make_rest(const MotionSize& size, Motion& m) {
  const auto share = [&](std::int64_t count, double part, double power) {
    return static_cast<double>(count) * std::pow(part, power);
  };
  constexpr double kFirstRow = 0.25;
  const auto columns = static_cast<double>(size.columns);
  const bool by_rows = size.cells() > kRowByRow && size.rows > 1 && size.columns > 1;
  const bool rows = by_rows && m.part >= kFirstRow;
  const double one_by_one = by_rows ? 1 + share(size.columns - 1, m.part / kFirstRow, 2)
                                    : 1 + share(size.cells() - 1, m.part, 2);
  m.rows_done = rows ? 1 + share(size.rows - 1, (m.part - kFirstRow) / (1 - kFirstRow), 1.5)
                     : one_by_one / columns;
  const double cells = rows ? columns * std::floor(m.rows_done) : one_by_one;
  m.cells_done = std::min(size.cells(), static_cast<std::int64_t>(std::floor(cells)));
}

}  // namespace

double motion_begin(const MotionSize& size, MotionPhase phase) {
  const auto d = durations(size);
  double begin = 0;
  for (std::size_t p = 0; p < static_cast<std::size_t>(phase); ++p) begin += d[p];
  return begin;
}

double motion_length(const MotionSize& size) { return motion_begin(size, MotionPhase::kDone); }

Motion motion_at(const MotionSize& size, double seconds) {
  const auto d = durations(size);
  std::size_t p = 0;
  double begin = 0;  // summed as motion_length() does, so that the end is the end
  while (p < kPhases && seconds >= begin + d[p]) begin += d[p++];
  Motion m;
  m.phase = static_cast<MotionPhase>(p);
  m.part = p < kPhases ? std::max(seconds - begin, 0.0) / d[p] : 1;
  const auto after = [&](MotionPhase phase) { return m.phase > phase; };
  if (after(MotionPhase::kTerms)) {
    m.terms_shown = size.terms;
  } else if (m.phase == MotionPhase::kTerms) {
    m.terms_shown = 1 + come(size.terms - 1, m.part, 1.5);
  }
  if (after(MotionPhase::kSum)) {
    m.terms_summed = size.terms;
  } else if (m.phase == MotionPhase::kSum) {
    m.terms_summed = 1 + come(size.terms - 1, m.part, 1.2);
  }
  if (after(MotionPhase::kRest)) {
    m.cells_done = size.cells();
    m.rows_done = static_cast<double>(size.rows);
  } else if (m.phase == MotionPhase::kRest) {
    make_rest(size, m);
  }
  const std::int64_t now = std::min(m.cells_done, std::max<std::int64_t>(size.cells() - 1, 0));
  m.row = now / std::max<std::int64_t>(size.columns, 1);
  m.column = now % std::max<std::int64_t>(size.columns, 1);
  return m;
}

double Telling::amount(std::size_t i) const {
  const Term& term = cell.terms[lines[i]];
  return exponentials ? term.inner.value_or(0) : term.product();
}

double Telling::running(std::size_t n) const {
  double total = 0;
  for (std::size_t i = 0; i < std::min(n, lines.size()); ++i) total += amount(i);
  return total;
}

std::string Telling::running_text(std::size_t n) const {
  const bool whole = n >= lines.size() && !exponentials;
  return number_text(whole ? cell.value : running(n));
}

Telling tell_cell(const Trace& trace, const StepPage& page, std::int64_t row, std::int64_t column) {
  if (page.lines.empty()) throw UsageError("the tokens are given; no arithmetic makes them");
  const PagePane& result = page.lines[0].back();
  const TensorView t = trace.tensor(result.tensor);
  Telling telling;
  telling.cell =
      explain(trace, result.tensor, unravel(t.axes, pane_flat(result.pane, row, column)));
  const std::vector<Term>& terms = telling.cell.terms;
  for (const Term& term : terms) telling.exponentials |= term.inner.has_value();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    // Beside the exponentials a softmax may have a constant term, which is no part of the row sum.
    if (!telling.exponentials || terms[i].inner) telling.lines.push_back(i);
  }
  return telling;
}

MotionSize motion_size(const Trace& trace, const StepPage& page) {
  if (page.lines.empty()) return {page.tokens, 1, 0};
  const Pane& result = page.lines[0].back().pane;
  MotionSize size{result.rows, result.columns, 0};
  if (page.backward) return size;  // what comes back fills as one picture
  if (size.cells() > 0) {
    size.terms = static_cast<std::int64_t>(tell_cell(trace, page, 0, 0).lines.size());
  }
  return size;
}

}  // namespace headlight
