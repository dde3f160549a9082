// The strict stand-in's table of calls, and what it says about itself.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "tests/gl/strict/strict_gl.h"

namespace headlight::test {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

}  // namespace

StrictGl* StrictGl::now_ = nullptr;

StrictGl::StrictGl(const GlLimits& limits)
    : has_driver_(false), limits_(limits), before_(std::exchange(now_, this)) {
  fill_table();
}

StrictGl::StrictGl(const GlCalls& driver)
    : has_driver_(true),
      driver_(driver),
      limits_(GlDevice::ask(driver).limits),
      before_(std::exchange(now_, this)) {
  fill_table();
  if (!driver.get_graphics_reset_status) calls_.get_graphics_reset_status = nullptr;
}

StrictGl::~StrictGl() { now_ = before_; }

void StrictGl::get_integers(GLenum name, std::int64_t* value) {
  switch (name) {
    case GL_MAJOR_VERSION:
      *value = limits_.version / 10;
      return;
    case GL_MINOR_VERSION:
      *value = limits_.version % 10;
      return;
    case GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS:
      *value = limits_.group_invocations;
      return;
    case GL_MAX_COMPUTE_SHARED_MEMORY_SIZE:
      *value = limits_.shared_bytes;
      return;
    case GL_MAX_SHADER_STORAGE_BLOCK_SIZE:
      *value = limits_.block_bytes;
      return;
    case GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS:
      *value = limits_.blocks;
      return;
    case GL_NUM_PROGRAM_BINARY_FORMATS:
      *value = limits_.binary_formats;
      return;
    case GL_NUM_EXTENSIONS:
      *value = 1;
      return;
    default:
      report("glGetInteger: unknown name " + number(name));
  }
}

// ---- the table ----

/// The functions of the table: each notes what is done, and passes it on where there is a driver.
struct StrictCalls {
  static StrictGl& now() { return *StrictGl::now_; }
  static const GlCalls* driver() {
    return StrictGl::now_->has_driver_ ? &StrictGl::now_->driver_ : nullptr;
  }

  template <class Object>
  static void forget_all(std::map<GLuint, Object>& objects, GLsizei count, const GLuint* ids,
                         const char* kind, const char* call) {
    for (GLsizei i = 0; i < count; ++i) now().erase(objects, ids[i], kind, call);
  }

  static void fill_device(GlCalls& gl) {
    gl.get_string = [](GLenum name) -> const GLubyte* {
      if (driver()) return driver()->get_string(name);
      const char* text = name == GL_VENDOR     ? "Headlight"
                         : name == GL_RENDERER ? "a strict device"
                         : name == GL_VERSION  ? "4.3 strict"
                                               : nullptr;
      if (!text) now().report("glGetString: unknown name " + number(name));
      return reinterpret_cast<const GLubyte*>(text);
    };
    gl.get_stringi = [](GLenum name, GLuint index) -> const GLubyte* {
      if (driver()) return driver()->get_stringi(name, index);
      if (name != GL_EXTENSIONS || index != 0) now().report("glGetStringi: beyond the extensions");
      return reinterpret_cast<const GLubyte*>("GL_KHR_debug");
    };
    gl.get_integerv = [](GLenum name, GLint* value) {
      if (driver()) return driver()->get_integerv(name, value);
      std::int64_t wide = 0;
      now().get_integers(name, &wide);
      *value = static_cast<GLint>(wide);
    };
    gl.get_integer64v = [](GLenum name, GLint64* value) {
      if (driver()) return driver()->get_integer64v(name, value);
      std::int64_t wide = 0;
      now().get_integers(name, &wide);
      *value = wide;
    };
    gl.get_integeri_v = [](GLenum name, GLuint index, GLint* value) {
      if (driver()) return driver()->get_integeri_v(name, index, value);
      const bool size = name == GL_MAX_COMPUTE_WORK_GROUP_SIZE;
      if ((!size && name != GL_MAX_COMPUTE_WORK_GROUP_COUNT) || index > 2) {
        return now().report("glGetIntegeri_v: unknown name " + number(name));
      }
      const GlLimits& limits = now().limits_;
      *value = static_cast<GLint>((size ? limits.group_size : limits.group_count)[index]);
    };
    gl.get_error = []() -> GLenum {
      const GLenum own = std::exchange(now().error_, static_cast<GLenum>(GL_NO_ERROR));
      return own == GL_NO_ERROR && driver() ? driver()->get_error() : own;
    };
    gl.get_graphics_reset_status = []() -> GLenum {
      return driver() ? driver()->get_graphics_reset_status() : GL_NO_ERROR;
    };
  }

