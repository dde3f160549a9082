// Rows of the task of sorting, and what a model says of them: with the right row before each
// number, as in training (teacher forcing), and behind what it wrote itself (free running).
#pragma once

#include <vector>

#include "core/lab/lab_training.h"

namespace headlight {

struct SortRows {
  std::size_t length = 0;              // numbers of a row
  std::vector<std::vector<int>> read;  // the numbers, [SEP], all but the last of the sorted ones
  std::vector<float> given, right;     // (rows, length)
};
/// The same ones each time.
SortRows draw_sort_rows(const Task&, std::size_t length, std::size_t count);

struct SaidSorted {
  std::vector<float> forced, alone;  // (rows, length)
  double share_forced = 0, share_alone = 0;
};
SaidSorted say_sorted(const std::shared_ptr<const Model>&, const SortRows&);

/// The share of equal ones.
double share_equal(std::span<const float>, std::span<const float>);

}  // namespace headlight
