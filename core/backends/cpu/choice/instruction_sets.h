// The processor's backend, compiled for each of several instruction sets, and the choice among them
// at run time. A build for this machine alone (HEADLIGHT_NATIVE) has one.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/backends/backend.h"

namespace headlight {

struct CpuBackends {
  std::string_view name;  // "avx512"; of the rest "sse2", of a build for one machine "native"
  std::unique_ptr<Backend> (*make)(int threads);
  std::unique_ptr<Backend> (*make_fusing)(std::shared_ptr<const Fusion>);
};

/// Those that this processor can run, the fastest first.
std::span<const CpuBackends* const> cpu_backends();

/// The one that make_cpu_backend() takes: the fastest, or the one that the environment variable
/// HEADLIGHT_INSTRUCTIONS names. A name of none, or of one that this processor lacks, counts as not
/// given.
const CpuBackends& chosen_cpu_backends();

// What each compilation of the backend is called; what is not compiled is not asked for.
extern const CpuBackends kCpuBackends;
extern const CpuBackends kCpuBackendsAvx2;
extern const CpuBackends kCpuBackendsAvx512;

}  // namespace headlight