  static void fill_buffers(GlCalls& gl) {
    gl.gen_buffers = [](GLsizei count, GLuint* ids) {
      if (driver()) driver()->gen_buffers(count, ids);
      for (GLsizei i = 0; i < count; ++i) {
        if (!driver()) ids[i] = now().new_id();
        now().buffers_[ids[i]] = {};
      }
    };
    gl.delete_buffers = [](GLsizei count, const GLuint* ids) {
      forget_all(now().buffers_, count, ids, "buffer", "glDeleteBuffers");
      if (driver()) driver()->delete_buffers(count, ids);
    };
    gl.bind_buffer = [](GLenum target, GLuint id) {
      if (target != GL_SHADER_STORAGE_BUFFER && target != GL_COPY_WRITE_BUFFER) {
        now().report("glBindBuffer: unknown target " + number(target));
      } else if (id == 0 || now().find(now().buffers_, id, "buffer", "glBindBuffer")) {
        (target == GL_COPY_WRITE_BUFFER ? now().bound_copy_ : now().bound_) = id;
      }
      if (driver()) driver()->bind_buffer(target, id);
    };
    gl.bind_buffer_base = [](GLenum target, GLuint index, GLuint id) {
      now().bind_base(target, index, id);
      if (driver()) driver()->bind_buffer_base(target, index, id);
    };
    gl.buffer_data = [](GLenum target, GLsizeiptr bytes, const void* data, GLenum usage) {
      now().allocate(target, bytes, data, usage);
      if (driver()) driver()->buffer_data(target, bytes, data, usage);
    };
    gl.buffer_sub_data = [](GLenum target, GLintptr offset, GLsizeiptr bytes, const void* data) {
      now().upload(target, offset, bytes, data);
      if (driver()) driver()->buffer_sub_data(target, offset, bytes, data);
    };
    gl.get_buffer_sub_data = [](GLenum target, GLintptr offset, GLsizeiptr bytes, void* data) {
      now().download(target, offset, bytes, data);
      if (driver()) driver()->get_buffer_sub_data(target, offset, bytes, data);
    };
    gl.copy_buffer_sub_data = [](GLenum from, GLenum to, GLintptr from_offset, GLintptr to_offset,
                                 GLsizeiptr bytes) {
      now().copy(from, to, from_offset, to_offset, bytes);
      if (driver()) driver()->copy_buffer_sub_data(from, to, from_offset, to_offset, bytes);
    };
    // What is spoilt counts as not written.
    gl.clear_buffer_sub_data = [](GLenum target, GLenum inside, GLintptr offset, GLsizeiptr bytes,
                                  GLenum format, GLenum type, const void* data) {
      now().spoil(target, offset, bytes);
      if (inside != GL_R32UI || format != GL_RED_INTEGER || type != GL_UNSIGNED_INT)
        now().report("glClearBufferSubData: not of whole numbers");
      if (driver())
        driver()->clear_buffer_sub_data(target, inside, offset, bytes, format, type, data);
    };
  }

  static void fill_running(GlCalls& gl) {
    gl.use_program = [](GLuint id) {
      if (id != 0) {
        auto* program = now().find(now().programs_, id, "program", "glUseProgram");
        if (program && !program->linked) now().report("glUseProgram: a program that is not linked");
        if (program) program->set.assign(program->set.size(), false);
      }
      now().in_use_ = id;
      if (driver()) driver()->use_program(id);
    };
    gl.dispatch_compute = [](GLuint x, GLuint y, GLuint z) {
      now().dispatch({x, y, z});
      if (driver()) driver()->dispatch_compute(x, y, z);
    };
    gl.memory_barrier = [](GLbitfield what) {
      now().barrier(what);
      if (driver()) driver()->memory_barrier(what);
    };
    gl.finish = [] {
      now().finish();
      if (driver()) driver()->finish();
    };
  }

  static void fill_queries(GlCalls& gl) {
    gl.gen_queries = [](GLsizei count, GLuint* ids) {
      if (driver()) driver()->gen_queries(count, ids);
      for (GLsizei i = 0; i < count; ++i) {
        if (!driver()) ids[i] = now().new_id();
        now().queries_[ids[i]] = {};
      }
    };
    gl.delete_queries = [](GLsizei count, const GLuint* ids) {
      forget_all(now().queries_, count, ids, "query", "glDeleteQueries");
      if (driver()) driver()->delete_queries(count, ids);
    };
    gl.begin_query = [](GLenum target, GLuint id) {
      if (target != GL_TIME_ELAPSED) now().report("glBeginQuery: unknown target " + number(target));
      if (now().open_query_ != 0) now().report("glBeginQuery: another one has not ended");
      if (now().find(now().queries_, id, "query", "glBeginQuery")) now().open_query_ = id;
      if (driver()) driver()->begin_query(target, id);
    };
    gl.end_query = [](GLenum target) {
      if (target != GL_TIME_ELAPSED) now().report("glEndQuery: unknown target " + number(target));
      const GLuint id = std::exchange(now().open_query_, 0u);
      if (id == 0) now().report("glEndQuery: none has begun");
      if (id != 0) now().queries_[id].ended = true;
      if (driver()) driver()->end_query(target);
    };
    gl.get_query_object_ui64v = [](GLuint id, GLenum name, GLuint64* value) {
      const auto* query = now().find(now().queries_, id, "query", "glGetQueryObject");
      if (name != GL_QUERY_RESULT) now().report("glGetQueryObject: unknown name " + number(name));
      if (query && !query->ended) now().report("glGetQueryObject: a query that has not ended");
      *value = 1000;
      if (driver()) driver()->get_query_object_ui64v(id, name, value);
    };
  }
};

void StrictGl::fill_table() {
  StrictCalls::fill_device(calls_);
  StrictCalls::fill_buffers(calls_);
  fill_programs();
  StrictCalls::fill_running(calls_);
  StrictCalls::fill_queries(calls_);
}

}  // namespace headlight::test
