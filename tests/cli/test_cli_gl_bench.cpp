// bench gl, bench switch: the kernels of the graphics card beside what it can do, and what choosing
// it takes.
#include <nlohmann/json.hpp>

#include "tests/cli/child.h"

namespace headlight::test_cli_gl_bench {

using namespace headlight;
using namespace headlight::test;

namespace {

const Environment kOldGl = {{"MESA_GL_VERSION_OVERRIDE", "4.2"}};

}  // namespace

TEST_CASE("bench gl: says the device, its limits, and each kernel's rate and share") {
  if (!can_compute()) return;
  const Folder folder;
  const std::string path = folder / "a.json";
  const Result said = run_well(
      {"bench", "gl", "--only", "softmax", "--json", path, "--rate", "500", "--bandwidth", "25"});
  const auto all = nlohmann::json::parse(read_bytes(path));
  CHECK(contains(said.out, all["device"]));
  CHECK(contains(said.out, "shares are of 500.0 GFLOP/s and 25.00 GB/s"));
  CHECK(all["measured"]["gflops"].get<double>() > 0);
  CHECK(all["measured"]["gbs"].get<double>() > 0);
  CHECK(all["limits"]["gflops"] == 500);
  CHECK(all["limits"]["gbs"] == 25);
  REQUIRE(all["rows"].size() == 2);
  for (const auto& row : all["rows"]) {
    CAPTURE(row);
    CHECK(contains(said.out, row["kernel"]));
    CHECK(row["unit"] == "GB/s");
    const double rate = row["rate"], milliseconds = row["milliseconds"], share = row["share"];
    CHECK(milliseconds > 0);
    CHECK(share == doctest::Approx(rate / 25));
    // Nothing is asked of a processor that does a graphics card's work.
    CHECK(row["asked"].is_null() == !all["hardware"].get<bool>());
    if (all["hardware"]) continue;
    const double cells = 2048.0 * 1024, bytes = row["kernel"] == "softmax.comp" ? 8 : 12;
    CHECK(row["shape"] == "2048 x 1024");
    CHECK(rate * milliseconds == doctest::Approx(cells * bytes * 1e-6));
  }
  CHECK(all["rows"][0]["kernel"] == "softmax.comp");
  CHECK(all["rows"][1]["kernel"] == "softmax_backward.comp");
}

TEST_CASE("bench gl: what cannot be is refused") {
  check_refused(run({"bench", "gl", "--only", "sofa"}), 2, {"--only", "softmax"});
  check_refused(run({"bench", "gl", "--rate", "0"}), 2, {"--rate", "above 0", "'0'"});
  check_refused(run({"bench", "gl", "--bandwidth", "-3"}), 2, {"--bandwidth", "above 0", "'-3'"});
  check_refused(run({"bench", "gl", "--rate", "inf"}), 2, {"--rate", "'inf'"});
  if (!can_compute()) return;
  check_refused(run({"bench", "gl"}, kOldGl), 1, {"OpenGL 4.3", "4.2"});
}

TEST_CASE("bench switch: says what choosing the graphics card takes, the first time and later") {
  const std::vector<std::string> small = {"bench", "switch", "--layers", "1", "--d-model", "16"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> all = small;
    all.insert(all.end(), more);
    return all;
  };
  check_refused(run(with({"--heads", "0"})), 2, {"--heads"});
  check_refused(run(with({"--heads", "3"})), 2, {"16", "3 heads"});
  if (!can_compute()) return;
  const Result said = run_well(with({"--heads", "2", "--tokens", "3"}));
  for (const char* row : {"the first time", "GPU to CPU", "from the second time on", "both"})
    CHECK(contains(said.out, row));
  CHECK(contains(said.out, "OpenGL 4."));
  CHECK(contains(said.out, "asked 1000"));
  check_refused(run(with({"--heads", "2"}), kOldGl), 1, {"OpenGL 4.3", "4.2"});
}

}  // namespace headlight::test_cli_gl_bench
