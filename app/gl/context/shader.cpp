#include "app/gl/context/shader.h"

#include <epoxy/gl.h>

#include <algorithm>

#include "app/gl/context/egl_context.h"
#include "app/gl/context/embedded.h"
#include "core/base/error.h"

namespace headlight {
namespace {

/// The line that a compiler's message names, or "". Mesa writes "0:12(5): error", NVIDIA
/// "0(12) : error C1008", AMD and Intel "ERROR: 0:12: ".
std::string line_in(const std::string& log) {
  const auto is_digit = [&](std::size_t i) {
    return i < log.size() && log[i] >= '0' && log[i] <= '9';
  };
  for (std::size_t i = 0; i + 2 < log.size(); ++i) {
    const bool starts = i == 0 || log[i - 1] == ' ' || log[i - 1] == '\n';
    const bool place = log[i] == '0' && (log[i + 1] == ':' || log[i + 1] == '(');
    if (!starts || !place || !is_digit(i + 2)) continue;
    std::size_t end = i + 2;
    while (is_digit(end)) ++end;
    return log.substr(i + 2, end - i - 2);
  }
  return "";
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == 0 || text.back() == ' ')) {
    text.pop_back();
  }
  return text;
}

std::string shader_log(GLuint shader) {
  GLint length = 0;
  glGetShaderiv(shader, GL_INFO_LOG_LENGTH, &length);
  std::string log(static_cast<std::size_t>(length), 0);
  if (length > 0) glGetShaderInfoLog(shader, length, nullptr, log.data());
  return trimmed(log);
}

std::string program_log(GLuint program) {
  GLint length = 0;
  glGetProgramiv(program, GL_INFO_LOG_LENGTH, &length);
  std::string log(static_cast<std::size_t>(length), 0);
  if (length > 0) glGetProgramInfoLog(program, length, nullptr, log.data());
  return trimmed(log);
}

/// Compiles one stage into `program`; the shader object goes with the program.
void attach(GLuint program, const ShaderStage& stage) {
  const GLuint shader = glCreateShader(stage.kind);
  const char* text = stage.text.data();
  const GLint length = static_cast<GLint>(stage.text.size());
  glShaderSource(shader, 1, &text, &length);
  glCompileShader(shader);
  GLint good = 0;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  const std::string log = good ? "" : shader_log(shader);
  if (good) glAttachShader(program, shader);
  glDeleteShader(shader);  // the program keeps it while it is attached
  if (good) return;
  const std::string line = line_in(log);
  throw Error(std::string(stage.name) + (line.empty() ? "" : ", line " + line) +
              ": a shader that the driver (" + gl_description() +
              ") should compile does not compile: " + log +
              ". Correct that line; if the file is as it came, please report this text.");
}

}  // namespace

ShaderStage embedded_stage(std::string_view name) {
  const auto ends = [&](std::string_view end) {
    return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
  };
  const GLenum kind = ends(".vert")   ? GL_VERTEX_SHADER
                      : ends(".frag") ? GL_FRAGMENT_SHADER
                      : ends(".comp") ? GL_COMPUTE_SHADER
                                      : 0;
  const std::string_view text = embedded_file(name);
  if (text.empty() || kind == 0) {
    throw Error("The program was built without the shader " + std::string(name) +
                "; add it to headlight_embed in CMakeLists.txt, as a .vert, .frag or .comp file, "
                "and build again.");
  }
  return {kind, name, text};
}

std::string with_defines(std::string_view text, std::string_view lines) {
  const std::size_t first = std::min(text.find('\n'), text.size() - 1) + 1;
  return std::string(text.substr(0, first)) + std::string(lines) + "#line 2\n" +
         std::string(text.substr(first));
}

ShaderProgram::ShaderProgram(std::initializer_list<ShaderStage> stages) : id_(glCreateProgram()) {
  try {
    std::string names;
    for (const ShaderStage& stage : stages) {
      attach(id_, stage);
      names += (names.empty() ? "" : " and ") + std::string(stage.name);
    }
    glLinkProgram(id_);
    GLint good = 0;
    glGetProgramiv(id_, GL_LINK_STATUS, &good);
    if (!good) {
      throw Error(names + ": the shaders should link into one program on the driver (" +
                  gl_description() + ") and do not: " + program_log(id_) +
                  ". Make the outputs of one stage match the inputs of the next.");
    }
  } catch (...) {
    glDeleteProgram(id_);
    throw;
  }
}

ShaderProgram::~ShaderProgram() { glDeleteProgram(id_); }

void ShaderProgram::use() const { glUseProgram(id_); }

int ShaderProgram::uniform(const char* name) const { return glGetUniformLocation(id_, name); }

}  // namespace headlight
