#include "core/backends/cpu/numbers/kernels_density.h"

#include "core/backends/cpu/simd.h"

namespace headlight::kernels {
namespace {

using simd::all, simd::load, simd::Packet, simd::packet::padd, simd::packet::pmadd,
    simd::packet::pmul, simd::packet::psub;

// The grid's numbers from place i on.
Packet grid_at(std::int64_t i, float step) {
  return pmadd(simd::packet::plset<Packet>(static_cast<float>(i)), all(step), all(-1.0f));
}

float step_of(std::int64_t n) {
  return static_cast<float>(2.0 / static_cast<double>(std::max<std::int64_t>(n - 1, 1)));
}

Packet distance(const Bell& bell, Packet v) {
  return pmul(psub(v, all(bell.mean)), all(bell.inverse));
}

Packet logarithm(const Bell& bell, Packet z) {
  return pmadd(pmul(z, z), all(-0.5f), all(bell.level));
}

}  // namespace

void log_density(BellRow row, std::int64_t n, float* y) {
  const float step = step_of(n);
  simd::for_packets(n, [&](std::int64_t i, auto extent) {
    const Packet v = grid_at(i, step);
    Packet most = logarithm(row.bells[0], distance(row.bells[0], v));
    if (row.count == 1) return simd::store(y + i, most, extent);
    for (std::int64_t k = 1; k < row.count; ++k)
      most = simd::packet::pmax(most, logarithm(row.bells[k], distance(row.bells[k], v)));
    Packet sum = all(0.0f);
    for (std::int64_t k = 0; k < row.count; ++k)
      sum = padd(sum, simd::exp(psub(logarithm(row.bells[k], distance(row.bells[k], v)), most)));
    simd::store(y + i, padd(most, simd::packet::plog(sum)), extent);
  });
}

BellSums bell_sums(const Bell& bell, const float* y, const float* d, std::int64_t n) {
  const float step = step_of(n);
  BellSums sums;
  for (std::int64_t begin = 0; begin < n; begin += simd::kStretch) {
    Packet plain = all(0.0f), first = all(0.0f), second = all(0.0f);
    simd::for_packets(std::min(simd::kStretch, n - begin), [&](std::int64_t i, auto extent) {
      const Packet z = distance(bell, grid_at(begin + i, step));
      Packet weight = load(d + begin + i, extent);
      if (y)
        weight =
            pmul(weight, simd::exp(psub(logarithm(bell, z), load(y + begin + i, extent, 1e9f))));
      plain = padd(plain, weight);
      first = pmadd(weight, z, first);
      second = pmadd(weight, psub(pmul(z, z), all(1.0f)), second);
    });
    sums.plain += static_cast<double>(simd::packet::predux(plain));
    sums.first += static_cast<double>(simd::packet::predux(first));
    sums.second += static_cast<double>(simd::packet::predux(second));
  }
  return sums;
}

}  // namespace headlight::kernels
