// --backend gl: the graphics card as a backend of the command line.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test_paths.h"
#include "tests/cli/child.h"

namespace headlight::test_cli_backends {

using namespace headlight;
using namespace headlight::test;

namespace {

const Args kSmall = {
    "--sentence", "the cat sat on the mat", "--d-model", "8", "--heads", "2", "--layers", "1"};
const Environment kOldGl = {{"MESA_GL_VERSION_OVERRIDE", "4.2"}};

// The losses of a log.
std::vector<double> losses(const std::string& path) {
  std::ifstream file(path);
  std::vector<double> found;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) found.push_back(std::stod(line.substr(line.find(',') + 1)));
  return found;
}

const Args kCopy = {"--task", "copy",      "--layers", "1",    "--heads", "2",       "--d-model",
                    "16",     "--dropout", "0.1",      "--lr", "0.01",    "--batch", "8"};

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
                  {"--backend gl", "OpenGL 4.3", "4.2", "--backend cpu"});
  }
}

TEST_CASE("compare-backends: every result of every backend is within its limit") {
  if (!can_compute()) return;
  const Folder folder;
  const Result said =
      run_well(joined({"compare-backends", "--gradients", "--json", folder / "a.json"}, kSmall));
  CHECK(contains(said.out, "cpu (processor) against reference\n"));
  CHECK(contains(said.out, ") against reference\n"));
  const auto list = nlohmann::json::parse(read_bytes(folder / "a.json"));
  REQUIRE(list.size() == 2);
  for (const auto& run : list) {
    CAPTURE(run["backend"]);
    CHECK(run["within"] == true);
    CHECK(run["first_beyond"].is_null());
    std::size_t differ = 0, gradients = 0;
    for (const auto& row : run["rows"]) {
      const std::string tensor = row["tensor"];
      CHECK(row["backward"] == tensor.starts_with("d."));
      gradients += tensor.starts_with("d.");
      // A sum that is alone in passing its gradient on lends it: nothing is computed.
      const auto& time = row["milliseconds"][run["backend"].get<std::string>()];
      CHECK((time.is_number() || (row["backward"] == true && row["operation"] == "add backward")));
      CHECK(contains(said.out, tensor));
      if (row["index"].empty()) continue;
      ++differ;
      CHECK_FALSE(row["where"].get<std::string>().empty());
      CHECK(row["largest"].get<double>() > 0);
    }
    CHECK(differ > 10);
    CHECK(gradients > 20);
  }
}

// What was made from softmax and the loss is asked to be as near as these, not nearer; and of foci
// that lie far apart the penalty is what rounding leaves of it.
TEST_CASE("compare-backends: the bundled models are within their limits, gradients too") {
  if (!can_compute()) return;
  for (const char* model : {"sentiment", "sort", "poems"}) {
    CAPTURE(model);
    run_well({"compare-backends", "--gradients", "--model", model});
  }
}

TEST_CASE("compare-backends: the last line says what the exit status does") {
  if (!can_compute()) return;
  // Where softmax is nearly all or nothing one backend may be beyond its limit and the other not.
  for (const char* seed : {"1", "2", "3", "4"}) {
    CAPTURE(seed);
    const Result said = run({"compare-backends", "--temperature", "0.05", "--seed", seed});
    const std::size_t last = said.out.rfind('\n', said.out.size() - 2) + 1;
    CHECK((said.status == 1) == contains(said.out.substr(last), "first beyond its limit"));
    CHECK((said.status == 0) == contains(said.out.substr(last), "all within their limits"));
  }
}

TEST_CASE("compare-backends: a shader that is wrong is named, and at its own step") {
  if (!can_compute()) return;
  const Folder folder;
  std::string text = read_bytes(std::string(HEADLIGHT_TEST_DIR) + "../shaders/gelu.comp");
  const std::string right = "normal_cdf(x[i], bell)";
  REQUIRE(contains(text, right));
  text.insert(text.find(right), "1.01 * ");
  const std::string broken = folder.write("gelu.comp", text);
  const Result said = run(joined(
      {"compare-backends", "--against", "cpu", "--broken-shader", "gelu.comp=" + broken}, kSmall));
  CHECK(said.status == 1);
  CHECK(contains(said.out, "first beyond its limit: gelu, blocks.0.mlp.post at ["));
  const std::string unreadable = folder.write("bad.comp", "#version 430\nnonsense\n");
  check_refused(run(joined({"compare-backends", "--against", "cpu", "--broken-shader",
                            "gelu.comp=" + unreadable},
                           kSmall)),
                1, {"shaders/gelu.comp, line 2"});
  check_refused(run(joined({"compare-backends", "--broken-shader", "nothing.comp=a"}, kSmall)), 2,
                {"--broken-shader", "nothing.comp"});
}

