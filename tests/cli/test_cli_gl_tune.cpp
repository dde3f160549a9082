// tune: what is kept of a graphics card, listed and forgotten.
#include <fstream>

#include "tests/cli/child.h"
#include "tests/support/sanitized.h"

namespace headlight::test_cli_gl_tune {

using namespace headlight;
using namespace headlight::test;

TEST_CASE("tune: keeps what it found where the next run finds it, and forgets it when told to") {
  if (!can_compute()) return;
#if HEADLIGHT_SANITIZED
  // Times kernels for minutes there; the tuner itself is in test_gl, which runs with sanitizers.
  MESSAGE("skipped: with a sanitizer the tuner is tried in test_gl alone");
  return;
#endif
  const Folder folder;
  const Environment here = {{"XDG_CACHE_HOME", folder / "cache"}};
  const Result before = run_well({"tune", "--list"}, here);
  CHECK(contains(before.out, "tiles of "));
  CHECK(contains(before.out, "nothing is kept"));
  CHECK_FALSE(contains(before.out, "(tuned)"));
  CHECK(contains(run_well({"tune", "--forget"}, here).out, "nothing was kept"));

  const Result tuned = run_well({"tune", "--only", "cells"}, here);
  CHECK(contains(tuned.out, "as it was"));
  CHECK(contains(tuned.out, " ms "));
  CHECK_FALSE(contains(tuned.out, "is wrong"));
  const std::size_t at = tuned.out.find("kept in ");
  REQUIRE(at != std::string::npos);
  const std::string path = tuned.out.substr(at + 8, tuned.out.size() - at - 9);
  CHECK(contains(path, folder / "cache"));
  CHECK(std::filesystem::exists(path));
  CHECK(contains(run_well({"tune", "--list"}, here).out, "kept in " + path));
  CHECK(run_well({"trace", "--list", "--backend", "gl"}, here).err.empty());

  // Another program has written there.
  std::ofstream(path) << "not a table";
  const Result noted = run_well({"trace", "--list", "--backend", "gl"}, here);
  CHECK(contains(noted.err, "note: " + path));
  CHECK(contains(noted.err, "`headlight tune --forget`"));
  CHECK(contains(run_well({"tune", "--list"}, here).err, "note: " + path));
  CHECK_FALSE(contains(run_well({"tune", "--list"}, here).out, "nothing is kept"));

  // A newer Headlight has: nothing is measured that could not be kept.
  const std::string newer = "{\"format\": \"headlight kernel table 99\"}";
  std::ofstream(path) << newer;
  CHECK(contains(run_well({"trace", "--list", "--backend", "gl"}, here).err, "of version 99"));
  const Result refused = run({"tune", "--only", "cells"}, here);
  CHECK(refused.status == 1);
  CHECK(contains(refused.err, "stays as it is"));
  CHECK(read_bytes(path) == newer);
  CHECK(contains(run_well({"tune", "--forget"}, here).out, "deleted"));
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(run_well({"trace", "--list", "--backend", "gl"}, here).err.empty());
}

TEST_CASE("tune: what cannot be is refused") {
  check_refused(run({"tune", "--list", "--forget"}), 2, {"--list", "--forget"});
  check_refused(run({"tune", "--only", "rows"}), 2, {"--only", "long-rows"});
  if (!can_compute()) return;
  check_refused(run({"tune"}, {{"MESA_GL_VERSION_OVERRIDE", "4.2"}}), 1, {"OpenGL 4.3", "4.2"});
  const Environment nowhere = {{"XDG_CACHE_HOME", std::nullopt}, {"HOME", std::nullopt}};
  check_refused(run({"tune"}, nowhere), 1, {"XDG_CACHE_HOME"});
}

}  // namespace headlight::test_cli_gl_tune
