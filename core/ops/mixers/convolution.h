// Where the places of a convolution's window lie.
#pragma once

#include "core/ops/op.h"

namespace headlight {

/// From the row that is made to the row that place `tap` of the window reads: negative, to the
/// left.
inline std::int64_t window_shift(std::int64_t tap, std::int64_t kernel, const OpParams& params) {
  if (params.causal) return (tap - kernel + 1) * params.dilation;
  return tap * params.dilation - params.dilation * (kernel - 1) / 2;
}

}  // namespace headlight
