// The GPU backend against PyTorch's numbers: traces and gradients of whole models.
#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/reference_checks.h"

namespace headlight::test_gl_reference {

using namespace test;

TEST_CASE("gl reference: every tensor of every model agrees with PyTorch's") {
  if (!compute_ready()) return;
  GlBackend gl(counting_options());
  ReferenceErrors errors;
  for (const Reference& r : read_references("reference")) check_trace(r, gl, errors);
  CHECK(errors.tensors > 2000);
  check_no_messages();
  MESSAGE(errors.text());
}

TEST_CASE("gl reference: every gradient of every model agrees with PyTorch's") {
  if (!compute_ready()) return;
  GlBackend gl(counting_options());
  ReferenceErrors errors;
  for (const Reference& r : read_references("reference/gradients")) check_gradients(r, gl, errors);
  CHECK(errors.activations > 700);
  check_no_messages();
  MESSAGE(errors.text());
}

}  // namespace headlight::test_gl_reference
