// headlight train --storage: activations in 16 bits, a run that goes on, and what is refused.
#include <nlohmann/json.hpp>

#include "tests/cli/child.h"

namespace headlight::test::test_cli_train_storage {
namespace {

Args small(const char* storage, Args more) {
  more.insert(more.begin(),
              {"train", "--task", "reverse", "--layers", "3", "--heads", "2", "--d-model", "16",
               "--batch", "8", "--dropout", "0.1", "--storage", storage});
  return more;
}

nlohmann::json state_of(const std::string& folder) {
  return nlohmann::json::parse(read_bytes(folder + "/train.json"));
}

TEST_CASE("train --storage: a run that goes on has the bits of one that never stopped") {
  const Folder folder;
  const std::string kept = folder / "kept", whole = folder / "whole";
  for (const char* storage : {"float16", "bfloat16"}) {
    CAPTURE(std::string(storage));
    for (const char* checkpointing : {"off", "on"}) {
      const Args way = {"--checkpointing", checkpointing};
      run_well(joined(small(storage, {"--steps", "9", "--threads", "1", "--out", whole}), way));
      run_well(joined(small(storage, {"--steps", "4", "--threads", "2", "--out", kept}), way));
      run_well({"train", "--resume", kept, "--steps", "9", "--out", kept});
      CHECK(read_bytes(kept + "/model.safetensors") == read_bytes(whole + "/model.safetensors"));
      CHECK(state_of(kept)["storage"] == storage);
      const bool scaled = std::string(storage) == "float16";
      CHECK(state_of(kept).contains("loss_scale") == scaled);
      if (scaled) CHECK(state_of(kept)["loss_scale"]["good"] == 9);
    }
  }
  const std::string plain = folder / "plain";
  run_well(small("float32", {"--steps", "1", "--out", plain}));
  CHECK_FALSE(state_of(plain).contains("storage"));
  CHECK_FALSE(state_of(plain).contains("loss_scale"));
}

TEST_CASE("train --storage: the loss scale is told, falls, and the run ends with what to do") {
  CHECK(contains(run_well(small("float16", {"--steps", "2"})).err, "loss scale 65,536"));
  CHECK_FALSE(contains(run_well(small("bfloat16", {"--steps", "2"})).err, "loss scale"));
  const Folder folder;
  const std::string kept = folder / "kept";
  const Result far = run(small("float16", {"--steps", "40", "--lr", "9", "--out", kept}));
  CHECK(far.status == 1);
  for (const char* phrase : {"loss scale has fallen to 1", "--storage bfloat16", "--lr"})
    CHECK(contains(far.err, phrase));
  CHECK(state_of(kept)["loss_scale"]["scale"] == 1);
}

TEST_CASE("train --storage: what it cannot do it says") {
  const Args task = {"train", "--task", "copy", "--steps", "1"};
  check_refused(run(joined(task, {"--storage", "float8"})), 2,
                {"--storage", "float32, float16, bfloat16", "float8"});
  check_refused(run({"cost", "--storage", "half"}), 2, {"--storage", "bfloat16", "half"});
  check_refused(run(joined(task, {"--storage", "float16", "--backend", "gl"})), 2,
                {"float16", "processor", "--backend cpu"});
  const Folder folder;
  const std::string kept = folder / "kept";
  run_well(joined(task, {"--out", kept}));
  check_refused(run({"train", "--resume", kept, "--steps", "2", "--storage", "float16"}), 2,
                {"--storage", "goes on"});
  std::string broken = read_bytes(kept + "/train.json");
  broken.insert(broken.find("\"batch\""), "\"storage\": \"float8\", ");
  folder.write("kept/train.json", broken);
  check_refused(run({"train", "--resume", kept, "--steps", "2"}), 1, {"storage", "float8"});
}

TEST_CASE("cost --storage: a step needs less, and both kinds are told") {
  const auto cost = [](const char* storage) {
    const Args args = {"cost", "--tokens", "128", "--layers", "8",         "--vocab",
                       "90",   "--batch",  "16",  "--json",   "--storage", storage};
    return nlohmann::json::parse(run_well(args).out)["training"];
  };
  const auto whole = cost("float32"), half = cost("bfloat16");
  const double kept = whole["kept_bytes"], in_half = whole["kept_in_16_bits_bytes"];
  CHECK(in_half < 0.5 * kept);
  CHECK(half["kept_in_16_bits_bytes"] == in_half);
  CHECK(half["activations_bytes"].get<double>() < whole["activations_bytes"].get<double>());
  CHECK(half["weights_bytes"].get<double>() == 2 * whole["weights_bytes"].get<double>());
}

}  // namespace
}  // namespace headlight::test::test_cli_train_storage
