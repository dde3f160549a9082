// The strict stand-in's shaders and programs.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "tests/gl/strict/strict_gl.h"

namespace headlight::test {
namespace {

constexpr GLenum kBinaryFormat = 0x4711;

std::string number(std::int64_t value) { return std::to_string(value); }

void copy_text(std::string_view text, GLsizei size, GLsizei* length, GLchar* to) {
  if (size <= 0) return;
  const std::size_t count = std::min(text.size(), static_cast<std::size_t>(size) - 1);
  std::memcpy(to, text.data(), count);
  to[count] = 0;
  if (length) *length = static_cast<GLsizei>(count);
}

}  // namespace

void StrictGl::compile(GLuint id) {
  Shader* shader = find(shaders_, id, "shader", "glCompileShader");
  if (!shader) return;
  if (shader->source.empty()) report("glCompileShader: a shader without a text");
  try {
    shader->text = read_shader(shader->source);
    shader->good = true;
  } catch (const std::invalid_argument& error) {
    shader->good = false;
    shader->log = std::string("0:1: ") + error.what();
    report("glCompileShader: " + shader->log);
  }
}

void StrictGl::become(Program& program, StrictShader text, std::string source) {
  const std::string& file = text.file;
  if (text.invocations() > limits_.group_invocations) {
    report(file + ": a group of " + number(text.invocations()) + " invocations, of at most " +
           number(limits_.group_invocations));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (text.group[axis] <= limits_.group_size[axis]) continue;
    report(file + ": a group is too large along axis " + number(static_cast<std::int64_t>(axis)));
  }
  if (text.shared_bytes > limits_.shared_bytes) {
    report(file + ": " + number(text.shared_bytes) + " bytes of shared memory, of at most " +
           number(limits_.shared_bytes));
  }
  if (static_cast<std::int64_t>(text.blocks.size()) > limits_.blocks) {
    report(file + ": more storage buffers than the " + number(limits_.blocks) + " there are");
  }
  program.values.assign(text.uniforms.size(), 0);
  program.set.assign(text.uniforms.size(), false);
  program.active.assign(text.uniforms.size(), !has_driver_);
  program.locations.clear();
  program.text = std::move(text);
  program.source = std::move(source);
  program.linked = true;
}

void StrictGl::link(GLuint id) {
  Program* program = find(programs_, id, "program", "glLinkProgram");
  if (!program) return;
  const Shader* shader = find(shaders_, program->shader, "shader", "glLinkProgram");
  if (!shader) return;
  if (!shader->good) return report("glLinkProgram: a shader that is not compiled");
  become(*program, shader->text, shader->source);
}

/// The functions of the table that have to do with programs.
struct StrictProgramCalls {
  static StrictGl& now() { return *StrictGl::now_; }
  static const GlCalls* driver() {
    return StrictGl::now_->has_driver_ ? &StrictGl::now_->driver_ : nullptr;
  }

  static void fill_shaders(GlCalls& gl) {
    gl.create_shader = [](GLenum kind) -> GLuint {
      if (kind != GL_COMPUTE_SHADER) now().report("glCreateShader: unknown kind " + number(kind));
      const GLuint id = driver() ? driver()->create_shader(kind) : now().new_id();
      now().shaders_[id] = {};
      return id;
    };
    gl.shader_source = [](GLuint id, GLsizei count, const GLchar* const* texts,
                          const GLint* lengths) {
      if (auto* shader = now().find(now().shaders_, id, "shader", "glShaderSource")) {
        shader->source.clear();
        for (GLsizei i = 0; i < count; ++i) {
          if (lengths && lengths[i] >= 0) {
            shader->source.append(texts[i], static_cast<std::size_t>(lengths[i]));
          } else {
            shader->source += texts[i];
          }
        }
      }
      if (driver()) driver()->shader_source(id, count, texts, lengths);
    };
    gl.compile_shader = [](GLuint id) {
      now().compile(id);
      if (driver()) driver()->compile_shader(id);
    };
    gl.get_shaderiv = [](GLuint id, GLenum name, GLint* value) {
      auto* shader = now().find(now().shaders_, id, "shader", "glGetShaderiv");
      if (name != GL_COMPILE_STATUS && name != GL_INFO_LOG_LENGTH) {
        now().report("glGetShaderiv: unknown name " + number(name));
      }
      if (driver()) return driver()->get_shaderiv(id, name, value);
      if (!shader) return;
      *value =
          name == GL_COMPILE_STATUS ? shader->good : static_cast<GLint>(shader->log.size()) + 1;
    };
    gl.get_shader_info_log = [](GLuint id, GLsizei size, GLsizei* length, GLchar* text) {
      auto* shader = now().find(now().shaders_, id, "shader", "glGetShaderInfoLog");
      if (driver()) return driver()->get_shader_info_log(id, size, length, text);
      if (shader) copy_text(shader->log, size, length, text);
    };
    gl.delete_shader = [](GLuint id) {
      now().erase(now().shaders_, id, "shader", "glDeleteShader");
      if (driver()) driver()->delete_shader(id);
    };
  }

