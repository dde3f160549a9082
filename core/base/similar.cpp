#include "core/base/similar.h"

#include <algorithm>
#include <vector>

namespace headlight {
namespace {

// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row[b.size()];
}

}  // namespace

Message did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > 200) return {};  // not a slip of the finger
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance <= std::max<std::size_t>(2, name.size() / 3))
      near.emplace_back(distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.empty()) return {};
  const MessageSlot first{"name", std::string(near[0].second)};
  if (near.size() == 1) return Message{"similar.name", {first}};
  return Message{"similar.names", {first, {"other", std::string(near[1].second)}}};
}

}  // namespace headlight
