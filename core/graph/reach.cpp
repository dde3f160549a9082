#include "core/graph/reach.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/ops/mixers/convolution.h"

namespace headlight {
namespace {

bool is_recurrent(const Config& c) {
  return c.mixer == MixerKind::kRecurrent || c.mixer == MixerKind::kGru;
}

OpParams window_params(const Config& c, int layer) {
  OpParams params;
  params.causal = c.mask.is_causal();
  params.dilation = layer_dilation(c, layer);
  return params;
}

// Which rows the mixer of a layer reads for row i.
template <class F>
void for_rows_read(const Config& c, int layer, std::int64_t tokens, std::int64_t i, F&& f) {
  if (c.attends()) {
    const bool local = c.is_local(layer);
    for (std::int64_t j = 0; j < tokens; ++j) {
      if (local && i - j >= c.local_window) continue;
      if (c.mask.allows(static_cast<int>(i), static_cast<int>(j))) f(j);
    }
    return;
  }
  if (!c.mixes()) return f(i);
  const OpParams params = window_params(c, layer);
  for (std::int64_t tap = 0; tap < c.kernel; ++tap) {
    const std::int64_t j = i + window_shift(tap, c.kernel, params);
    if (j >= 0 && j < tokens) f(j);
  }
}

// Layers until row i hears of row j, counted from the last one downwards: each adds what it reads.
std::optional<std::int64_t> layers_between(const Config& c, std::int64_t tokens, std::int64_t i,
                                           std::int64_t j) {
  // The fewest layers that read on the way; a layer that is passed by the residual stream alone
  // does not count.
  constexpr int kNever = -1;
  std::vector<int> fewest(static_cast<std::size_t>(tokens), kNever);
  fewest[static_cast<std::size_t>(i)] = 0;
  for (int layer = c.layers - 1; layer >= 0; --layer) {
    std::vector<int> next(fewest.size(), kNever);
    if (c.residual) next = fewest;
    for (std::int64_t row = 0; row < tokens; ++row) {
      const int so_far = fewest[static_cast<std::size_t>(row)];
      if (so_far == kNever) continue;
      for_rows_read(c, layer, tokens, row, [&](std::int64_t read) {
        int& best = next[static_cast<std::size_t>(read)];
        if (best == kNever || so_far + 1 < best) best = so_far + 1;
      });
    }
    fewest = std::move(next);
  }
  const int found = fewest[static_cast<std::size_t>(j)];
  if (found == kNever) return std::nullopt;
  return std::max(found, 1);  // of a row to itself: the residual stream alone
}

}  // namespace

std::int64_t layer_dilation(const Config& c, int layer) {
  std::int64_t dilation = 1;
  for (int l = 0; l < layer && dilation <= kLargestMaxTokens; ++l) dilation *= c.dilation;
  return dilation;
}

ReceptiveField receptive_field(const Config& c, int layers) {
  ReceptiveField field;
  if (!c.mixes()) return field;
  for (int layer = 0; layer < layers; ++layer) {
    const OpParams params = window_params(c, layer);
    field.left += std::max<std::int64_t>(0, -window_shift(0, c.kernel, params));
    field.right += std::max<std::int64_t>(0, window_shift(c.kernel - 1, c.kernel, params));
  }
  return field;
}

std::optional<std::int64_t> path_length(const Config& c, std::int64_t tokens, std::int64_t i,
                                        std::int64_t j) {
  if (c.layers < 1 || i < 0 || j < 0 || i >= tokens || j >= tokens) return std::nullopt;
  if (!is_recurrent(c)) return layers_between(c, tokens, i, j);
  if (j > i && c.mask.is_causal()) return std::nullopt;
  return std::max<std::int64_t>(1, std::abs(i - j));
}

std::int64_t sequential_steps(const Config& c, std::int64_t tokens) {
  return is_recurrent(c) ? tokens : 1;
}

}  // namespace headlight