  static void fill_programs(GlCalls& gl) {
    gl.create_program = []() -> GLuint {
      const GLuint id = driver() ? driver()->create_program() : now().new_id();
      now().programs_[id] = {};
      return id;
    };
    gl.attach_shader = [](GLuint id, GLuint shader) {
      auto* program = now().find(now().programs_, id, "program", "glAttachShader");
      if (program && now().find(now().shaders_, shader, "shader", "glAttachShader")) {
        program->shader = shader;
      }
      if (driver()) driver()->attach_shader(id, shader);
    };
    gl.link_program = [](GLuint id) {
      now().link(id);
      if (driver()) driver()->link_program(id);
    };
    gl.get_program_info_log = [](GLuint id, GLsizei size, GLsizei* length, GLchar* text) {
      now().find(now().programs_, id, "program", "glGetProgramInfoLog");
      if (driver()) return driver()->get_program_info_log(id, size, length, text);
      copy_text("", size, length, text);
    };
    gl.program_parameteri = [](GLuint id, GLenum name, GLint value) {
      now().find(now().programs_, id, "program", "glProgramParameteri");
      if (name != GL_PROGRAM_BINARY_RETRIEVABLE_HINT) {
        now().report("glProgramParameteri: unknown name " + number(name));
      }
      if (driver()) driver()->program_parameteri(id, name, value);
    };
    gl.delete_program = [](GLuint id) {
      now().erase(now().programs_, id, "program", "glDeleteProgram");
      if (driver()) driver()->delete_program(id);
    };
    gl.get_programiv = [](GLuint id, GLenum name, GLint* value) {
      const auto* program = now().find(now().programs_, id, "program", "glGetProgramiv");
      if (driver()) return driver()->get_programiv(id, name, value);
      if (program) *value = program_number(*program, name);
    };
  }

  static GLint program_number(const StrictGl::Program& program, GLenum name) {
    switch (name) {
      case GL_LINK_STATUS:
        return program.linked;
      case GL_INFO_LOG_LENGTH:
        return 1;
      case GL_PROGRAM_BINARY_LENGTH:
        return static_cast<GLint>(program.source.size());
      case GL_ACTIVE_UNIFORMS:
        return static_cast<GLint>(program.text.uniforms.size());
      default:
        now().report("glGetProgramiv: unknown name " + number(name));
        return 0;
    }
  }

  // A kept program is its text.
  static void fill_binaries(GlCalls& gl) {
    gl.get_program_binary = [](GLuint id, GLsizei size, GLsizei* length, GLenum* format,
                               void* bytes) {
      const auto* program = now().find(now().programs_, id, "program", "glGetProgramBinary");
      if (driver()) return driver()->get_program_binary(id, size, length, format, bytes);
      if (!program) return;
      if (static_cast<std::size_t>(size) < program->source.size()) {
        return now().report("glGetProgramBinary: no room");
      }
      std::memcpy(bytes, program->source.data(), program->source.size());
      *length = static_cast<GLsizei>(program->source.size());
      *format = kBinaryFormat;
    };
    gl.program_binary = [](GLuint id, GLenum format, const void* bytes, GLsizei length) {
      auto* program = now().find(now().programs_, id, "program", "glProgramBinary");
      if (driver()) {
        now().report("glProgramBinary: with a driver behind it nothing is known of the program");
        return driver()->program_binary(id, format, bytes, length);
      }
      if (!program) return;
      if (format != kBinaryFormat) {
        now().error_ = GL_INVALID_ENUM;
        return;
      }
      std::string source(static_cast<const char*>(bytes), static_cast<std::size_t>(length));
      StrictShader text = read_shader(source);
      now().become(*program, std::move(text), std::move(source));
    };
  }

  static void fill_uniforms(GlCalls& gl) {
    gl.get_active_uniform = [](GLuint id, GLuint index, GLsizei size, GLsizei* length, GLint* count,
                               GLenum* type, GLchar* name) {
      auto* program = now().find(now().programs_, id, "program", "glGetActiveUniform");
      if (!program) return;
      auto& uniforms = program->text.uniforms;
      if (driver()) {
        driver()->get_active_uniform(id, index, size, length, count, type, name);
        for (std::size_t i = 0; i < uniforms.size(); ++i) {
          if (uniforms[i].name == name) program->active[i] = true;
        }
        return;
      }
      if (index >= uniforms.size()) return now().report("glGetActiveUniform: beyond the last");
      if (static_cast<std::size_t>(size) <= uniforms[index].name.size()) {
        now().report("glGetActiveUniform: no room for " + uniforms[index].name);
      }
      copy_text(uniforms[index].name, size, length, name);
      *count = 1;
      *type = uniforms[index].type;
    };
    gl.get_uniform_location = [](GLuint id, const GLchar* name) -> GLint {
      auto* program = now().find(now().programs_, id, "program", "glGetUniformLocation");
      GLint location = driver() ? driver()->get_uniform_location(id, name) : -1;
      for (std::size_t i = 0; program && i < program->text.uniforms.size(); ++i) {
        if (program->text.uniforms[i].name != name) continue;
        // No two programs have a location in common, so that one of another is noticed.
        if (!driver()) location = static_cast<GLint>(100 * id + i);
        if (location >= 0) program->locations[location] = i;
      }
      return location;
    };
    gl.uniform1ui = [](GLint location, GLuint value) {
      now().set_uniform(location, GL_UNSIGNED_INT, value, "glUniform1ui");
      if (driver()) driver()->uniform1ui(location, value);
    };
    gl.uniform1f = [](GLint location, GLfloat value) {
      now().set_uniform(location, GL_FLOAT, value != 0, "glUniform1f");
      if (driver()) driver()->uniform1f(location, value);
    };
  }
};

void StrictGl::fill_programs() {
  StrictProgramCalls::fill_shaders(calls_);
  StrictProgramCalls::fill_programs(calls_);
  StrictProgramCalls::fill_binaries(calls_);
  StrictProgramCalls::fill_uniforms(calls_);
}

}  // namespace headlight::test
