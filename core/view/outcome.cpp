#include "core/view/outcome.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/number_text.h"

namespace headlight {

Outcome outcome_of(const Trace* trace, std::optional<std::int64_t> asked) {
  Outcome out;
  if (!trace || trace->length() == 0) return out;
  out.tensor = trace->program().probabilities;
  const TensorView probs = trace->tensor(out.tensor);
  out.classes = probs.find_dim("class") >= 0;
  const std::int64_t width = probs.axes.back().size;
  out.position = probs.size() / width - 1;
  const std::vector<int>& masked = trace->input().masked;
  out.hidden = !masked.empty() && !out.classes;
  if (out.hidden) {
    const bool found = asked && std::ranges::binary_search(masked, static_cast<int>(*asked));
    out.position = found ? *asked : masked.front();
  }
  out.probabilities = {probs.data + out.position * width, static_cast<std::size_t>(width)};
  return out;
}

std::vector<int> most_probable(std::span<const float> probabilities, std::size_t count) {
  std::vector<int> ids(probabilities.size());
  std::iota(ids.begin(), ids.end(), 0);
  count = std::min(count, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    [&](int a, int b) {
                      const float x = probabilities[static_cast<std::size_t>(a)];
                      const float y = probabilities[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  ids.resize(count);
  return ids;
}

std::string share_text(double p) {
  if (!(p >= 0 && p <= 1)) return number_text(p);  // NaN
  if (p > 0 && p < 0.0005) return "<0.001";
  if (p >= 0.9995) return p < 1 ? ">0.999" : "1.000";
  const std::string digits = std::to_string(std::lround(p * 1000));
  return "0." + std::string(3 - digits.size(), '0') + digits;
}

}  // namespace headlight
