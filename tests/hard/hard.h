// What the tests that try to break the program share.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace headlight::test {

/// HEADLIGHT_HARD=long: everything; else a share of it that takes seconds.
inline bool is_long() {
  const char* how = std::getenv("HEADLIGHT_HARD");
  return how && std::string_view(how) == "long";
}

/// Where what is drawn by chance begins.
inline std::uint64_t random_seed() {
  const char* seed = std::getenv("HEADLIGHT_HARD_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 1;
}

}  // namespace headlight::test
