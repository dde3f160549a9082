// An OpenGL context without a window or a display, for pictures made on the command line and tests;
// and what this machine's driver is, in words.
#pragma once

#include <string>

namespace headlight {

class EglContext;

struct EglOptions {
  /// The driver says what it thinks of each call (GlDebugLog), where it can.
  bool debug = false;
  /// A graphics card is taken before a software renderer, wherever it is found: for computing.
  bool prefer_hardware = false;
  /// Buffers, textures and programs are common to both; the other one must outlive this.
  const EglContext* share = nullptr;
};

/// An OpenGL core context that draws only into framebuffer objects, or computes: 4.3 or later where
/// the driver has it, else 3.3. It is current on the thread that made it until it is destroyed.
/// Objects made with it (programs, textures, framebuffers) must go first.
class EglContext {
 public:
  /// Tries, in this order: EGL's surfaceless platform (Mesa; its software renderer when there is no
  /// GPU), the EGL device platform (NVIDIA and others), the default display. Throws Error when none
  /// offers OpenGL 3.3, with what each one answered.
  explicit EglContext(EglOptions options = {});
  ~EglContext();
  EglContext(const EglContext&) = delete;
  EglContext& operator=(const EglContext&) = delete;

  /// Makes it current on the calling thread. Throws Error when it is current on another one.
  void make_current();

  /// How the context was found: "surfaceless", "device" or "default display".
  const std::string& platform() const { return platform_; }

 private:
  bool take_first(const EglOptions&, bool hardware_only, std::string& answers);
  void join(const EglContext&, bool debug);

  void* display_ = nullptr;
  void* context_ = nullptr;
  void* surface_ = nullptr;  // 1x1, only where the driver cannot do without one
  std::string platform_;
};

/// "llvmpipe (LLVM 15.0.6, 256 bits), OpenGL 4.5": renderer and version of the current context.
/// Needs a current context.
std::string gl_description();

/// Throws Error when the current context offers less than OpenGL 3.3, with what the driver offers
/// and what to do. Needs a current context.
void require_gl33();

}  // namespace headlight
