// Rows of a density over an even grid from −1 to 1.
#pragma once

#include <cstdint>
#include <span>

namespace headlight::kernels {

/// One component: its logarithm at v is level − ((v − mean) · inverse)² / 2.
struct Bell {
  float mean, inverse, level;
};

struct BellRow {
  const Bell* bells;
  std::int64_t count;
};

/// y[j] = log Σ_k exp(the logarithm of bell k at number j of n)
void log_density(BellRow, std::int64_t n, float* y);

/// Σ_j d[j] p[j], Σ_j d[j] p[j] z[j] and Σ_j d[j] p[j] (z[j]² − 1), where z is the distance from
/// the mean in spreads and p the bell's share of the density whose logarithm is `y`; 1 without `y`.
struct BellSums {
  double plain = 0, first = 0, second = 0;
};
BellSums bell_sums(const Bell&, const float* y, const float* d, std::int64_t n);

}  // namespace headlight::kernels
