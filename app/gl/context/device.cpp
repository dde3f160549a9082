#include "app/gl/context/device.h"

namespace headlight {
namespace {

std::string text_of(const GlCalls& gl, GLenum name) {
  const auto* text = reinterpret_cast<const char*>(gl.get_string(name));
  return text ? text : "";
}

int integer(const GlCalls& gl, GLenum name) {
  GLint value = 0;
  gl.get_integerv(name, &value);
  return value;
}

// Limits of sizes are 64-bit numbers; a driver may well say 2 GiB and more.
std::int64_t long_integer(const GlCalls& gl, GLenum name) {
  GLint64 value = 0;
  gl.get_integer64v(name, &value);
  return value;
}

std::array<std::int64_t, 3> along_axes(const GlCalls& gl, GLenum name) {
  std::array<std::int64_t, 3> values{};
  for (GLuint axis = 0; axis < 3; ++axis) {
    GLint value = 0;
    gl.get_integeri_v(name, axis, &value);
    values[axis] = value;
  }
  return values;
}

}  // namespace

GlDevice GlDevice::ask(const GlCalls& gl) {
  GlDevice device{text_of(gl, GL_VENDOR), text_of(gl, GL_RENDERER), text_of(gl, GL_VERSION), {}};
  if (device.version.starts_with("OpenGL ES")) return device;
  GlLimits& limits = device.limits;
  limits.version = 10 * integer(gl, GL_MAJOR_VERSION) + integer(gl, GL_MINOR_VERSION);
  if (limits.version < 43) return device;
  limits.group_invocations = integer(gl, GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS);
  limits.group_size = along_axes(gl, GL_MAX_COMPUTE_WORK_GROUP_SIZE);
  limits.group_count = along_axes(gl, GL_MAX_COMPUTE_WORK_GROUP_COUNT);
  limits.shared_bytes = integer(gl, GL_MAX_COMPUTE_SHARED_MEMORY_SIZE);
  limits.block_bytes = long_integer(gl, GL_MAX_SHADER_STORAGE_BLOCK_SIZE);
  limits.blocks = integer(gl, GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS);
  limits.binary_formats = integer(gl, GL_NUM_PROGRAM_BINARY_FORMATS);
  limits.tells_resets = gl.get_graphics_reset_status != nullptr;
  const int extensions = integer(gl, GL_NUM_EXTENSIONS);
  for (int i = 0; i < extensions; ++i) {
    const auto* name =
        reinterpret_cast<const char*>(gl.get_stringi(GL_EXTENSIONS, static_cast<GLuint>(i)));
    limits.robust |= name && std::string_view(name) == "GL_ARB_robust_buffer_access_behavior";
  }
  return device;
}

bool is_software_renderer(std::string_view renderer) {
  for (const std::string_view name : {"llvmpipe", "softpipe", "SWR", "SwiftShader", "lavapipe"}) {
    if (renderer.find(name) != std::string::npos) return true;
  }
  return false;
}

Message GlDevice::problem() const {
  if (limits.version >= 43) return {};
  return Message{"gpu.too_old", {{"device", renderer}, {"version", version}}};
}

}  // namespace headlight
