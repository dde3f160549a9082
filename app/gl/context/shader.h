// OpenGL programs from shader texts, with errors that name the file and the line.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace headlight {

/// One stage of a program. `name` is what errors call it (its file); `kind` is GL_VERTEX_SHADER,
/// GL_FRAGMENT_SHADER or GL_COMPUTE_SHADER.
struct ShaderStage {
  unsigned kind = 0;
  std::string_view name;
  std::string_view text;
};

/// The embedded file `name` as a stage, its kind from the ending (.vert, .frag, .comp). Throws
/// Error when the build did not embed it.
ShaderStage embedded_stage(std::string_view name);

/// A shader text with more lines (such as "#define TILED\n") after its first, which must be its
/// #version; later lines keep their numbers in errors.
std::string with_defines(std::string_view text, std::string_view lines);

/// A compiled and linked program. Needs a current context from first to last.
class ShaderProgram {
 public:
  /// Throws Error "shaders/x.frag, line 12: ..." when a stage does not compile, and one that names
  /// every stage when they do not fit together.
  explicit ShaderProgram(std::initializer_list<ShaderStage> stages);
  ~ShaderProgram();
  ShaderProgram(const ShaderProgram&) = delete;
  ShaderProgram& operator=(const ShaderProgram&) = delete;

  unsigned id() const { return id_; }
  void use() const;
  /// Where a uniform is; -1 (which OpenGL ignores) when the program has none of that name or the
  /// compiler dropped it.
  int uniform(const char* name) const;

 private:
  unsigned id_ = 0;
};

}  // namespace headlight
