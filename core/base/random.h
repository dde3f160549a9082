// Random numbers that are the same on every machine: integers only, no standard distributions
// (those differ between libraries).
#pragma once

#include <cstdint>
#include <string_view>

namespace headlight {

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection that scatters bits.
constexpr std::uint64_t scatter(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// FNV-1a over bytes.
constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (const char ch : text) h = (h ^ static_cast<unsigned char>(ch)) * 0x100000001B3ull;
  return h;
}

/// Bell-shaped number `i` of stream `key`: mean 0, deviation 1, never beyond ±3.47. It is the sum
/// of four 16-bit uniforms, exact in integers, so that every machine gets the same bits.
inline float bell(std::uint64_t key, std::uint64_t i) {
  const std::uint64_t bits = scatter(key + i * 0xD1342543DE82EF95ull);
  const auto sum = static_cast<std::int32_t>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) +
                                             ((bits >> 32) & 0xFFFF) + (bits >> 48));
  // Four uniforms on 0..65535 have mean 131070 and deviation 65536/√3.
  return static_cast<float>(sum - 131070) * 2.6428998e-5f;
}

/// Uniform number `i` of stream `key`: a multiple of 2^-53 in [0, 1).
constexpr double uniform(std::uint64_t key, std::uint64_t i) {
  return static_cast<double>(scatter(key + i * 0xD1342543DE82EF95ull) >> 11) * 0x1p-53;
}

/// Normal number `i` of stream `key`: mean 0, deviation 1, tails included. Only +, −, ×, ÷ and √ go
/// into it, so that every machine gets the same bits.
double normal(std::uint64_t key, std::uint64_t i);

/// A stream of random numbers (SplitMix64). Its whole state is one number, so that a run can be
/// stopped and go on with the very numbers that would have come.
class Random {
 public:
  /// Streams of one seed have nothing to do with each other.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(scatter(scatter(seed) + stream)) {}
  static Random at_state(std::uint64_t state) {
    Random random(0);
    random.state_ = state;
    return random;
  }
  std::uint64_t state() const { return state_; }

  /// 64 random bits.
  std::uint64_t next() {
    const std::uint64_t bits = scatter(state_);
    state_ += 0x9E3779B97F4A7C15ull;
    return bits;
  }

  /// 0 to n - 1 for n >= 1, each equally likely: the first bits, which would favour small numbers,
  /// are drawn again.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t surplus = (0 - n) % n;  // 2^64 mod n
    std::uint64_t bits = next();
    while (bits < surplus) bits = next();
    return bits % n;
  }
  /// low to high, both included; low <= high.
  int between(int low, int high) {
    const auto count = static_cast<std::uint64_t>(std::int64_t{high} - low) + 1;
    return static_cast<int>(low + static_cast<std::int64_t>(below(count)));
  }
  /// 0 <= x < 1, a multiple of 2^-53.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// True in `percent` of 100 draws.
  bool percent(int percent) { return static_cast<int>(below(100)) < percent; }

  bool operator==(const Random&) const = default;

 private:
  std::uint64_t state_;
};

}  // namespace headlight
