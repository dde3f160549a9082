// Random numbers: pinned, so that a seed means the same model on every machine and for ever.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "core/base/random.h"

namespace headlight::test_random {

TEST_CASE("random: scatter is SplitMix64's finaliser") {
  // The first outputs of the published generator for the seeds 0 and 1234567.
  CHECK(scatter(0) == 0xE220A8397B1DCDAFull);
  CHECK(scatter(0x9E3779B97F4A7C15ull) == 0x6E789E6AA1B965F4ull);
  CHECK(scatter(1234567) == 6457827717110365317ull);
  static_assert(scatter(0) != scatter(1));
}

TEST_CASE("random: hash_text is FNV-1a") {
  // From the tables of the algorithm's authors.
  CHECK(hash_text("") == 0xCBF29CE484222325ull);
  CHECK(hash_text("a") == 0xAF63DC4C8601EC8Cull);
  CHECK(hash_text("foobar") == 0x85944171F73967E8ull);
  CHECK(hash_text("\xC3\xA9") != hash_text("\xC3"));  // bytes above 127 count
}

TEST_CASE("random: the first bells of key 1") {
  const float expected[] = {-0.617513537f, 1.07793307f, -0.0949329585f, -0.683665335f,
                            0.190605924f};
  for (std::uint64_t i = 0; i < 5; ++i) CHECK(bell(1, i) == expected[i]);
}

TEST_CASE("random: bells have mean 0, deviation 1, and the shape of four uniforms") {
  constexpr int kCount = 200000;
  for (std::uint64_t key : {0ull, 1ull, 42ull, ~0ull}) {
    CAPTURE(key);
    double sum = 0, squares = 0, fourth = 0, neighbours = 0, last = 0, largest = 0;
    for (int i = 0; i < kCount; ++i) {
      const double x = bell(key, static_cast<std::uint64_t>(i));
      largest = std::max(largest, std::fabs(x));
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
      neighbours += x * last;
      last = x;
    }
    CHECK(largest <= 3.4642);  // 131070 * sqrt(3) / 65536
    CHECK(std::fabs(sum / kCount) < 0.01);
    CHECK(squares / kCount == doctest::Approx(1).epsilon(0.01));
    CHECK(fourth / kCount == doctest::Approx(2.7).epsilon(0.02));  // 3 - 6/5/4
    CHECK(std::fabs(neighbours / kCount) < 0.01);
  }
}

TEST_CASE("random: streams of different keys differ") {
  std::set<float> firsts;
  for (std::uint64_t key = 0; key < 1000; ++key) firsts.insert(bell(key, 0));
  CHECK(firsts.size() > 980);  // of 262141 possible values
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) equal += bell(1, i) == bell(2, i);
  CHECK(equal < 20);
}

}  // namespace headlight::test_random
