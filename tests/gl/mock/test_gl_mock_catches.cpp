// The strict stand-in for OpenGL finds what it is there to find: each kind of mistake is made, and
// has to be named.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "app/gl/compute/backend_gl.h"
#include "tests/gl/strict/strict_gl.h"
#include "tests/support/changed_text.h"
#include "tests/support/training_model.h"

namespace headlight::test_gl_mock_catches {
namespace {

using test::StrictGl;

using Problems = std::vector<std::string>;

// What a table of calls with a mistake in it passes on to.
GlCalls g_strict;

bool any(const Problems& problems, std::initializer_list<std::string_view> parts) {
  return std::any_of(problems.begin(), problems.end(), [&](const std::string& problem) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return problem.find(part) != problem.npos; });
  });
}

std::string all(const Problems& problems) {
  std::string text;
  for (const std::string& problem : problems) text += "\n  " + problem;
  return text;
}

// A run and a backward pass of a model by a host that makes this mistake.
Problems problems_of(void (*mistake)(GlCalls&)) {
  StrictGl gl;
  g_strict = gl.calls();
  GlCalls wrong = gl.calls();
  mistake(wrong);
  {
    GlBackendOptions options;
    options.program_folder.clear();
    options.calls = &wrong;
    GlBackend backend(options);
    backend.queue().set_timing(true);
    Config c;
    c.d_model = 6;
    c.heads = 2;
    TrainingModel model(c, {1, 3, 5});
    backend.set_fetching(false);
    model.run(backend);
    model.memory[0][0] += 1;
    backend.set_fetching(true);
    model.run(backend);
    model.run_backward(backend);
    backend.queue().take_timings();
  }
  gl.check_nothing_left();
  return gl.take_problems();
}

/// A kernel that is driven by hand, right unless told otherwise.
class ByHand {
 public:
  explicit ByHand(Kernel kernel, const std::function<void(std::string&)>& change = {})
      : limits(test::least_limits()) {
    const KernelTable table = KernelTable::of(limits);
    std::string text =
        gl_source(kernel_info(kernel).file, table.defines(kernel, 0), embedded_file).text;
    if (change) change(text);
    const GLuint shader = call.create_shader(GL_COMPUTE_SHADER);
    const GLchar* start = text.c_str();
    call.shader_source(shader, 1, &start, nullptr);
    call.compile_shader(shader);
    program = call.create_program();
    call.attach_shader(program, shader);
    call.link_program(program);
    call.delete_shader(shader);
  }

  GLuint buffer(std::int64_t cells, bool filled = true) {
    GLuint id = 0;
    call.gen_buffers(1, &id);
    call.bind_buffer(GL_SHADER_STORAGE_BUFFER, id);
    const std::vector<float> zeros(static_cast<std::size_t>(cells));
    call.buffer_data(GL_SHADER_STORAGE_BUFFER, 4 * cells, filled ? zeros.data() : nullptr,
                     GL_DYNAMIC_COPY);
    return id;
  }
  // x + y of four cells each, with this kernel.
  void add(GLuint a, GLuint b, GLuint out, GLuint groups = 1) {
    call.use_program(program);
    call.uniform1ui(call.get_uniform_location(program, "cells"), 4);
    call.bind_buffer_base(GL_SHADER_STORAGE_BUFFER, 0, a);
    call.bind_buffer_base(GL_SHADER_STORAGE_BUFFER, 1, b);
    call.bind_buffer_base(GL_SHADER_STORAGE_BUFFER, 2, out);
    call.dispatch_compute(groups, 1, 1);
  }
  void barrier() { call.memory_barrier(GL_SHADER_STORAGE_BARRIER_BIT); }

  GlLimits limits;
  StrictGl gl;
  const GlCalls& call = gl.calls();
  GLuint program = 0;
};

// What a kernel's text is refused for.
std::string refusal(const std::function<void(std::string&)>& change) {
  ByHand hand(Kernel::kAdd, change);
  const Problems problems = hand.gl.take_problems();
  return problems.empty() ? "" : problems[0];
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  text = test::with_change(std::move(text), from, to);
}

}  // namespace

TEST_CASE("strict gl: a host without a mistake has no problem") {
  CHECK(all(problems_of([](GlCalls&) {})) == "");
  ByHand hand(Kernel::kAdd);
  const GLuint a = hand.buffer(4), b = hand.buffer(4), y = hand.buffer(4, false);
  hand.add(a, b, y);
  hand.barrier();
  hand.add(y, y, b);
  CHECK(all(hand.gl.take_problems()) == "");
}

