// This binary's malloc comes before the library's, and operator new ends there too.
#include "tests/support/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "tests/support/sanitized.h"

#if defined(__GLIBC__) && !HEADLIGHT_SANITIZED
#define HEADLIGHT_OWN_MALLOC 1
#else
#define HEADLIGHT_OWN_MALLOC 0
#endif

namespace {
[[maybe_unused]] std::atomic<long> allocations{0};
}

#if HEADLIGHT_OWN_MALLOC
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}
#endif

long allocation_count() { return allocations; }
bool counts_allocations() { return HEADLIGHT_OWN_MALLOC != 0; }
