#include "core/backends/cpu/choice/instruction_sets.h"

#include <array>
#include <cstdlib>

namespace headlight {
namespace {

struct Available {
  std::array<const CpuBackends*, 3> all{};
  std::size_t count = 0;

  Available() {
#ifdef HEADLIGHT_SEVERAL_INSTRUCTION_SETS
    if (__builtin_cpu_supports("x86-64-v4")) all[count++] = &kCpuBackendsAvx512;
    if (__builtin_cpu_supports("x86-64-v3")) all[count++] = &kCpuBackendsAvx2;
#endif
    all[count++] = &kCpuBackends;
  }
};

}  // namespace

std::span<const CpuBackends* const> cpu_backends() {
  static const Available kAvailable;
  return std::span(kAvailable.all).first(kAvailable.count);
}

const CpuBackends& chosen_cpu_backends() {
  static const CpuBackends& chosen = []() -> const CpuBackends& {
    const char* wanted = std::getenv("HEADLIGHT_INSTRUCTIONS");
    for (const CpuBackends* each : cpu_backends())
      if (wanted && each->name == wanted) return *each;
    return *cpu_backends().front();
  }();
  return chosen;
}

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return chosen_cpu_backends().make(threads);
}

std::unique_ptr<Backend> make_fusing_backend(std::shared_ptr<const Fusion> fusion) {
  return chosen_cpu_backends().make_fusing(std::move(fusion));
}

}  // namespace headlight