TEST_CASE("strict gl: a missing barrier is told with both kernels") {
  Problems found = problems_of([](GlCalls& gl) { gl.memory_barrier = [](GLbitfield) {}; });
  INFO(all(found));
  CHECK(any(found, {"shaders/mask.comp: reads buffer", "(S), which shaders/scale.comp wrote",
                    "without GL_SHADER_STORAGE_BARRIER_BIT"}));
  found = problems_of([](GlCalls& gl) {
    gl.memory_barrier = [](GLbitfield) { g_strict.memory_barrier(GL_BUFFER_UPDATE_BARRIER_BIT); };
  });
  CHECK(any(found, {"without GL_SHADER_STORAGE_BARRIER_BIT"}));
  CHECK_FALSE(any(found, {"glGetBufferSubData"}));
  found = problems_of([](GlCalls& gl) {
    gl.memory_barrier = [](GLbitfield) { g_strict.memory_barrier(GL_SHADER_STORAGE_BARRIER_BIT); };
  });
  CHECK(any(found, {"glGetBufferSubData: shaders/", "wrote buffer", "GL_BUFFER_UPDATE_BARRIER"}));
  CHECK_FALSE(any(found, {"without GL_SHADER_STORAGE_BARRIER_BIT"}));
}

TEST_CASE("strict gl: a kernel waits also where it writes what another one reads or wrote") {
  ByHand hand(Kernel::kAdd);
  const GLuint a = hand.buffer(4), b = hand.buffer(4), y = hand.buffer(4), z = hand.buffer(4);
  hand.add(a, b, y);
  hand.add(b, b, y);
  CHECK(any(hand.gl.take_problems(), {"add.comp: writes buffer", "(Y), which", "add.comp wrote"}));
  hand.barrier();
  hand.add(a, b, y);
  hand.add(z, z, a);
  CHECK(any(hand.gl.take_problems(), {"add.comp: writes buffer", "(Y), which", "add.comp reads"}));
  hand.call.bind_buffer(GL_SHADER_STORAGE_BUFFER, y);
  const float one = 1;
  hand.call.buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 0, 4, &one);
  CHECK(any(hand.gl.take_problems(), {"glBufferSubData: ", "add.comp wrote buffer"}));
}

TEST_CASE("strict gl: a uniform that is not set, or of another type") {
  Problems found = problems_of([](GlCalls& gl) { gl.uniform1f = [](GLint, GLfloat) {}; });
  CHECK(any(found, {"shaders/softmax.comp: uniform temperature was not set"}));
  found = problems_of([](GlCalls& gl) {
    gl.uniform1f = [](GLint location, GLfloat) { g_strict.uniform1ui(location, 1); };
  });
  CHECK(any(found, {"glUniform1ui: the type of temperature in shaders/softmax.comp is another"}));
  found = problems_of([](GlCalls& gl) {
    gl.uniform1ui = [](GLint location, GLuint value) {
      g_strict.uniform1ui(location + 1000, value);
    };
  });
  CHECK(any(found, {"glUniform1ui: shaders/embed.comp has no uniform at location"}));
  // One that the text has and the host does not know of; and one of an earlier dispatch.
  ByHand hand(Kernel::kAdd, [](std::string& text) {
    replace(text, "uniform uint cells;", "uniform uint cells;\nuniform float twist;");
    replace(text, "  y[i] = ", "  y[i] = twist + ");
  });
  const GLuint a = hand.buffer(4), y = hand.buffer(4);
  hand.add(a, a, y);
  CHECK(any(hand.gl.take_problems(), {"shaders/add.comp: uniform twist was not set"}));
  hand.barrier();
  for (const GLuint binding : {0u, 1u, 2u}) {
    hand.call.bind_buffer_base(GL_SHADER_STORAGE_BUFFER, binding, binding == 2 ? y : a);
  }
  hand.call.dispatch_compute(1, 1, 1);
  CHECK(any(hand.gl.take_problems(), {"shaders/add.comp: uniform cells was not set"}));
}

