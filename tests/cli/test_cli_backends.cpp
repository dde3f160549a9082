// --backend gl: the graphics card as a backend of the command line.
#include <cmath>
#include <iostream>

#include "tests/cli/child.h"

using namespace headlight;
using namespace headlight::test;

namespace {

const Args kSmall = {
    "--sentence", "the cat sat on the mat", "--d-model", "8", "--heads", "2", "--layers", "1"};
const Environment kOldGl = {{"MESA_GL_VERSION_OVERRIDE", "4.2"}};

// Is there a driver to compute with?
bool can_compute() {
  static const Result tried = run(joined({"trace", "--list", "--backend", "gl"}, kSmall));
  if (tried.status == 0) return true;
  std::cout << "SKIPPED: " << tried.err << std::endl;
  const char* required = std::getenv("HEADLIGHT_REQUIRE_GL");
  if (required && std::string(required) != "0") FAIL_CHECK("OpenGL is required here: ", tried.err);
  return false;
}

}  // namespace

TEST_CASE("backend gl: a trace has the reference's numbers, gradients too") {
  if (!can_compute()) return;
  const Folder folder;
  SafetensorsFile files[2];
  for (int i = 0; i < 2; ++i) {
    const std::string path = folder / "run.safetensors";
    run_well(joined(
        {"trace", "--gradients", "--backend", i == 0 ? "reference" : "gl", "--out", path}, kSmall));
    files[i] = read_safetensors(path);
  }
  CHECK(files[0].entries == files[1].entries);
  for (const char* name : {"blocks.0.attn.pattern", "probs", "loss", "d.embed"}) {
    CAPTURE(name);
    const auto expected = tensor_as_float(files[0], name), got = tensor_as_float(files[1], name);
    double difference = 0, square = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      difference += std::pow(static_cast<double>(got[i]) - expected[i], 2);
      square += std::pow(static_cast<double>(expected[i]), 2);
    }
    CHECK(square > 0);
    CHECK(difference <= 1e-10 * square);
  }
}

TEST_CASE("backend gl: where there is no OpenGL 4.3 it says so, and what to do") {
  if (!can_compute()) return;
  for (const Args& command : {Args{"trace", "--list"},
                              Args{"explain", "--tensor", "probs", "--at", "0,0"}, Args{"code"}}) {
    check_refused(run(joined(joined(command, {"--backend", "gl"}), kSmall), kOldGl), 1,
                  {"--backend gl", "OpenGL 4.3", "4.2", "--backend eigen"});
  }
}

TEST_CASE("backend: unknown names and windows on the graphics card are refused") {
  check_refused(run(joined({"trace", "--list", "--backend", "cuda"}, kSmall)), 2,
                {"'cuda'", "reference, eigen or gl"});
  const Folder folder;
  check_refused(run({"screenshot", "--backend", "gl", "--out", folder / "a.png"}), 2,
                {"--backend gl", "reference or eigen"});
}
