#include "core/backends/cpu/rotary.h"

#include <algorithm>
#include <cmath>

namespace headlight::cpu {

kernels::Rotary RotaryAngles::of(const OpParams& params, std::int64_t positions,
                                 std::int64_t d_head) {
  const std::int64_t pairs = (params.turned == 0 ? d_head : params.turned) / 2;
  auto found = std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) {
    return t.pairs == pairs && t.base == params.base && t.stretch == params.stretch;
  });
  if (found == tables_.end())
    found = tables_.insert(found, Table{pairs, 0, params.base, params.stretch, {}, {}});
  if (found->positions < positions) {
    found->positions = positions;
    found->cosine.resize(static_cast<std::size_t>(positions * pairs));
    found->sine.resize(static_cast<std::size_t>(positions * pairs));
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double turn = rotary_rate(params.base, params.stretch, i, pairs);
      for (std::int64_t p = 0; p < positions; ++p) {
        const double angle = static_cast<double>(p) * turn;
        found->cosine[static_cast<std::size_t>(p * pairs + i)] =
            static_cast<float>(std::cos(angle));
        found->sine[static_cast<std::size_t>(p * pairs + i)] = static_cast<float>(std::sin(angle));
      }
    }
  }
  return {.cosine = found->cosine.data(),
          .sine = found->sine.data(),
          .pairs = pairs,
          .width = d_head,
          .interleaved = params.interleaved};
}

}  // namespace headlight::cpu
