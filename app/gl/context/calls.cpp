#include "app/gl/context/calls.h"

namespace headlight {
namespace {

// libepoxy's names are variables that change when they are first called, so the table keeps
// functions that look them up each time.
template <auto& function, class Result, class... Args>
Result call(Args... args) {
  return function(args...);
}

void fill_device(GlCalls& gl) {
  gl.get_string = &call<epoxy_glGetString>;
  gl.get_stringi = &call<epoxy_glGetStringi>;
  gl.get_integerv = &call<epoxy_glGetIntegerv>;
  gl.get_integeri_v = &call<epoxy_glGetIntegeri_v>;
  gl.get_integer64v = &call<epoxy_glGetInteger64v>;
  gl.get_error = &call<epoxy_glGetError>;
  if (epoxy_gl_version() >= 45) {
    gl.get_graphics_reset_status = &call<epoxy_glGetGraphicsResetStatus>;
  } else if (epoxy_has_gl_extension("GL_ARB_robustness")) {
    gl.get_graphics_reset_status = &call<epoxy_glGetGraphicsResetStatusARB>;
  }
}

void fill_buffers(GlCalls& gl) {
  gl.gen_buffers = &call<epoxy_glGenBuffers>;
  gl.delete_buffers = &call<epoxy_glDeleteBuffers>;
  gl.bind_buffer = &call<epoxy_glBindBuffer>;
  gl.bind_buffer_base = &call<epoxy_glBindBufferBase>;
  gl.buffer_data = &call<epoxy_glBufferData>;
  gl.buffer_sub_data = &call<epoxy_glBufferSubData>;
  gl.get_buffer_sub_data = &call<epoxy_glGetBufferSubData>;
  gl.copy_buffer_sub_data = &call<epoxy_glCopyBufferSubData>;
  gl.clear_buffer_sub_data = &call<epoxy_glClearBufferSubData>;
}

void fill_programs(GlCalls& gl) {
  gl.create_shader = &call<epoxy_glCreateShader>;
  gl.shader_source = &call<epoxy_glShaderSource>;
  gl.compile_shader = &call<epoxy_glCompileShader>;
  gl.get_shaderiv = &call<epoxy_glGetShaderiv>;
  gl.get_shader_info_log = &call<epoxy_glGetShaderInfoLog>;
  gl.delete_shader = &call<epoxy_glDeleteShader>;
  gl.create_program = &call<epoxy_glCreateProgram>;
  gl.attach_shader = &call<epoxy_glAttachShader>;
  gl.link_program = &call<epoxy_glLinkProgram>;
  gl.get_programiv = &call<epoxy_glGetProgramiv>;
  gl.get_program_info_log = &call<epoxy_glGetProgramInfoLog>;
  gl.program_parameteri = &call<epoxy_glProgramParameteri>;
  gl.get_program_binary = &call<epoxy_glGetProgramBinary>;
  gl.program_binary = &call<epoxy_glProgramBinary>;
  gl.get_active_uniform = &call<epoxy_glGetActiveUniform>;
  gl.get_uniform_location = &call<epoxy_glGetUniformLocation>;
  gl.delete_program = &call<epoxy_glDeleteProgram>;
}

void fill_running(GlCalls& gl) {
  gl.use_program = &call<epoxy_glUseProgram>;
  gl.uniform1ui = &call<epoxy_glUniform1ui>;
  gl.uniform1f = &call<epoxy_glUniform1f>;
  gl.dispatch_compute = &call<epoxy_glDispatchCompute>;
  gl.memory_barrier = &call<epoxy_glMemoryBarrier>;
  gl.finish = &call<epoxy_glFinish>;
  gl.gen_queries = &call<epoxy_glGenQueries>;
  gl.delete_queries = &call<epoxy_glDeleteQueries>;
  gl.begin_query = &call<epoxy_glBeginQuery>;
  gl.end_query = &call<epoxy_glEndQuery>;
  gl.get_query_object_ui64v = &call<epoxy_glGetQueryObjectui64v>;
}

}  // namespace

GlCalls real_gl() {
  GlCalls gl;
  fill_device(gl);
  fill_buffers(gl);
  fill_programs(gl);
  fill_running(gl);
  return gl;
}

}  // namespace headlight
