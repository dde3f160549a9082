#include "tests/bench/multiply_add_peak.h"

#include "core/backends/cpu/simd.h"

namespace headlight {
namespace {

using simd::kWidth;
using simd::Packet;

// As many sums as registers hold beside the two factors: more than the units need to be busy all
// the time (latency times multiply-adds a cycle, 8 to 10).
constexpr int kSums = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32 ? 24 : 12;
constexpr std::int64_t kRounds = 2'000'000;
constexpr double kFlopsOfThread = 2.0 * kSums * kWidth * kRounds;

float multiply_add(float start) {
  using simd::packet::padd;
  using simd::packet::pmadd;
  using simd::packet::pset1;
  // x · 0.5 + 1 stays near 2, whatever it starts from: neither infinite nor denormal.
  const Packet half = pset1<Packet>(0.5f), one = pset1<Packet>(1.0f);
  Packet sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = pset1<Packet>(start + static_cast<float>(i));
  for (std::int64_t round = 0; round < kRounds; ++round) {
#if defined(__clang__)
#pragma unroll
#else
#pragma GCC unroll 24
#endif
    for (int i = 0; i < kSums; ++i) sums[i] = pmadd(sums[i], half, one);
  }
  Packet all = sums[0];
  for (int i = 1; i < kSums; ++i) all = padd(all, sums[i]);
  return simd::packet::predux(all);
}

}  // namespace

MultiplyAddPeak::MultiplyAddPeak(int threads)
    : pool_(threads), sums_(static_cast<std::size_t>(threads)) {}

double MultiplyAddPeak::flops() const { return kFlopsOfThread * pool_.threads(); }

void MultiplyAddPeak::run() {
  pool_.parallel_for(pool_.threads(), [&](std::int64_t part, int) {
    float& sum = sums_[static_cast<std::size_t>(part)];
    sum = multiply_add(sum);
  });
}

}  // namespace headlight
