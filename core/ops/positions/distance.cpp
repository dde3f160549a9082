#include "core/ops/positions/distance.h"

#include <bit>
#include <cmath>

namespace headlight {

double alibi_slope(std::int64_t head, std::int64_t heads) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  const double step = 8.0 / static_cast<double>(power);
  if (head < power) return std::exp2(-step * static_cast<double>(head + 1));
  return std::exp2(-step / 2 * static_cast<double>(2 * (head - power) + 1));
}

std::int64_t distance_bucket(std::int64_t distance, std::int64_t buckets, const OpParams& params) {
  const BucketSizes size(buckets, params.causal);
  const bool behind = distance < 0;
  const std::int64_t first = behind && !params.causal ? std::min(size.count, buckets - 1) : 0;
  const std::int64_t n = behind ? (params.causal ? 0 : -distance) : distance;
  if (n < size.exact || size.exact == 0) return first + (size.exact == 0 ? 0 : n);
  std::int64_t far = size.count - 1;
  if (n < params.reach) {
    // The least surplus keeps a distance that begins a bucket from falling short of it.
    const double exact = static_cast<double>(size.exact);
    const double part = std::log(static_cast<double>(n) / exact) /
                        std::log(static_cast<double>(params.reach) / exact);
    far =
        std::min(far, size.exact + static_cast<std::int64_t>(
                                       part * static_cast<double>(size.count - size.exact) + 1e-9));
  }
  return first + far;
}

std::string distance_code(const CodeArgs& c, const TensorView& scores, bool torch) {
  const std::string library = torch ? "torch" : "np";
  const std::int64_t offset = c.args.params.offset;
  return "distance = " + library + ".arange(" + code_size(scores, 2) + ")[:, None]" +
         (offset == 0 ? "" : " + " + std::to_string(offset)) + " - " + library + ".arange(" +
         code_size(scores, 1) + ")[None, :]  # query minus key\n";
}

}  // namespace headlight