TEST_CASE("strict gl: a binding that gets no buffer, one too many, or one that is gone") {
  Problems found = problems_of([](GlCalls& gl) {
    gl.bind_buffer_base = [](GLenum target, GLuint index, GLuint id) {
      if (index != 1) g_strict.bind_buffer_base(target, index, id);
    };
  });
  CHECK(any(found, {"shaders/linear.comp: binding 1 (Weight) got no buffer"}));
  found = problems_of([](GlCalls& gl) {
    gl.bind_buffer_base = [](GLenum target, GLuint index, GLuint id) {
      g_strict.bind_buffer_base(target, index, id);
      g_strict.bind_buffer_base(target, 5, id);
    };
  });
  CHECK(any(found, {"shaders/softmax.comp: has no binding 5"}));
  found = problems_of([](GlCalls& gl) {
    gl.bind_buffer_base = [](GLenum target, GLuint index, GLuint id) {
      g_strict.bind_buffer_base(target, index + 8, id);
    };
  });
  CHECK(any(found, {"glBindBufferBase: there is no binding 8"}));
  ByHand hand(Kernel::kAdd);
  const GLuint a = hand.buffer(4), y = hand.buffer(4);
  hand.call.delete_buffers(1, &a);
  hand.add(a, a, y);
  CHECK(any(hand.gl.take_problems(), {"glBindBufferBase: there is no buffer", "or no more"}));
  hand.call.bind_buffer(GL_SHADER_STORAGE_BUFFER, a);
  CHECK(any(hand.gl.take_problems(), {"glBindBuffer: there is no buffer"}));
  hand.call.use_program(hand.program);
  hand.call.bind_buffer_base(GL_SHADER_STORAGE_BUFFER, 0, y);
  hand.call.delete_buffers(1, &y);
  hand.call.dispatch_compute(1, 1, 1);
  CHECK(any(hand.gl.take_problems(), {"binding 0 (A) has a buffer that was deleted"}));
}

TEST_CASE("strict gl: bytes that are written while a kernel may still read the old ones") {
  const Problems found = problems_of([](GlCalls& gl) { gl.finish = [] {}; });
  CHECK(any(found, {"glBufferSubData: shaders/", "may still read buffer"}));
  ByHand hand(Kernel::kAdd);
  const GLuint a = hand.buffer(4), b = hand.buffer(4), y = hand.buffer(4);
  hand.add(a, b, y);
  hand.barrier();
  const float cells[4] = {};
  hand.call.bind_buffer(GL_SHADER_STORAGE_BUFFER, b);
  hand.call.buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 0, 16, cells);
  CHECK(any(hand.gl.take_problems(), {"glBufferSubData: shaders/add.comp may still read"}));
  hand.call.finish();
  hand.call.buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 0, 16, cells);
  CHECK(all(hand.gl.take_problems()) == "");
}

TEST_CASE("strict gl: cells that nobody wrote") {
  const Problems found = problems_of(
      [](GlCalls& gl) { gl.buffer_sub_data = [](GLenum, GLintptr, GLsizeiptr, const void*) {}; });
  CHECK(any(found, {"shaders/linear.comp: reads cells of buffer", "(Weight) that nobody wrote"}));
  ByHand hand(Kernel::kAdd);
  const GLuint a = hand.buffer(4), b = hand.buffer(8, false), y = hand.buffer(4);
  hand.call.bind_buffer(GL_SHADER_STORAGE_BUFFER, b);
  float cells[8] = {};
  hand.call.buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 0, 12, cells);
  hand.add(a, b, y);
  CHECK(any(hand.gl.take_problems(), {"reads cells of", "(B) that nobody wrote"}));
  hand.call.finish();
  hand.call.bind_buffer(GL_SHADER_STORAGE_BUFFER, b);
  hand.call.buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 12, 4, cells);
  hand.barrier();
  hand.add(a, b, y);
  CHECK(all(hand.gl.take_problems()) == "");
  hand.call.bind_buffer(GL_SHADER_STORAGE_BUFFER, b);
  hand.call.get_buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 0, 32, cells);
  CHECK(any(hand.gl.take_problems(), {"glGetBufferSubData: reads bytes of buffer"}));
}

