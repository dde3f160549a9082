// The context of the OpenGL tests without a window.
#include "app/gl/context/egl_context.h"
#include "tests/gl/test_gl_support.h"

namespace headlight::test {

// Never destroyed: Mesa leaks a little when its driver is unloaded, and LeakSanitizer would say so.
void take_gl_context() {
  static EglContext* const context = new EglContext({.debug = true});
  context->make_current();
}

}  // namespace headlight::test
