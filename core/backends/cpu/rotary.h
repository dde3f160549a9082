// The angles of rotary positions: made once, and kept for the runs that follow.
#pragma once

#include <vector>

#include "core/backends/cpu/kernels.h"
#include "core/base/tensor.h"
#include "core/ops/op.h"

namespace headlight::cpu {

class RotaryAngles {
 public:
  /// For rows of d_head cells at up to so many positions. Allocates only for what is new; what it
  /// gave before stays as it is as long as no longer row of tokens is asked for.
  kernels::Rotary of(const OpParams&, std::int64_t positions, std::int64_t d_head);

 private:
  struct Table {
    std::int64_t pairs = 0, positions = 0;
    double base = 0;
    RotaryStretch stretch;
    FloatBuffer cosine, sine;  // (positions, pairs)
  };
  std::vector<Table> tables_;
};

}  // namespace headlight::cpu
