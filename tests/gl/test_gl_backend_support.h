// One backend for all tests of a program, so that each kernel is compiled once; its calls counted.
#pragma once

#include <memory>

#include "app/gl/compute/backend_gl.h"
#include "tests/gl/strict/strict_gl.h"
#include "tests/gl/test_gl_support.h"

namespace headlight::test {

/// What went through the table of calls since the program began.
struct CallCounts {
  long buffers = 0;      // made
  long allocations = 0;  // glBufferData
  long uploads = 0;      // glBufferSubData
  long bytes_read = 0;   // glGetBufferSubData
  long compiled = 0;     // shaders
};

inline CallCounts& call_counts() {
  static CallCounts counts;
  return counts;
}

/// Looks at every call of the tests' backends before the driver gets it.
inline StrictGl& strict_driver() {
  static StrictGl* const strict = new StrictGl(real_gl());
  return *strict;
}

inline const GlCalls& counting_calls() {
  static const GlCalls kReal = strict_driver().calls();
  static const GlCalls kCounting = [] {
    GlCalls gl = kReal;
    gl.gen_buffers = [](GLsizei count, GLuint* ids) {
      call_counts().buffers += count;
      kReal.gen_buffers(count, ids);
    };
    gl.buffer_data = [](GLenum target, GLsizeiptr bytes, const void* data, GLenum usage) {
      ++call_counts().allocations;
      kReal.buffer_data(target, bytes, data, usage);
    };
    gl.buffer_sub_data = [](GLenum target, GLintptr offset, GLsizeiptr bytes, const void* data) {
      ++call_counts().uploads;
      kReal.buffer_sub_data(target, offset, bytes, data);
    };
    gl.get_buffer_sub_data = [](GLenum target, GLintptr offset, GLsizeiptr bytes, void* data) {
      call_counts().bytes_read += static_cast<long>(bytes);
      kReal.get_buffer_sub_data(target, offset, bytes, data);
    };
    gl.compile_shader = [](GLuint shader) {
      ++call_counts().compiled;
      kReal.compile_shader(shader);
    };
    return gl;
  }();
  return kCounting;
}

/// Options for a backend that keeps no programs and counts its calls.
inline GlBackendOptions counting_options() {
  GlBackendOptions options;
  options.program_folder.clear();
  options.tuned_folder.clear();
  options.calls = &counting_calls();
  return options;
}

/// The backend that most tests share, with guard words behind every buffer and the kernel table of
/// a graphics card, also where the driver is a software renderer: that has one of its own. Needs
/// gl_ready().
inline GlBackend& shared_backend() {
  static GlBackend* const backend = [] {
    GlBackendOptions options = counting_options();
    options.guard_cells = 16;
    options.table = KernelTable::of(GlDevice::ask(real_gl()).limits);
    return new GlBackend(options);
  }();
  return *backend;
}

/// What results are compared with.
inline Backend& reference() {
  static const auto kReference = make_reference_backend();
  return *kReference;
}

/// Is there a context that can compute? Says why not, else clears the driver's messages and what
/// was found of mistakes.
inline bool compute_ready() {
  if (!gl_ready()) return false;
  const GlDevice device = GlDevice::ask(real_gl());
  if (const Message problem = device.problem(); !problem.empty()) {
    std::cout << "SKIPPED: " << say(Language::kEnglish, problem) << std::endl;
    return false;
  }
  debug_log().clear();
  strict_driver().take_problems();
  return true;
}

/// No message of the driver since compute_ready(), and no mistake that it does not tell.
inline void check_no_messages() {
  for (const std::string& problem : strict_driver().take_problems()) FAIL_CHECK(problem);
  for (const std::string& message : debug_log().messages())
    FAIL_CHECK("the driver says: ", message);
  CHECK(debug_log().works());
}

/// Nothing ran on the processor but what has to: operations whose rows need the ones before them.
inline bool only_waiting(const GlBackend& gl) {
  for (const GlFallback& fallback : gl.fallbacks()) {
    if (!op_info(fallback.op).is_sequential) return false;
  }
  return true;
}

}  // namespace headlight::test