TEST_CASE("strict gl: buffers that are too small, and ranges beyond them") {
  const Problems found = problems_of([](GlCalls& gl) {
    gl.buffer_data = [](GLenum target, GLsizeiptr bytes, const void* data, GLenum usage) {
      g_strict.buffer_data(target, bytes > 4 ? bytes - 4 : bytes, data, usage);
    };
  });
  CHECK(any(found, {"shaders/softmax.comp: buffer", "(Y) has room for 17 cells of 18"}));
  CHECK(any(found, {"glBufferSubData: ", "bytes from byte 0 on, but buffer"}));
  ByHand hand(Kernel::kAdd);
  const GLuint a = hand.buffer(4);
  float cells[4] = {};
  hand.call.bind_buffer(GL_SHADER_STORAGE_BUFFER, a);
  hand.call.get_buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 4, 16, cells);
  CHECK(any(hand.gl.take_problems(), {"glGetBufferSubData: 16 bytes from byte 4 on", "has 16"}));
  hand.call.buffer_sub_data(GL_SHADER_STORAGE_BUFFER, -4, 4, cells);
  CHECK(any(hand.gl.take_problems(), {"glBufferSubData: 4 bytes from byte -4 on"}));
  hand.call.buffer_data(GL_SHADER_STORAGE_BUFFER, 0, nullptr, GL_DYNAMIC_COPY);
  CHECK(any(hand.gl.take_problems(), {"glBufferData: a buffer of 0 bytes"}));
}

TEST_CASE("strict gl: a buffer that a kernel writes is nowhere else") {
  ByHand hand(Kernel::kAdd);
  const GLuint a = hand.buffer(4), y = hand.buffer(4);
  hand.add(a, y, y);
  CHECK(any(hand.gl.take_problems(), {"shaders/add.comp: buffer", "(B) is also Y"}));
}

TEST_CASE("strict gl: too few groups, none, too many, and no program") {
  Problems found = problems_of([](GlCalls& gl) {
    gl.dispatch_compute = [](GLuint x, GLuint y, GLuint z) {
      g_strict.dispatch_compute(x > 1 ? x - 1 : x, y, z);
    };
  });
  CHECK(any(found, {"shaders/softmax.comp: 2 groups of 1 for 3"}));
  found = problems_of([](GlCalls& gl) {
    gl.dispatch_compute = [](GLuint x, GLuint, GLuint z) { g_strict.dispatch_compute(x, 0, z); };
  });
  CHECK(any(found, {"shaders/linear.comp: 0 groups along axis 1, of 1 to 65535"}));
  found = problems_of([](GlCalls& gl) { gl.use_program = [](GLuint) {}; });
  CHECK(any(found, {"glDispatchCompute: no program is in use"}));
  CHECK(any(found, {"glUniform1ui: no program is in use"}));
  ByHand hand(Kernel::kAdd);
  const GLuint a = hand.buffer(4), y = hand.buffer(4);
  hand.add(a, a, y, 65536);
  CHECK(any(hand.gl.take_problems(), {"shaders/add.comp: 65536 groups along axis 0"}));
}

TEST_CASE("strict gl: what is never given back") {
  Problems found =
      problems_of([](GlCalls& gl) { gl.delete_buffers = [](GLsizei, const GLuint*) {}; });
  CHECK(any(found, {"buffer ", "was never deleted"}));
  found = problems_of([](GlCalls& gl) { gl.delete_shader = [](GLuint) {}; });
  CHECK(any(found, {"shader ", "was never deleted"}));
  found = problems_of([](GlCalls& gl) {
    gl.delete_program = [](GLuint) {};
    gl.delete_queries = [](GLsizei, const GLuint*) {};
  });
  CHECK(any(found, {"program ", "was never deleted"}));
  CHECK(any(found, {"query ", "was never deleted"}));
}

