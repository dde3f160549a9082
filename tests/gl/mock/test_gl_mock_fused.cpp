// Attention as one kernel on the strict stand-in for OpenGL: shapes about the tiles' edges, on
// devices of large groups and of small ones.
#include <doctest/doctest.h>

#include "app/gl/context/embedded.h"
#include "tests/gl/mock/test_gl_mock_support.h"
#include "tests/support/attention_case.h"

namespace headlight::test_gl_mock_fused {

using test::check_no_problem;
using test::check_nothing_left;
using test::least_limits;
using test::strict_options;
using test::StrictGl;

TEST_CASE("strict gl: attention takes as much shared memory as its table says") {
  GlLimits small = least_limits();
  small.group_invocations = 128;
  for (const GlLimits& limits : {least_limits(), small}) {
    const KernelTable table = KernelTable::of(limits);
    const auto bytes = [&](Kernel kernel) {
      const GlSource source =
          gl_source(kernel_info(kernel).file, table.defines(kernel, 1), embedded_file);
      return test::read_shader(source.text).shared_bytes;
    };
    CHECK(bytes(Kernel::kAttention) == table.attention.shared_bytes());
    for (const Kernel kernel :
         {Kernel::kAttentionBackwardQ, Kernel::kAttentionBackwardK, Kernel::kAttentionBackwardV}) {
      CHECK(bytes(kernel) < table.attention.shared_bytes());
    }
  }
}

TEST_CASE("strict gl: attention as one kernel, forward and backward") {
  GlLimits small = least_limits();
  small.group_invocations = 128;
  small.shared_bytes = 8192;
  small.group_count = {13, 300, 8};  // 97 rows in tiles of 16 fit, and 6 heads
  for (const GlLimits& limits : {least_limits(), small}) {
    StrictGl gl(limits);
    {
      GlBackend backend(strict_options(gl));
      for (const AttentionCase& c : attention_cases()) {
        CAPTURE(c.text());
        AttentionRun run(c);
        GlStorage storage(gl.calls(), 16);
        storage.fusion = backend.fusion_for(run.program);
        REQUIRE(storage.fusion != nullptr);
        backend.use(&storage);
        run.run(backend);
        run.run(backend, true);
        CHECK(backend.guards_hold());
        CHECK(run.guards_hold());
        backend.use(nullptr);
        check_no_problem(gl);
      }
      CHECK(backend.fallbacks().empty());
      CHECK(gl.kernels().size() ==
            5 + 3);  // what splits heads, forward and backward, and turns them
    }
    check_nothing_left(gl);
  }
}

}  // namespace headlight::test_gl_mock_fused