TEST_CASE(
    "backend: unknown names are refused; pictures of a window are made on the graphics card") {
  check_refused(run(joined({"trace", "--list", "--backend", "cuda"}, kSmall)), 2,
                {"'cuda'", "reference, cpu or gl"});
  const Folder folder;
  check_refused(run({"screenshot", "--backend", "cuda", "--out", folder / "a.png"}), 2,
                {"'cuda'", "reference"});
  if (!can_compute()) return;
  for (const std::string name : {"gl", "both"}) {
    run_well(joined({"screenshot", "--backend", name, "--out", folder / (name + ".png")}, kSmall));
    CHECK(std::filesystem::file_size(folder / (name + ".png")) > 10000);
  }
}

TEST_CASE("train: on the graphics card, and on from there on the processor, and back") {
  if (!can_compute()) return;
  const Folder folder;
  const auto train = [&](const std::string& name, const std::string& backend,
                         const std::string& steps, const Args& more) {
    return run_well(joined({"train", "--backend", backend, "--steps", steps, "--out", folder / name,
                            "--log", (folder / name) + ".csv"},
                           more));
  };
  const Result here = train("here", "cpu", "15", kCopy);
  CHECK(contains(here.err, "training on the processor ("));
  const Result there = train("there", "gl", "5", kCopy);
  CHECK_FALSE(contains(there.err, "training on the processor"));
  CHECK(contains(there.err, "training on "));
  CHECK(contains(there.err, "new examples: "));
  train("there", "cpu", "10", {"--resume", folder / "there"});
  train("there", "gl", "15", {"--resume", folder / "there"});
  const auto expected = losses((folder / "here") + ".csv"),
             got = losses((folder / "there") + ".csv");
  REQUIRE(expected.size() == 15);
  REQUIRE(got.size() == 15);
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-3));
  CHECK(read_safetensors(folder / "here/model.safetensors").entries ==
        read_safetensors(folder / "there/model.safetensors").entries);
}

TEST_CASE("train: when the graphics card fails the run is kept, and goes on on the processor") {
  if (!can_compute()) return;
  const Folder folder;
  run_well(joined({"train", "--steps", "3", "--out", folder / "run"}, kCopy));
  const std::string bad = folder.write("bad.comp", "#version 430\nnonsense\n");
  // In the middle of the first update; and forward, before it.
  for (const char* shader : {"adam.comp", "attention.comp"}) {
    CAPTURE(shader);
    const Result failed =
        run({"train", "--resume", folder / "run", "--out", folder / shader, "--steps", "6",
             "--backend", "gl", "--broken-shader", std::string(shader) + "=" + bad});
    CHECK(failed.status == 1);
    for (const std::string& words :
         {std::string("stopped at step 3"), std::string(shader) + ", line 2",
          std::string("as of step 3"), std::string("--backend cpu --steps 6")})
      CHECK(contains(failed.err, words));
    CHECK(read_bytes(folder / "run/model.safetensors") ==
          read_bytes((folder / shader) + "/model.safetensors"));
    run_well({"train", "--resume", folder / shader, "--backend", "cpu", "--steps", "6", "--out",
              folder / shader});
  }
  const Result unsaved = run(joined(
      {"train", "--steps", "6", "--backend", "gl", "--broken-shader", "adam.comp=" + bad}, kCopy));
  CHECK(unsaved.status == 1);
  CHECK(contains(unsaved.err, "Nothing was saved"));
}

TEST_CASE("train: other backends are refused, and no OpenGL 4.3 is said") {
  for (const char* name : {"reference", "cuda"}) {
    check_refused(run(joined({"train", "--backend", name}, kCopy)), 2,
                  {std::string("'") + name + "'", "cpu or gl"});
  }
  if (!can_compute()) return;
  check_refused(run(joined({"train", "--backend", "gl"}, kCopy), kOldGl), 1,
                {"--backend gl", "OpenGL 4.3", "4.2", "--backend cpu"});
}

}  // namespace headlight::test_cli_backends
