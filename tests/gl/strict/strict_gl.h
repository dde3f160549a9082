// A stand-in for OpenGL that computes nothing and forgives nothing: it keeps account of what the
// compute side does and writes down each mistake, also those that a software renderer hides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/gl/context/calls.h"
#include "app/gl/context/device.h"
#include "tests/gl/strict/strict_shader.h"

namespace headlight::test {

/// What OpenGL 4.3 promises of every device, and no more.
GlLimits least_limits();

/// Stricter than OpenGL: every uniform and every buffer that a kernel declares has to be given anew
/// for each dispatch, and nothing else; no kernel may read what nobody wrote; between a kernel that
/// writes a buffer and the next that touches it, or one that reads it and the next that writes it,
/// stands a barrier for kernels, and before bytes are copied to or from it one for copies; what a
/// kernel touched is written from outside only after the device has been waited for; buffers
/// are as large as the kernel's uniforms say (strict_rules.h), and groups enough for all of it; no
/// buffer that a kernel writes is bound twice.
///
/// Without a driver it needs no context. What a kernel writes is then zeros; what was copied to a
/// buffer comes back from it. The one that was made last answers the calls of all, so they have to
/// go in reverse order, each after all that use it.
class StrictGl {
 public:
  explicit StrictGl(const GlLimits& = least_limits());
  /// Looks at each call and then passes it on to a driver, of the current context.
  explicit StrictGl(const GlCalls& driver);
  ~StrictGl();
  StrictGl(const StrictGl&) = delete;
  StrictGl& operator=(const StrictGl&) = delete;

  const GlCalls& calls() const { return calls_; }
  /// The mistakes so far, each a sentence; at most a hundred.
  const std::vector<std::string>& problems() const { return problems_; }
  std::vector<std::string> take_problems();
  /// To be called when everything should have been given back: each object that is left is one.
  void check_nothing_left();

  /// The kernels that have run, by file.
  const std::set<std::string>& kernels() const { return kernels_; }
  std::int64_t dispatches() const { return dispatches_; }
  std::int64_t uploads() const { return uploads_; }
  std::size_t buffers() const { return buffers_.size(); }
  /// The next buffer of more bytes than these gets no memory. For tests of what follows.
  void set_memory(std::size_t bytes) { memory_ = bytes; }

 private:
  friend struct StrictCalls;
  friend struct StrictProgramCalls;

  /// Bytes of a buffer that somebody wrote: [begin, end) each, apart from each other.
  class Extents {
   public:
    void clear() { parts_.clear(); }
    void add(std::size_t begin, std::size_t end);
    void remove(std::size_t begin, std::size_t end);
    bool covers(std::size_t begin, std::size_t end) const;

   private:
    std::map<std::size_t, std::size_t> parts_;
  };
  struct Buffer {
    std::size_t size = 0;
    std::vector<std::byte> bytes;  // without a driver
    Extents written;
    std::string writer;       // the kernel that wrote it last
    GLbitfield barriers = 0;  // that came since
    std::string reader;       // a kernel that read it, and no barrier since
    std::string user;         // a kernel that touched it, and nobody waited since
  };
  struct Shader {
    StrictShader text;
    std::string source;
    bool good = false;
    std::string log;
  };
  struct Program {
    StrictShader text;
    std::string source;
    GLuint shader = 0;
    bool linked = false;
    std::vector<std::int64_t> values;  // of its uniforms; of floats whether they are 0
    std::vector<bool> set;             // for the next dispatch
    std::vector<bool> active;          // the driver knows it
    std::map<GLint, std::size_t> locations;
  };
  struct Query {
    bool ended = false;
  };
  /// A binding of the kernel that is about to run.
  struct Use {
    const StrictShader::Block* block = nullptr;
    GLuint id = 0;
    Buffer* buffer = nullptr;
    std::size_t bytes = 0;  // that the kernel touches
    bool reads = false, writes = false;
  };

  void report(const std::string& problem);
  void fill_table();
  void fill_programs();
  GLuint new_id() { return ++last_id_; }
  /// What has this name; reports and returns null where there is none, or none any more.
  template <class Object>
  Object* find(std::map<GLuint, Object>& objects, GLuint id, const char* kind, const char* call);
  template <class Object>
  void erase(std::map<GLuint, Object>& objects, GLuint id, const char* kind, const char* call);
  Buffer* bound(GLenum target, const char* call);
  bool in_range(const Buffer&, GLintptr offset, GLsizeiptr bytes, const char* call);
  void need_copy_barrier(const Buffer&, const char* call);
  void need_idle(const Buffer&, const char* call);

  void get_integers(GLenum name, std::int64_t* value);
  void bind_base(GLenum target, GLuint index, GLuint id);
  void allocate(GLenum target, GLsizeiptr bytes, const void* data, GLenum usage);
  void upload(GLenum target, GLintptr offset, GLsizeiptr bytes, const void* data);
  void spoil(GLenum target, GLintptr offset, GLsizeiptr bytes);
  void download(GLenum target, GLintptr offset, GLsizeiptr bytes, void* data);
  void copy(GLenum from, GLenum to, GLintptr from_offset, GLintptr to_offset, GLsizeiptr bytes);
  void compile(GLuint shader);
  void link(GLuint program);
  void become(Program&, StrictShader text, std::string source);
  void set_uniform(GLint location, GLenum type, std::int64_t value, const char* call);
  void barrier(GLbitfield what);
  void finish();

  void dispatch(const std::array<std::int64_t, 3>& groups);
  void check_uniforms(const Program&);
  void check_groups(const Program&, const std::array<std::int64_t, 3>& groups);
  std::vector<Use> uses_of(const Program&, std::int64_t matrices);
  void check_use(const Program&, const Use&);
  void check_twice(const Program&, const std::vector<Use>&);
  void note_use(const Program&, const Use&);
  Numbers numbers_of(const Program&, std::int64_t matrices) const;

  GlCalls calls_;
  const bool has_driver_;
  const GlCalls driver_;
  GlLimits limits_;
  static StrictGl* now_;    // the calls of OpenGL know no object
  StrictGl* const before_;  // who answered until this was made
  std::vector<std::string> problems_;
  std::map<GLuint, Buffer> buffers_;
  std::map<GLuint, Shader> shaders_;
  std::map<GLuint, Program> programs_;
  std::map<GLuint, Query> queries_;
  std::set<std::string> kernels_;
  std::map<GLuint, GLuint> bindings_;  // given for the next dispatch
  GLuint bound_ = 0, bound_copy_ = 0, in_use_ = 0, open_query_ = 0, last_id_ = 100;
  GLenum error_ = GL_NO_ERROR;
  std::int64_t dispatches_ = 0, uploads_ = 0;
  std::size_t memory_ = static_cast<std::size_t>(-1);
};

template <class Object>
Object* StrictGl::find(std::map<GLuint, Object>& objects, GLuint id, const char* kind,
                       const char* call) {
  const auto found = objects.find(id);
  if (found != objects.end()) return &found->second;
  report(std::string(call) + ": there is no " + kind + " " + std::to_string(id) + ", or no more");
  return nullptr;
}

template <class Object>
void StrictGl::erase(std::map<GLuint, Object>& objects, GLuint id, const char* kind,
                     const char* call) {
  if (id != 0 && find(objects, id, kind, call)) objects.erase(id);
}

}  // namespace headlight::test
