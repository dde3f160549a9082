// How far a layer's rows hear of each other, from the config alone: the window of a convolution,
// and the number of steps on the way from one token to another.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/config.h"

namespace headlight {

/// From one place of the window to the next in this layer: dilation^layer; where that is beyond any
/// text, a number that is.
std::int64_t layer_dilation(const Config&, int layer);

/// The rows to the left and to the right of a row that it can hear of, after so many layers of
/// convolution, the first ones.
struct ReceptiveField {
  std::int64_t left = 0, right = 0;
  std::int64_t width() const { return left + 1 + right; }
  bool operator==(const ReceptiveField&) const = default;
};
ReceptiveField receptive_field(const Config&, int layers);

/// Operations one after the other that a number of token j passes through within the layers' mixers
/// to reach token i: 1 through attention, |i − j| through a recurrent layer (at least 1), as many
/// layers as it takes through convolutions or through a mask that does not show j directly. Nothing
/// where the layers' mixers do not lead there in a text of `tokens` tokens.
std::optional<std::int64_t> path_length(const Config&, std::int64_t tokens, std::int64_t i,
                                        std::int64_t j);

/// Steps of a layer that must follow each other over a text of T tokens: T of a recurrent layer, 1
/// of the others.
std::int64_t sequential_steps(const Config&, std::int64_t tokens);

}  // namespace headlight
