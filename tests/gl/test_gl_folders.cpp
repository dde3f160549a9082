// The GPU backend against an independent implementation's numbers: model folders of every type.
#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/folder_checks.h"

namespace headlight::test_gl_folders {

using namespace test;

TEST_CASE("gl folders: every number of each type is that of an independent implementation") {
  if (!compute_ready()) return;
  GlBackend gl(counting_options());
  const auto folders = reference_folders();
  CHECK(folders.size() >= 20);
  for (const auto& folder : folders) check_folder(folder, gl);
  check_no_messages();
}

}  // namespace headlight::test_gl_folders
