#include "app/gl/compute/queue.h"

#include <chrono>
#include <stdexcept>
#include <string>

#include "core/base/error.h"

namespace headlight {
namespace {

const char* name_of(GLenum error) {
  switch (error) {
    case GL_INVALID_ENUM:
      return "GL_INVALID_ENUM";
    case GL_INVALID_VALUE:
      return "GL_INVALID_VALUE";
    case GL_INVALID_OPERATION:
      return "GL_INVALID_OPERATION";
    default:
      return "an OpenGL error";
  }
}

void launch(const GlCalls& gl, const GlGroups& groups) {
  gl.dispatch_compute(static_cast<GLuint>(groups.x), static_cast<GLuint>(groups.y),
                      static_cast<GLuint>(groups.z));
}

}  // namespace

void check_gl(const GlCalls& gl, std::string_view doing) {
  const GLenum error = gl.get_error();
  if (error == GL_NO_ERROR) return;
  // The rest of the queue of errors is about the same; a lost context has no end of them.
  for (int i = 0; i < 16 && gl.get_error() != GL_NO_ERROR; ++i) {
  }
  const MessageSlot what{"what", std::string(doing)};
  if (error == GL_CONTEXT_LOST) throw Error(Message{"gpu.lost", {what}});
  if (error == GL_OUT_OF_MEMORY) throw Error(Message{"gpu.memory", {what}});
  throw Error(Message{"gpu.call", {what, {"error", name_of(error)}}});
}

void check_device(const GlCalls& gl, std::string_view doing) {
  check_gl(gl, doing);
  if (!gl.get_graphics_reset_status || gl.get_graphics_reset_status() == GL_NO_ERROR) return;
  throw Error(Message{"gpu.lost", {{"what", std::string(doing)}}});
}

GlQueue::GlQueue(const GlCalls& gl, const GlDevice& device)
    : gl_(gl), has_queries_(!is_software_renderer(device.renderer)) {}

GlQueue::~GlQueue() {
  if (!queries_.empty()) gl_.delete_queries(static_cast<GLsizei>(queries_.size()), queries_.data());
}

void GlQueue::dispatch(const GlProgram& program, std::initializer_list<unsigned> buffers,
                       std::initializer_list<GlUniform> uniforms, const GlGroups& groups) {
  if (groups.x <= 0 || groups.y <= 0 || groups.z <= 0) return;
  gl_.use_program(program.id);
  set_uniforms(program, uniforms);
  GLuint binding = 0;
  for (const unsigned buffer : buffers) {
    gl_.bind_buffer_base(GL_SHADER_STORAGE_BUFFER, binding++, buffer);
  }
  if (timing_) {
    run_timed(program, groups);
  } else {
    launch(gl_, groups);
  }
  // For the next kernel, and for reading back.
  gl_.memory_barrier(GL_SHADER_STORAGE_BARRIER_BIT | GL_BUFFER_UPDATE_BARRIER_BIT);
  ++dispatches_;
  check_gl(gl_, program.file);
}

// A uniform that is not set keeps the value of an earlier call, so forgetting one is a mistake that
// shows only sometimes: it is refused always.
void GlQueue::set_uniforms(const GlProgram& program, std::initializer_list<GlUniform> uniforms) {
  for (const GlProgram::Uniform& wanted : program.uniforms) {
    const GlUniform* found = nullptr;
    for (const GlUniform& given : uniforms) {
      if (wanted.name == given.name) found = &given;
    }
    if (!found) throw std::logic_error(program.file + ": uniform " + wanted.name + " is not set");
    if (found->is_float) {
      gl_.uniform1f(wanted.location, found->fraction);
    } else {
      gl_.uniform1ui(wanted.location, found->whole);
    }
  }
}

GlGroups spread_groups(std::int64_t groups, const GlLimits& limits) {
  const std::int64_t most = limits.group_count[0];
  if (groups <= most) return {groups, 1, 1};
  const std::int64_t rows = (groups + most - 1) / most;
  return {(groups + rows - 1) / rows, rows, 1};
}

void GlQueue::run_timed(const GlProgram& program, const GlGroups& groups) {
  timed_.push_back({tag_, program.file, 0});
  if (!has_queries_) {
    gl_.finish();
    const auto start = std::chrono::steady_clock::now();
    launch(gl_, groups);
    gl_.finish();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    timed_.back().nanoseconds = taken.count();
    return;
  }
  if (queries_.size() < timed_.size()) {
    queries_.push_back(0);
    gl_.gen_queries(1, &queries_.back());
  }
  gl_.begin_query(GL_TIME_ELAPSED, queries_[timed_.size() - 1]);
  launch(gl_, groups);
  gl_.end_query(GL_TIME_ELAPSED);
}

std::vector<GlTiming> GlQueue::take_timings() {
  for (std::size_t i = 0; has_queries_ && i < timed_.size(); ++i) {
    GLuint64 nanoseconds = 0;
    gl_.get_query_object_ui64v(queries_[i], GL_QUERY_RESULT, &nanoseconds);
    timed_[i].nanoseconds = static_cast<double>(nanoseconds);
  }
  std::vector<GlTiming> result = std::move(timed_);
  timed_.clear();
  return result;
}

}  // namespace headlight
