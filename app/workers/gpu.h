// The graphics card as the thread that computes uses it: a context, a backend in it, what is known
// of the device. All but the constructor and the destructor belong to that thread.
#pragma once

#include <atomic>
#include <memory>

#include "app/gl/compute/backend_gl.h"
#include "app/gl/context/compute_context.h"
#include "app/gl/tuning/self_test.h"
#include "app/ui/state/compute_state.h"
#include "core/run/trace.h"
#include "core/view/device_cells.h"

namespace headlight {

/// For long use: results are checked now and then.
inline GlBackendOptions watched_options() {
  GlBackendOptions options;
  options.spot_checks = kSpotCheckShare;
  return options;
}

class Gpu {
 public:
  explicit Gpu(std::unique_ptr<ComputeContext>, GlBackendOptions options = {});
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Starts it where it has not been started. Throws Error where there is no OpenGL 4.3.
  GlBackend& backend();
  bool started() const { return backend_ != nullptr; }
  /// Runs from now on leave their tensors in buffers that nobody else looks at.
  void use_fresh_storage();
  /// Where the numbers of this run lie on the device, for pictures: what the run that ended last
  /// computed. Null where the window could not see them.
  std::shared_ptr<const DeviceCells> device_cells(const Trace&);
  /// At the end; backend() starts anew.
  void stop();
  /// The same after an error, which state() says from then on. A driver that has computed wrongly
  /// has not passed its test any more.
  void fail(const Message&);
  /// Runs every operation, and training, against the processor once for each driver; the result is
  /// kept. A part of it at a time, between which others may run: false when it is done.
  bool test_some();
  /// It counts as tested, and right.
  void trust() { state_.tested = true; }
  const GpuState& state();

 private:
  void take_test(const GlSelfTest&);
  std::filesystem::path test_folder() const;

  std::unique_ptr<ComputeContext> context_;
  GlBackendOptions options_;
  std::unique_ptr<GlBackend> backend_;
  GpuState state_;
  std::unique_ptr<GlSelfTestRun> test_;  // one that has begun
  // Each run's tensors stay as long as pictures are made of them; who does that last hands them
  // back.
  struct Storage {
    std::unique_ptr<GlStorage> tensors;
    std::shared_ptr<std::atomic<bool>> shown = std::make_shared<std::atomic<bool>>(false);
  };
  std::vector<Storage> storages_;
  std::size_t used_ = 0;  // by the run that ended last
};

}  // namespace headlight
