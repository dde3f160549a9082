// The OpenGL calls that the compute side makes, as a table of functions, so that tests can put
// themselves between: count what is made, or be stricter than a driver is.
#pragma once

#include <epoxy/gl.h>

namespace headlight {

/// One entry for each call, named as OpenGL names it. Everything of the compute side calls OpenGL
/// through it only. `get_graphics_reset_status` is null where the driver does not tell.
struct GlCalls {
  // what the device is
  const GLubyte* (*get_string)(GLenum name) = nullptr;
  const GLubyte* (*get_stringi)(GLenum name, GLuint index) = nullptr;
  void (*get_integerv)(GLenum name, GLint* values) = nullptr;
  void (*get_integeri_v)(GLenum name, GLuint index, GLint* values) = nullptr;
  void (*get_integer64v)(GLenum name, GLint64* values) = nullptr;
  GLenum (*get_error)() = nullptr;
  GLenum (*get_graphics_reset_status)() = nullptr;

  // buffers
  void (*gen_buffers)(GLsizei count, GLuint* ids) = nullptr;
  void (*delete_buffers)(GLsizei count, const GLuint* ids) = nullptr;
  void (*bind_buffer)(GLenum target, GLuint id) = nullptr;
  void (*bind_buffer_base)(GLenum target, GLuint index, GLuint id) = nullptr;
  void (*buffer_data)(GLenum target, GLsizeiptr bytes, const void* data, GLenum usage) = nullptr;
  void (*buffer_sub_data)(GLenum target, GLintptr offset, GLsizeiptr bytes,
                          const void* data) = nullptr;
  void (*get_buffer_sub_data)(GLenum target, GLintptr offset, GLsizeiptr bytes,
                              void* data) = nullptr;
  void (*copy_buffer_sub_data)(GLenum from, GLenum to, GLintptr from_offset, GLintptr to_offset,
                               GLsizeiptr bytes) = nullptr;
  void (*clear_buffer_sub_data)(GLenum target, GLenum inside, GLintptr offset, GLsizeiptr bytes,
                                GLenum format, GLenum type, const void* data) = nullptr;

  // programs
  GLuint (*create_shader)(GLenum kind) = nullptr;
  void (*shader_source)(GLuint shader, GLsizei count, const GLchar* const* texts,
                        const GLint* lengths) = nullptr;
  void (*compile_shader)(GLuint shader) = nullptr;
  void (*get_shaderiv)(GLuint shader, GLenum name, GLint* values) = nullptr;
  void (*get_shader_info_log)(GLuint shader, GLsizei size, GLsizei* length, GLchar* text) = nullptr;
  void (*delete_shader)(GLuint shader) = nullptr;
  GLuint (*create_program)() = nullptr;
  void (*attach_shader)(GLuint program, GLuint shader) = nullptr;
  void (*link_program)(GLuint program) = nullptr;
  void (*get_programiv)(GLuint program, GLenum name, GLint* values) = nullptr;
  void (*get_program_info_log)(GLuint program, GLsizei size, GLsizei* length,
                               GLchar* text) = nullptr;
  void (*program_parameteri)(GLuint program, GLenum name, GLint value) = nullptr;
  void (*get_program_binary)(GLuint program, GLsizei size, GLsizei* length, GLenum* format,
                             void* bytes) = nullptr;
  void (*program_binary)(GLuint program, GLenum format, const void* bytes,
                         GLsizei length) = nullptr;
  void (*get_active_uniform)(GLuint program, GLuint index, GLsizei size, GLsizei* length,
                             GLint* count, GLenum* type, GLchar* name) = nullptr;
  GLint (*get_uniform_location)(GLuint program, const GLchar* name) = nullptr;
  void (*delete_program)(GLuint program) = nullptr;

  // running
  void (*use_program)(GLuint program) = nullptr;
  void (*uniform1ui)(GLint location, GLuint value) = nullptr;
  void (*uniform1f)(GLint location, GLfloat value) = nullptr;
  void (*dispatch_compute)(GLuint x, GLuint y, GLuint z) = nullptr;
  void (*memory_barrier)(GLbitfield what) = nullptr;
  void (*finish)() = nullptr;

  // timing
  void (*gen_queries)(GLsizei count, GLuint* ids) = nullptr;
  void (*delete_queries)(GLsizei count, const GLuint* ids) = nullptr;
  void (*begin_query)(GLenum target, GLuint id) = nullptr;
  void (*end_query)(GLenum target) = nullptr;
  void (*get_query_object_ui64v)(GLuint id, GLenum name, GLuint64* value) = nullptr;
};

/// The driver's, through libepoxy, for the current context.
GlCalls real_gl();

}  // namespace headlight
