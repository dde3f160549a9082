// Operations on cells and rows. Sums run in packets of floats over short stretches, and stretches
// are added in double: nearly as exact as the reference, at the speed of packets.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/simd.h"

namespace headlight::kernels {
namespace {

using namespace simd;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A number as the sum of two floats.
struct Factor {
  explicit Factor(double f)
      : high(static_cast<float>(f)), low(static_cast<float>(f - static_cast<double>(high))) {}
  float high, low;
};

// (x + low) · factor, and in `low` what its rounding lost. Far below 0, where exp gives 0, nothing
// is kept: −∞ would make a NaN of it.
inline Packet times(Packet x, const Factor& factor, Packet& low) {
  const Packet product = pmul(x, all(factor.high));
  Packet lost = pmadd(x, all(factor.low), pmul(low, all(factor.high)));
#ifdef EIGEN_VECTORIZE_FMA
  lost = padd(lost, pmadd(x, all(factor.high), packet::pnegate(product)));
#endif
  low = packet::pselect(packet::pcmp_lt(product, all(-100.0f)), all(0.0f), lost);
  return product;
}

}  // namespace

void mask(const float* x, const float* mask, float* y, std::int64_t n) {
  for_packets(n, [&](std::int64_t i, auto extent) {
    const Packet allowed = packet::pcmp_eq(load(mask + i, extent), all(0.0f));
    store(y + i, packet::pselect(allowed, load(x + i, extent), all(-kInfinity)), extent);
  });
}

void relu(const float* x, float* y, std::int64_t n) {
  // A product with a gate, as the reference has it: NaN stays NaN, where a maximum would hide it.
  for_packets(n, [&](std::int64_t i, auto extent) {
    const Packet cells = load(x + i, extent);
    const Packet positive = packet::pcmp_lt(all(0.0f), cells);
    store(y + i, pmul(cells, packet::pselect(positive, all(1.0f), all(0.0f))), extent);
  });
}

void tanh(const float* x, float limit, float* y, std::int64_t n) {
  for_packets(n, [&](std::int64_t i, auto extent) {
    const Packet cells = pmul(load(x + i, extent), all(1 / limit));
    store(y + i, pmul(whole_tanh(cells), all(limit)), extent);
  });
}

void softmax_row(const float* x, double temperature, float* y, std::int64_t n) {
  const float max = row_maximum(x, n);
  if (max == -kInfinity) {
    // Nothing is allowed; but a NaN among the forbidden must not read as 0.
    const bool nan = std::any_of(x, x + n, [](float v) { return std::isnan(v); });
    std::fill(y, y + n, nan ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
    return;
  }
  const Factor factor(1 / temperature);
  const double sum = sum_row(n, [&](std::int64_t i, auto extent) {
    Packet low;
    Packet d = exact_difference(load(x + i, extent, -kInfinity), all(max), low);
    if (temperature != 1) d = times(d, factor, low);
    const Packet weight = simd::exp(d, low);
    store(y + i, weight, extent);
    return weight;
  });
  if (std::isnan(sum) || max == kInfinity) {
    std::fill(y, y + n, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  scale(y, static_cast<float>(1.0 / sum), y, n);
}

// The angle of a pair of features grows by the same step from position to position, so each row is
// the row before it turned by that step. In double a turn loses about 1e-16.
void sinusoid_rows(std::int64_t first, std::int64_t rows, const Waves& waves, float* y) {
  constexpr std::int64_t kPairs = 32;
  double sine[kPairs], cosine[kPairs], step_sine[kPairs], step_cosine[kPairs];
  const std::int64_t width = waves.width, pairs = (width + 1) / 2;
  const std::int64_t step = waves.halves ? 1 : 2, cosines = waves.halves ? pairs : 1;
  const double slowest = static_cast<double>(std::max<std::int64_t>(1, pairs - 1));
  for (std::int64_t begin = 0; begin < pairs; begin += kPairs) {
    const std::int64_t count = std::min(kPairs, pairs - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto pair = static_cast<double>(begin + i);
      const double exponent = waves.to_end ? pair / slowest : 2 * pair / static_cast<double>(width);
      const double wavelength = std::pow(10000.0, exponent);
      const double angle = static_cast<double>(first) / wavelength;
      sine[i] = std::sin(angle);
      cosine[i] = std::cos(angle);
      step_sine[i] = std::sin(1.0 / wavelength);
      step_cosine[i] = std::cos(1.0 / wavelength);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      float* out = y + row * width;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = step * (begin + i);
        out[at] = static_cast<float>(sine[i]);
        if (at + cosines < width) out[at + cosines] = static_cast<float>(cosine[i]);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const double turned = sine[i] * step_cosine[i] + cosine[i] * step_sine[i];
        cosine[i] = cosine[i] * step_cosine[i] - sine[i] * step_sine[i];
        sine[i] = turned;
      }
    }
  }
}

}  // namespace headlight::kernels
