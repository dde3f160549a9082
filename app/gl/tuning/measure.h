// How fast a device is: what it can do at all, and how long one kernel takes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "app/gl/compute/backend_gl.h"
#include "core/check/op_trials.h"

namespace headlight {

/// What a device does where nothing stands in its way.
struct GlRates {
  double multiply_adds = 0;  // 10⁹ floating-point operations a second; a multiply-add is two
  double copies = 0;         // 10⁹ bytes a second, read and written together
};

/// Measures both by plain kernels (copy.comp, multiply_add.comp) in the current context. Takes less
/// than a second where there is a graphics card, a few where there is none. Throws Error as
/// GlBackend does.
GlRates measure_rates(const GlBackendOptions& = {});

/// One operation on made-up numbers, or the gradient of one of its inputs.
struct GlTimedCall {
  Op op{};
  TrialShapes inputs;
  int gradient = -1;  // which input's; -1: the operation itself
};

struct GlTime {
  std::string_view file;   // of its kernel, the first where there are several
  double nanoseconds = 0;  // of all its kernels together: the median of the runs
  double least = 0;        // and the fastest run
  int runs = 0;
};

/// Times a call on the device. The first run, which compiles and copies, is left out; then 15, or
/// as many as fit in `seconds`: at least one, and three where these take less than four times as
/// long. What earlier runs left on the device is lost.
GlTime time_call(GlBackend&, const GlTimedCall&, double seconds);

/// Attention of a training step as one kernel forward and a few backward, nothing masked.
struct GlTimedAttention {
  std::int64_t batch = 1, heads = 1, tokens = 1;
  std::int64_t width = 1;  // of a head
};

/// Each of its kernels, timed as by time_call(). Empty where the device cannot take it. Throws
/// Error as GlTrainer does.
std::vector<GlTime> time_attention(GlBackend&, const GlTimedAttention&, double seconds);

}  // namespace headlight
