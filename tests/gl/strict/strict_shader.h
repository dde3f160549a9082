// What a compute shader's text declares: its buffers and whether it reads or writes them, its
// uniforms, its group. For the strict stand-in of OpenGL (strict_gl.h), which has no compiler.
#pragma once

#include <epoxy/gl.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::test {

/// The numbers that names in an expression stand for; nothing for a name that has none.
using Numbers = std::function<std::optional<std::int64_t>(std::string_view name)>;

/// A whole number from + − * / %, parentheses, numbers and names. Throws std::invalid_argument.
std::int64_t evaluate(std::string_view expression, const Numbers&);

struct StrictShader {
  /// `layout(std430, binding = 1) readonly buffer Weight { float w[]; };`
  struct Block {
    unsigned binding = 0;
    std::string name;
    bool reads = false, writes = false;
  };
  struct Uniform {
    std::string name;
    GLenum type = 0;  // GL_UNSIGNED_INT, GL_INT or GL_FLOAT
  };

  std::string file;  // "shaders/softmax.comp"; "an unknown shader" where its text is no kernel's
  std::vector<Block> blocks;
  std::vector<Uniform> uniforms;  // those that something reads, as a driver lists them
  std::map<std::string, std::string, std::less<>> defines;
  std::array<std::int64_t, 3> group{1, 1, 1};  // invocations along each axis
  std::int64_t shared_bytes = 0;

  /// A number that a #define stands for, or, of a name that it does not define, `others`.
  std::int64_t number(std::string_view name, const Numbers& others = {}) const;
  std::int64_t invocations() const { return group[0] * group[1] * group[2]; }
};

/// Reads a shader's whole text, included files and all (gl_source.h). It knows the directives that
/// our shaders use; throws std::invalid_argument, which says why, for others, and for declarations
/// that a strict reader does not take.
StrictShader read_shader(std::string_view text);

}  // namespace headlight::test
