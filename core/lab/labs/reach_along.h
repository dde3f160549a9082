// Lengths and angles of vectors: what their products are made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/tensor.h"

namespace headlight {

/// A word's length, and how far the vector of another reaches along it: its length times the cosine
/// of the angle between. A word sees itself most unless another one reaches farther.
struct ReachAlong {
  std::vector<double> lengths, others;
  std::vector<float> cosines;  // (word, word)
};

inline ReachAlong reach_along(const Tensor& x) {
  const auto n = static_cast<std::size_t>(x.axes[0].size),
             width = static_cast<std::size_t>(x.axes[1].size);
  ReachAlong r;
  const auto product = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t f = 0; f < width; ++f)
      sum +=
          static_cast<double>(x.data[i * width + f]) * static_cast<double>(x.data[j * width + f]);
    return sum;
  };
  for (std::size_t i = 0; i < n; ++i) r.lengths.push_back(std::sqrt(product(i, i)));
  for (std::size_t i = 0; i < n; ++i) {
    double farthest = -INFINITY;
    for (std::size_t j = 0; j < n; ++j) {
      const double cosine = product(i, j) / std::max(r.lengths[i] * r.lengths[j], 1e-30);
      r.cosines.push_back(static_cast<float>(cosine));
      if (j != i) farthest = std::max(farthest, r.lengths[j] * cosine);
    }
    r.others.push_back(n > 1 ? farthest : 0);
  }
  return r;
}

}  // namespace headlight
