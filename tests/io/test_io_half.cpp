#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/half.h"
#include "core/io/safetensors.h"

namespace headlight::test_io_half {

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

// Runs through the powers of two with steps that no vector divides; NaN, infinities and the
// smallest are among them.
TEST_CASE("half: many at a time are the same numbers, and come back") {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFu; bits += 65521)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  x.insert(x.end(), {std::numeric_limits<float>::infinity(), -0.0f,
                     std::numeric_limits<float>::quiet_NaN(), 65520, 0x1p-24f, 0x1p-25f});
  REQUIRE(x.size() % 8 != 0);
  for (const NumberFormat format : {NumberFormat::kFloat16, NumberFormat::kBfloat16}) {
    const bool half = format == NumberFormat::kFloat16;
    std::vector<std::uint16_t> bits(x.size());
    std::vector<float> back(x.size()), rounded(x.size());
    pack(format, x, bits.data());
    unpack(format, bits.data(), back);
    round_to(format, x, rounded.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      const std::uint16_t one = half ? float_to_half(x[i]) : float_to_bfloat(x[i]);
      if (std::isnan(x[i])) {
        CHECK((std::isnan(back[i]) && std::isnan(rounded[i])));
        CHECK(std::isnan(half ? half_to_float(one) : bfloat_to_float(one)));
        continue;
      }
      CHECK(bits[i] == one);
      CHECK(back[i] == (half ? half_to_float(one) : bfloat_to_float(one)));
      CHECK(rounded[i] == back[i]);
    }
  }
}

TEST_CASE("half: of two bfloat16 the nearest is taken, of the middle the even one") {
  for (std::uint16_t low = 0x0100; low < 0x7F7F; ++low) {
    const std::uint32_t middle = static_cast<std::uint32_t>(low) << 16 | 0x8000u;
    const auto next = static_cast<std::uint16_t>(low + 1);
    CHECK(float_to_bfloat(std::bit_cast<float>(middle)) == (low % 2 == 0 ? low : next));
    CHECK(float_to_bfloat(std::bit_cast<float>(middle - 1)) == low);
    CHECK(float_to_bfloat(std::bit_cast<float>(middle + 1)) == next);
  }
  CHECK(float_to_bfloat(70000) != 0x7F80);
  CHECK(float_to_bfloat(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(std::fabs(bfloat_to_float(float_to_bfloat(1.999f)) / 1.999f - 1) <=
        rounding_unit(NumberFormat::kBfloat16));
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

}  // namespace headlight::test_io_half
