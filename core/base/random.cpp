#include "core/base/random.h"

#include <cmath>

namespace headlight {
namespace {

// ln x for x in (0, 1). The one of the C library may differ in its last bit between machines.
double natural_log(double x) {
  constexpr double kLn2 = 0.69314718055994530942, kRootHalf = 0.70710678118654752440;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < kRootHalf) {
    m *= 2;
    --exponent;
  }
  // ln m = 2 artanh t with |t| ≤ 0.172: the terms shrink by 34 and more.
  const double t = (m - 1) / (m + 1), square = t * t;
  double sum = 0;
  for (int n = 21; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return exponent * kLn2 + 2 * t * sum;
}

}  // namespace

double normal(std::uint64_t key, std::uint64_t i) {
  // The polar method (Marsaglia 1964): a point in the unit circle gives a direction and a length.
  const std::uint64_t own = scatter(key + i * 0xD1342543DE82EF95ull);
  for (std::uint64_t attempt = 0;; ++attempt) {
    const double x = 2 * uniform(own, 2 * attempt) - 1;
    const double y = 2 * uniform(own, 2 * attempt + 1) - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * natural_log(square) / square);
  }
}

}  // namespace headlight
