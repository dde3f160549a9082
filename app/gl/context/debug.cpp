#include "app/gl/context/debug.h"

#include <epoxy/gl.h>

namespace headlight {
namespace {

void GLAPIENTRY take_message(GLenum, GLenum type, GLuint, GLenum severity, GLsizei length,
                             const GLchar* text, const void* list) {
  // Where a buffer lies and how it could be faster is said of what is right as well.
  const bool advice = type == GL_DEBUG_TYPE_PERFORMANCE || type == GL_DEBUG_TYPE_OTHER;
  if (severity == GL_DEBUG_SEVERITY_NOTIFICATION) return;
  if (advice && severity != GL_DEBUG_SEVERITY_HIGH) return;
  auto* messages = static_cast<std::vector<std::string>*>(const_cast<void*>(list));
  messages->push_back(length < 0 ? std::string(text)
                                 : std::string(text, static_cast<std::size_t>(length)));
}

}  // namespace

GlDebugLog::GlDebugLog() {
  works_ = epoxy_gl_version() >= 43 || epoxy_has_gl_extension("GL_KHR_debug");
  if (!works_) return;
  glEnable(GL_DEBUG_OUTPUT);
  glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
  glDebugMessageControl(GL_DONT_CARE, GL_DONT_CARE, GL_DONT_CARE, 0, nullptr, GL_TRUE);
  glDebugMessageCallback(take_message, &messages_);
}

GlDebugLog::~GlDebugLog() {
  if (!works_) return;
  glDebugMessageCallback(nullptr, nullptr);
  glDisable(GL_DEBUG_OUTPUT);
}

}  // namespace headlight
