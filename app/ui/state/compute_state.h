// Who computes what is shown: the processor, the graphics card, or both side by side. Plain data;
// the shell fills it in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/message.h"
#include "core/check/compare.h"

namespace headlight {

enum class ComputeMode { kCpu, kGpu, kBoth };
/// What the person wants; kAutomatic: Headlight chooses.
enum class ComputeRequest { kAutomatic, kCpu, kGpu, kBoth };

/// Milliseconds of each call of a program, by its place there. On the graphics card those of its
/// kernels alone, without the copies to it and back.
struct CallTimes {
  std::map<int, double> forward, backward;
  /// -1: not measured.
  double of(const CallDifference&) const;
};

/// One document run on both: what is shown is the graphics card's.
struct BothRun {
  std::uint64_t serial = 0;  // of the trace that is shown
  Comparison comparison;
  CallTimes cpu, gpu;
  double cpu_ms = 0, gpu_ms = 0;  // of the whole runs, copies included
  Message problem;                // why they could not be compared; empty: they were
};

/// A kind of call that the graphics card cannot take, so that the processor runs it.
struct ComputeFallback {
  std::string op, shape;
  bool operator==(const ComputeFallback&) const = default;
};

/// kUnknown: nobody has asked yet. kFailed: it stopped working, and may be asked again.
enum class GpuPhase { kUnknown, kStarting, kReady, kAbsent, kFailed };

/// What a kernel's groups and tiles follow from (app/gl/compute/kernel_view.h).
struct KernelDevice;

struct GpuState {
  GpuPhase phase = GpuPhase::kUnknown;
  std::string device, version;  // as the driver says them
  bool software = false;        // the processor does the graphics card's work
  Message problem;  // of kAbsent and kFailed; of kReady why the usual sizes of groups are taken
  std::vector<ComputeFallback> fallbacks;
  // The test of every operation, once for each driver.
  bool testing = false, tested = false;
  std::vector<Message> failures;  // what it found; empty: all passed
  std::shared_ptr<const KernelDevice> kernels;
  bool passed() const { return tested && failures.empty(); }
};

/// The whole run of a sentence of so many tokens.
struct SizePoint {
  std::int64_t tokens = 0;
  double cpu_ms = 0, gpu_ms = 0;
};

/// Time against size, for the model that is shown.
struct SizeChart {
  std::vector<SizePoint> points;  // ascending
  bool measuring = false;
  Message problem;
};

/// The number of tokens from which on the graphics card is the quicker one at every size measured,
/// found between two of them on logarithmic axes; unset where it never is. The smallest size
/// measured where it always is.
std::optional<double> crossover(const std::vector<SizePoint>&);

/// "llvmpipe (LLVM 15.0.6, 256 bits)" -> "llvmpipe", "NVIDIA X/PCIe/SSE2" -> "NVIDIA X".
std::string short_device(const std::string& renderer);

}  // namespace headlight
