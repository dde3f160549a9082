// Motion: how far a step's result has been made when its clock says so many seconds. A pure
// function of sizes and time, so that an animation can be scrubbed, tested and drawn again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/explain/explain.h"
#include "core/view/pane_layout.h"

namespace headlight {

/// What the length and the course of a step's motion depend on.
struct MotionSize {
  std::int64_t rows = 0, columns = 0;  // of the result
  std::int64_t terms = 0;              // of the result's first cell
  std::int64_t cells() const { return rows * columns; }
  bool operator==(const MotionSize&) const = default;
};

/// In the order in which they follow each other. The first five make the first cell.
enum class MotionPhase {
  kWords,  // the text is read, the result is still empty
  kLook,   // row and column of the first cell light up
  kTerms,  // its terms appear one by one
  kSum,    // they are added up
  kFill,   // the cell takes its colour
  kRest,   // all other cells, faster and faster; those of large matrices row by row
  kDone,
};

struct Motion {
  MotionPhase phase = MotionPhase::kDone;
  double part = 1;                // how much of the phase has gone by, 0 to 1
  std::int64_t terms_shown = 0;   // of the first cell
  std::int64_t terms_summed = 0;  // in the running sum
  std::int64_t cells_done = 0;    // finished cells, row after row
  double rows_done = 0;           // the same in rows, with what there is of the one in the making
  std::int64_t row = 0, column = 0;  // the cell in the making, the last one when all are done
  bool operator==(const Motion&) const = default;
};

/// How long the whole motion takes, in seconds at speed 1: 12 at most, however large the result.
double motion_length(const MotionSize&);
/// How long a finished step is held before a film goes on to the next.
constexpr double kMotionHold = 1.0;
/// The state at `seconds`; before 0 as at 0, after the length as at the end.
Motion motion_at(const MotionSize&, double seconds);
/// When this phase begins.
double motion_begin(const MotionSize&, MotionPhase);

/// The first cell's arithmetic as it is told: one line for each term that adds to the running sum.
/// Most cells are the sum of their terms. A softmax adds up exponentials and divides one by the
/// sum.
struct Telling {
  Explanation cell;
  std::vector<std::size_t> lines;  // places in cell.terms, in their order
  bool exponentials = false;
  /// What line `i` adds: value × factor, or the exponential.
  double amount(std::size_t i) const;
  /// The sum of the first `n` lines.
  double running(std::size_t n) const;
  /// The running sum as it is written. The sum of all terms is written as the cell's own number.
  std::string running_text(std::size_t n) const;
};

/// How the cell at (row, column) of the page's first result came about. Throws UsageError for the
/// tokens' page, which has no result.
Telling tell_cell(const Trace&, const StepPage&, std::int64_t row, std::int64_t column);

/// The tokens' page is one column of tokens without terms.
MotionSize motion_size(const Trace&, const StepPage&);

}  // namespace headlight
