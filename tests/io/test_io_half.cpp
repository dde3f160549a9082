#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/half.h"
#include "core/io/safetensors.h"

namespace headlight {

TEST_CASE("half: every half comes back to the bit") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) {
      CHECK(std::isnan(half_to_float(float_to_half(value))));
    } else {
      CHECK(float_to_half(value) == half);
    }
  }
}

TEST_CASE("half: between two halves the nearest is taken, of the middle the even one") {
  for (std::uint16_t half = 0; half < 0x7BFF; ++half) {
    const float low = half_to_float(half), high = half_to_float(half + 1);
    const float middle = (low + high) / 2;  // a float holds it
    const auto even = static_cast<std::uint16_t>(half % 2 == 0 ? half : half + 1);
    CHECK(float_to_half(middle) == even);
    CHECK(float_to_half(std::nextafter(middle, low)) == half);
    CHECK(float_to_half(std::nextafter(middle, high)) == half + 1);
    CHECK(float_to_half(-middle) == (even | 0x8000));
  }
  CHECK(float_to_half(65519.9f) == 0x7BFF);
  CHECK(float_to_half(65520.0f) == 0x7C00);
  CHECK(float_to_half(std::numeric_limits<float>::max()) == 0x7C00);
  CHECK(float_to_half(-std::numeric_limits<float>::infinity()) == 0xFC00);
  CHECK(float_to_half(1e-30f) == 0);
}

TEST_CASE("half: a file of halves holds the rounded numbers") {
  const std::vector<float> x = {1, -0.1f, 65504, 3e-8f};
  const std::vector<std::int64_t> ids = {1, 1 << 20};
  const std::vector<NamedArray> arrays = {{"x", {2, 2}, std::span<const float>(x)},
                                          {"ids", {2}, std::span<const std::int64_t>(ids)}};
  const SafetensorsFile file =
      parse_safetensors(to_safetensors(arrays, {}, FloatStorage::kFloat16));
  CHECK(file.entries.at("x").dtype == "F16");
  CHECK(file.entries.at("x").end - file.entries.at("x").begin == 8);
  const std::vector<float> read = tensor_as_float(file, "x");
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(read[i] == half_to_float(float_to_half(x[i])));
  CHECK(tensor_as_int64(file, "ids") == ids);
  const std::vector<float> large = {1, 70000};
  const std::vector<NamedArray> beyond = {{"large", {2}, std::span<const float>(large)}};
  CHECK_THROWS_AS(to_safetensors(beyond, {}, FloatStorage::kFloat16), Error);
}

}  // namespace headlight
