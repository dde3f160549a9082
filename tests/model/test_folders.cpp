// Model folders of other programs: their numbers, and what is said of folders that are not right.
#include <doctest/doctest.h>

#include "tests/support/folder_checks.h"

namespace headlight {

TEST_CASE("folders: every number of each type is that of an independent implementation") {
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = make_backend(name, 2);
    for (const auto& folder : reference_folders()) check_folder(folder, *backend);
  }
}

}  // namespace headlight
