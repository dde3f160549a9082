// What the device is that computes, and what it can take.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/gl/context/calls.h"
#include "core/base/message.h"

namespace headlight {

/// Limits of a context for compute shaders. Sizes in bytes.
struct GlLimits {
  int version = 0;                           // 43 is OpenGL 4.3; 0 below 1.0 or OpenGL ES
  std::int64_t group_invocations = 0;        // invocations of one work group
  std::array<std::int64_t, 3> group_size{};  // and how many of them along each axis
  std::array<std::int64_t, 3> group_count{};
  std::int64_t shared_bytes = 0;
  std::int64_t block_bytes = 0;  // of one shader storage block: the largest tensor
  std::int64_t blocks = 0;       // shader storage blocks of one kernel
  bool robust = false;           // reads beyond a buffer's end are harmless
  bool tells_resets = false;     // glGetGraphicsResetStatus is there
  int binary_formats = 0;        // of glGetProgramBinary; 0: programs cannot be kept
};

struct GlDevice {
  std::string vendor, renderer, version;  // as the driver says them
  GlLimits limits;

  /// Asks the current context.
  static GlDevice ask(const GlCalls&);
  /// Why the compute side cannot work here; empty where it can.
  Message problem() const;
};

/// Does the processor do a graphics card's work under this GL_RENDERER?
bool is_software_renderer(std::string_view renderer);

}  // namespace headlight
