#include "core/lab/parts/sort_rows.h"

namespace headlight {

SortRows draw_sort_rows(const Task& task, std::size_t length, std::size_t count) {
  SortRows rows;
  rows.length = length;
  Random random(99);
  const auto numbers = static_cast<std::ptrdiff_t>(length);
  for (std::size_t i = 0; i < count; ++i) {
    const TaskExample example = task.draw(random);
    rows.read.push_back(example.tokens);
    const auto add = [](auto first, auto last, std::vector<float>& to) {
      for (; first != last; ++first) to.push_back(static_cast<float>(*first));
    };
    add(example.tokens.begin(), example.tokens.begin() + numbers, rows.given);
    add(example.targets.end() - numbers, example.targets.end(), rows.right);
  }
  return rows;
}

double share_equal(std::span<const float> a, std::span<const float> b) {
  double same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i];
  return same / static_cast<double>(a.size());
}

SaidSorted say_sorted(const std::shared_ptr<const Model>& model, const SortRows& rows) {
  Predictor predictor(model, kLabThreads);
  SaidSorted said;
  const std::vector<int> forced = likeliest(predictor, rows.read, rows.length);
  said.forced.assign(forced.begin(), forced.end());
  std::vector<std::vector<int>> own = rows.read;
  for (auto& row : own) row.resize(rows.length + 1);
  for (std::size_t i = 0; i < rows.length; ++i) {
    const std::vector<int> next = likeliest(predictor, own, own[0].size() - 1);
    for (std::size_t r = 0; r < own.size(); ++r) own[r].push_back(next[r]);
  }
  for (const auto& row : own)
    said.alone.insert(said.alone.end(), row.end() - static_cast<std::ptrdiff_t>(rows.length),
                      row.end());
  said.share_forced = share_equal(said.forced, rows.right);
  said.share_alone = share_equal(said.alone, rows.right);
  return said;
}

}  // namespace headlight
