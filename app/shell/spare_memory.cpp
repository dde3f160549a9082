#include "app/shell/spare_memory.h"

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace headlight {
namespace {

constexpr double kEvery = 60;  // seconds

void give_back() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace

void SpareMemory::pass(double seconds) {
  if (seconds < next_) return;
  if (next_ > 0) background_.carry_out("memory", give_back);
  next_ = seconds + kEvery;
}

}  // namespace headlight
