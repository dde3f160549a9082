// The OpenGL context that computing has on a thread of its own, wherever it comes from.
#pragma once

#include <memory>

namespace headlight {

class EglContext;

class ComputeContext {
 public:
  virtual ~ComputeContext() = default;
  /// Makes it current on the calling thread, the same one each time. Throws Error where there is
  /// none to be had.
  virtual void make_current() = 0;
  /// Lets go of it, on that thread. It may be made current again.
  virtual void release() = 0;
  /// Can the window draw from its buffers?
  virtual bool shares_with_window() const { return false; }
};

/// Without a window. `share`: the context that draws, which must outlive this.
std::unique_ptr<ComputeContext> make_egl_compute_context(const EglContext* share = nullptr);

}  // namespace headlight
