// What the tests on the strict stand-in for OpenGL share.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "app/gl/compute/backend_gl.h"
#include "tests/gl/strict/strict_gl.h"

namespace headlight::test {

inline GlBackendOptions strict_options(const StrictGl& gl) {
  GlBackendOptions options;
  options.program_folder.clear();
  options.calls = &gl.calls();
  options.guard_cells = 16;
  return options;
}

inline void check_no_problem(StrictGl& gl) {
  for (const std::string& problem : gl.take_problems()) FAIL_CHECK(problem);
}

inline void check_nothing_left(StrictGl& gl) {
  gl.check_nothing_left();
  check_no_problem(gl);
}

}  // namespace headlight::test
