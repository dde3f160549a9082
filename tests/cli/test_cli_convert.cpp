// headlight convert: what it says, writes and refuses; numbers: tests/model/test_convert.cpp.
#include <nlohmann/json.hpp>

#include "tests/cli/child.h"
#include "tests/cli/shell.h"

namespace headlight::test::test_cli_convert {

TEST_CASE("convert: a bundled model as the type that fits, and back") {
  const Folder folder;
  const Result made = run_well({"convert", "bundled:stories", "--out", folder / "out"});
  CHECK(contains(made.out, "type gpt2"));
  CHECK(contains(made.out, "as f32"));
  CHECK(made.err.empty());
  const auto config = nlohmann::json::parse(read_bytes(folder / "out/config.json"));
  CHECK(config["model_type"] == "gpt2");
  CHECK(config["torch_dtype"] == "float32");
  CHECK(config["eos_token_id"].is_null());
  CHECK(contains(run_well({"info", folder / "out"}).out, "gpt2"));
  const Args text = {"--text", "One day, a cat", "--json"};
  CHECK(run_well(joined({"tokenize", "--model", folder / "out"}, text)).out ==
        run_well(joined({"tokenize", "--model", "bundled:stories"}, text)).out);
  CHECK(contains(run_well({"convert", folder / "out", "--out", folder / "own"}).out,
                 "type headlight"));
  const Args prompt = {"--prompt", "One day", "--greedy", "--tokens", "8"};
  CHECK(run_well(joined({"generate", "--model", folder / "own"}, prompt)).out ==
        run_well(joined({"generate", "--model", "bundled:stories"}, prompt)).out);
}

TEST_CASE("convert: what it refuses, in a sentence, and writes nothing") {
  const Folder folder;
  const auto refused = [&](const Args& args, int status, const std::vector<std::string>& said) {
    check_refused(run(joined({"convert", "--out", folder / "out"}, args)), status, said);
    CHECK(!std::filesystem::exists(folder / "out"));
  };
  refused({"bundled:stories", "--to", "gpt3"}, 2, {"--to", "gpt2, llama, bert, headlight", "gpt3"});
  refused({"bundled:stories", "--dtype", "f8"}, 2, {"--dtype", "f32, f16, bf16", "f8"});
  refused({"bundled:stories", "--to", "headlight", "--dtype", "bf16"}, 2, {"bf16"});
  refused({"bundled:stories", "--to", "bert"}, 1, {"--block pre-norm (bert: post-norm)"});
  refused({"bundled:masked"}, 1, {"gpt2", "llama", "bert", "--to headlight"});
  refused({"bundled:dates", "--to", "gpt2"}, 1, {"--form translate (gpt2: tokens)"});
  refused({"bundled:sort", "--to", "gpt2"}, 1, {"--head-bias on"});
  check_refused(run({"convert", "bundled:stories", "--out", "/dev/full/out"}), 1, {"/dev/full"});
  refused({"bundled:stories", "--text", "a.txt"}, 2, {"--text", "--to pytorch"});
  refused({"bundled:stories", "--to", "gpt2", "--steps", "5"}, 2, {"--steps", "--to pytorch"});
  // A model of words, whose tokenizer others cannot have.
  run_well({"train", "--task", "reverse", "--layers", "1", "--heads", "2", "--d-model", "8",
            "--positions", "learned", "--head-bias", "off", "--steps", "1", "--out",
            folder / "words"});
  refused({folder / "words"}, 1, {"--no-tokenizer", "words"});
  check_refused(run({"convert", folder / "words", "--out", folder / "words/sub"}), 2,
                {"in each other"});
  const Result bare =
      run_well({"convert", folder / "words", "--no-tokenizer", "--out", folder / "bare"});
  CHECK(contains(bare.err, "ids stand for tokens"));
  CHECK(!std::filesystem::exists(folder / "bare/tokenizer.json"));
  // A folder of somebody else.
  std::filesystem::create_directory(folder / "taken");
  folder.write("taken/config.json", "{}");
  check_refused(run({"convert", "bundled:stories", "--out", folder / "taken"}), 1,
                {"did not write"});
  CHECK(read_bytes(folder / "taken/config.json") == "{}");
}

TEST_CASE("convert: a disk that is full leaves the folder as it was") {
  const Folder folder;
  const std::string line =
      "ulimit -f 64; trap '' XFSZ; \"$HEADLIGHT\" convert bundled:stories --out ";
  const Result none = run_shell(line + (folder / "out"));
  CHECK(none.status == 1);
  CHECK(contains(none.err, "out"));
  CHECK(!std::filesystem::exists(folder / "out"));
  run_well({"convert", "bundled:sort", "--to", "headlight", "--out", folder / "out"});
  const std::string before = read_bytes(folder / "out/model.safetensors");
  CHECK(run_shell(line + (folder / "out")).status == 1);
  CHECK(read_bytes(folder / "out/model.safetensors") == before);
  CHECK(contains(run_well({"info", folder / "out"}).out, "headlight"));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder / "."))
    ++files;
  CHECK(files == 1);  // no temporary one beside it
}

}  // namespace headlight::test::test_cli_convert
