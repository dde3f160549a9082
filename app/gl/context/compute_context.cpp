#include "app/gl/context/compute_context.h"

#include "app/gl/context/egl_context.h"

namespace headlight {
namespace {

// Made on the thread that computes, because a context of EGL is current where it is made.
class EglComputeContext final : public ComputeContext {
 public:
  explicit EglComputeContext(const EglContext* share) : share_(share) {}
  void make_current() override {
    if (context_) return context_->make_current();
    context_ =
        std::make_unique<EglContext>(EglOptions{.prefer_hardware = !share_, .share = share_});
  }
  void release() override { context_.reset(); }
  bool shares_with_window() const override { return share_ != nullptr; }

 private:
  const EglContext* share_;
  std::unique_ptr<EglContext> context_;
};

}  // namespace

std::unique_ptr<ComputeContext> make_egl_compute_context(const EglContext* share) {
  return std::make_unique<EglComputeContext>(share);
}

}  // namespace headlight
