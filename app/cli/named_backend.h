// A backend by its name on the command line, with what it needs to live.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/gl/compute/backend_gl.h"
#include "app/gl/context/egl_context.h"
#include "core/backends/backend.h"

namespace headlight {

/// "reference", "cpu" or "gl". Of "gl" it has an OpenGL context of its own, so it must be used
/// and destroyed on the thread that made it.
class NamedBackend {
 public:
  /// Throws UsageError for any other name, and Error where there is no OpenGL 4.3 for "gl".
  NamedBackend(const std::string& name, int threads, GlBackendOptions options = {});
  Backend& operator*() const { return *backend_; }
  Backend* operator->() const { return backend_.get(); }
  /// Null but for "gl".
  GlBackend* gl() const { return gl_; }
  /// "llvmpipe (LLVM 15.0.6, 256 bits)" of "gl"; "processor" of the others.
  std::string device() const;
  /// What the graphics card could not take, so that the processor ran it: "scores (head 4, …)".
  std::vector<std::string> fallbacks() const;

 private:
  std::unique_ptr<EglContext> context_;  // outlives what was made with it
  std::unique_ptr<Backend> backend_;
  GlBackend* gl_ = nullptr;
};

/// Says on stderr what the graphics card could not take.
void note_fallbacks(const NamedBackend&);
void note_fallbacks(const std::vector<std::string>&);

/// For tests. "softmax.comp=FILE": the driver gets the file's text in the place of the shader's
/// own. Throws UsageError for other words than a shader's name and a file; nothing for "".
GlBackendOptions with_broken_shader(const std::string&);

}  // namespace headlight