TEST_CASE("strict gl: words that OpenGL does not have, and queries out of order") {
  ByHand hand(Kernel::kAdd);
  const GlCalls& call = hand.call;
  GLuint a = hand.buffer(4), query = 0;
  const auto said = [&](std::string_view what) { return any(hand.gl.take_problems(), {what}); };
  call.bind_buffer(GL_TEXTURE_2D, a);
  CHECK(said("glBindBuffer: unknown target"));
  call.bind_buffer_base(GL_UNIFORM_BUFFER, 0, a);
  CHECK(said("glBindBufferBase: unknown target"));
  call.buffer_data(GL_SHADER_STORAGE_BUFFER, 4, nullptr, GL_WRITE_ONLY);
  CHECK(said("glBufferData: unknown usage"));
  call.memory_barrier(0x40000000);
  CHECK(said("glMemoryBarrier: unknown bits"));
  GLint value = 0;
  call.get_integerv(GL_MAX_TEXTURE_SIZE, &value);
  CHECK(said("glGetInteger: unknown name"));
  call.get_programiv(hand.program, GL_COMPILE_STATUS, &value);
  CHECK(said("glGetProgramiv: unknown name"));
  call.create_shader(GL_FRAGMENT_SHADER);
  CHECK(said("glCreateShader: unknown kind"));
  call.delete_program(hand.program);
  call.use_program(hand.program);
  CHECK(said("glUseProgram: there is no program"));
  call.gen_queries(1, &query);
  call.end_query(GL_TIME_ELAPSED);
  CHECK(said("glEndQuery: none has begun"));
  call.begin_query(GL_TIME_ELAPSED, query);
  call.begin_query(GL_TIME_ELAPSED, query);
  CHECK(said("glBeginQuery: another one has not ended"));
  GLuint64 time = 0;
  call.get_query_object_ui64v(query, GL_QUERY_RESULT, &time);
  CHECK(said("glGetQueryObject: a query that has not ended"));
}

TEST_CASE("strict gl: shaders that only some drivers take") {
  const auto with = [](std::string_view from, std::string_view to) {
    return refusal([=](std::string& text) { replace(text, from, to); });
  };
  CHECK(refusal([](std::string&) {}) == "");
  CHECK(with("430", "450") == "glCompileShader: 0:1: the first line is not #version 430 core");
  CHECK(with("std430, binding = 1", "binding = 1").find("without std430") != std::string::npos);
  CHECK(with("std430, binding = 1", "std430").find("without a binding") != std::string::npos);
  CHECK(with("binding = 1", "binding = 2").find("Y has the binding of B") != std::string::npos);
  CHECK(with("uniform uint cells", "uniform uint cells, more[2]").find("no plain number") !=
        std::string::npos);
  CHECK(with("uint(GROUP) + ", "\n#pragma optimize\n").find("is not known here") !=
        std::string::npos);
  CHECK(with("#define GROUP 256", "#define GROUP 2048") ==
        "shaders/add.comp: a group of 2048 invocations, of at most 1024");
  CHECK(with("uniform uint cells;", "uniform uint cells;\nshared float room[40][GROUP];") ==
        "shaders/add.comp: 40960 bytes of shared memory, of at most 32768");
  std::string many;
  for (int i = 3; i < 9; ++i) {
    many += "layout(std430, binding = " + std::to_string(i) + ") readonly buffer M" +
            std::to_string(i) + " { float m" + std::to_string(i) + "[]; };\n";
  }
  CHECK(refusal([&](std::string& text) {
          replace(text, "uniform", many + "uniform");
        }).find("more storage buffers than the 8") != std::string::npos);
  // What is taken: arrays side by side, and macros of several lines.
  CHECK(
      with("uniform uint cells;",
           "uniform uint cells;\nshared float a[20][GROUP], b[20][GROUP];\n#define TWO \\\n  2") ==
      "shaders/add.comp: 40960 bytes of shared memory, of at most 32768");
  const auto numbers = [](std::string_view) { return std::optional<std::int64_t>(7); };
  CHECK(test::evaluate("(a + 1) / 3 * 2 - a % 4", numbers) == 1);
  for (const std::string_view wrong : {"", "(1", "1 +", "1 2", "1 / (a - 7)"}) {
    CHECK_THROWS_AS(test::evaluate(wrong, numbers), std::invalid_argument);
  }
}

TEST_CASE("gl queue: a shader with a uniform that the host does not know is refused") {
  StrictGl gl;
  std::string text(embedded_file("shaders/softmax.comp"));
  replace(text, "uniform uint rows", "uniform uint twist, rows");
  replace(text, "row >= rows", "row >= rows + twist");
  GlBackendOptions options;
  options.program_folder.clear();
  options.calls = &gl.calls();
  options.texts = test::texts_with("shaders/softmax.comp", text);
  GlBackend backend(options);
  TrainingModel model(Config(), {1, 3, 5});
  CHECK_THROWS_WITH_AS(model.run(backend), doctest::Contains("uniform twist is not set"),
                       std::logic_error);
  CHECK(all(gl.take_problems()) == "");
}

}  // namespace headlight::test_gl_mock_catches
