// Is this a build with a sanitizer? Those have their own malloc and reserve more address space than
// any limit would leave them.
#pragma once

#include <cstddef>
#include <vector>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEADLIGHT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HEADLIGHT_SANITIZED 1
#endif
#endif
#ifndef HEADLIGHT_SANITIZED
#define HEADLIGHT_SANITIZED 0
#endif

namespace headlight::test {

/// A walk over everything there is takes minutes where a sanitizer looks on. What it compares is
/// compared whole in builds without one; with one, whose question is what happens to memory, it
/// stops at each of so many.
inline constexpr std::size_t kWalkStride = HEADLIGHT_SANITIZED ? 5 : 1;

/// What such a walk stops at, beginning with number `first`.
template <class T>
std::vector<T> walked(const std::vector<T>& all, std::size_t first = 0) {
  std::vector<T> some;
  for (std::size_t i = first % kWalkStride; i < all.size(); i += kWalkStride)
    some.push_back(all[i]);
  return some;
}

}  // namespace headlight::test
