// What files, numbers and machines can do to the program: refused or said, never waited for, never
// a crash.
#include <cstdint>
#include <fstream>

#include "tests/cli/shell.h"
#include "tests/support/sanitized.h"

namespace headlight::test::test_cli_limits {
namespace {

const Args kTiny = {"train", "--task", "copy", "--layers", "1", "--heads", "1", "--d-model", "8"};

Result train(const Args& more) { return run(joined(kTiny, more)); }

// A file of `size` bytes that begins so; the rest are holes.
std::string sparse(const Folder& folder, const std::string& name, const std::string& begin,
                   std::uint64_t size) {
  const std::string path = folder.write(name, begin);
  std::filesystem::resize_file(path, size);
  return path;
}

std::string safetensors_of(const std::string& header) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header;
}

std::string npy_of(const std::string& shape) {
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
}

}  // namespace

TEST_CASE("train: a number that could not be read back is refused before the first step") {
  const Folder folder;
  const std::vector<std::pair<Args, std::string>> given = {
      {{"--clip", "inf"}, "norm of the gradients"},
      {{"--clip", "-1"}, "norm of the gradients"},
      {{"--clip", "nan"}, "norm of the gradients"},
      {{"--momentum", "nan"}, "momentum"},
      {{"--momentum", "inf"}, "momentum"},
      {{"--steps", "0"}, "steps"},
      {{"--steps", "-1"}, "steps"},
      {{"--lr", "nan"}, "learning rate"},
      {{"--eps", "inf"}, "epsilon"},
      {{"--weight-decay", "nan"}, "weight decay"},
      {{"--betas", "nan,0.9"}, "beta 1"},
      {{"--lr-floor", "-1"}, "rate"},
      {{"--warmup", "-5"}, "warm-up"},
      {{"--dropout", "nan"}, "dropout"}};
  for (const auto& option : given) {
    CAPTURE(shown(option.first));
    check_refused(train(joined({"--out", folder / "out"}, option.first)), 2, {option.second});
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  }
}

TEST_CASE(
    "train: what --resume would ignore is refused; without --steps a run goes on to its end") {
  const Folder folder;
  run_well(joined(kTiny, {"--steps", "6", "--out", folder / "a"}));
  const auto resume = [&](const Args& more) {
    return run(joined({"train", "--resume", folder / "a"}, more));
  };
  for (const Args& args : {Args{"--lr", "5"}, Args{"--batch", "3"}, Args{"--task", "copy"},
                           Args{"--layers", "2"}, Args{"--seed", "7"}, Args{"--clip", "1"}}) {
    CAPTURE(shown(args));
    check_refused(resume(joined({"--steps", "9"}, args)), 2, {args[0], "Leave it out", "--init"});
  }
  check_refused(resume({}), 2, {"6 steps already", "--steps"});
  CHECK(contains(resume({"--steps", "9", "--out", folder / "b"}).err, "after step 9"));
  // Stopped half-way, it knows how far it was to go.
  std::string json = read_bytes(folder / "b/train.json");
  const std::size_t at = json.find("\"steps\": 6");
  REQUIRE(at != std::string::npos);
  folder.write("b/train.json", json.replace(at, 10, "\"steps\": 11"));
  const Result on = run_well({"train", "--resume", folder / "b", "--out", folder / "b"});
  CHECK(contains(on.err, "after step 11"));
}

TEST_CASE("train: memory is asked for before it is taken") {
  check_refused(train({"--max-memory", "0.0001"}), 1, {"training this model", "100 kB"});
  const Result wide = run({"train", "--task", "copy", "--d-model", "65536", "--max-memory", "2"});
  check_refused(wide, 1, {"training this model", "2.0 GB", "smaller width"});
  CHECK(wide.peak_mb < 200);
  // One id makes the vocabulary, and with it the model.
  const Folder folder;
  std::string ids = npy_of("(1, 3)") + std::string(12, '\0');
  ids[ids.size() - 2] = '\x7F';  // 127 · 2^16
  const Result large =
      run({"train", "--data-ids", folder.write("ids.npy", ids), "--max-memory", "1"});
  check_refused(large, 1, {"training this model", "1.0 GB", "vocabulary"});
  CHECK(large.peak_mb < 200);
  ids[ids.size() - 1] = '\x10';
  check_refused(run({"train", "--data-ids", folder.write("ids.npy", ids)}), 1,
                {"token id", "0 to 16777215"});
}

TEST_CASE("train: ids are compared with the vocabulary of the weights before those are read") {
  const Folder folder;
  const std::string ids = folder.write(
      "ids.npy", npy_of("(1, 3)") + std::string(8, '\0') + std::string("\x40\0\0\0", 4));
  const std::string weights = sparse(
      folder, "w.safetensors",
      safetensors_of(
          R"({"embed.W_E":{"dtype":"F32","shape":[40,10000000],"data_offsets":[0,1600000000]}})"),
      0);
  // The header alone, so that a reader of everything would find the file too short.
  const std::string begin = safetensors_of(
      R"({"embed.W_E":{"dtype":"F32","shape":[40,10000000],"data_offsets":[0,1600000000]}})");
  sparse(folder, "w.safetensors", begin, begin.size() + 1'600'000'000);
  const Result result = run({"train", "--init", weights, "--data-ids", ids});
  check_refused(result, 1, {"know 40 tokens", "ids up to 64"});
  CHECK(result.peak_mb < 200);
}

TEST_CASE("train: a log that cannot be written is said, and the run is kept") {
  check_refused(train({"--steps", "2", "--log", "/dev/full"}), 1, {"/dev/full", "No space left"});
  // Full only after a while.
  const Folder folder;
  const Result result = run_shell(
      "ulimit -f 4; trap '' XFSZ; \"$HEADLIGHT\" train --task copy --layers 1 --heads 1 --d-model "
      "8 "
      "--steps 300 --log " +
      (folder / "log.csv"));
  CHECK(result.status == 1);
  CHECK(contains(result.err, "its log ends here"));
  CHECK(contains(result.err, "step 300/300"));
}

TEST_CASE("train: without a terminal there are lines, and rates that can be read") {
  const Result result = run_well(joined(kTiny, {"--steps", "40", "--lr", "0.00025"}));
  CHECK_FALSE(contains(result.err, "\r"));
  CHECK(contains(result.err, "\nstep 1/40  "));
  CHECK(contains(result.err, "\nstep 40/40  "));
  CHECK(contains(result.err, "rate 2.5e-4"));
}

TEST_CASE("closed streams are not taken by files, and what cannot be written fails") {
  const Folder folder;
  const std::string log = folder / "log.csv";
  CHECK(run_shell(
            "\"$HEADLIGHT\" train --task copy --layers 1 --heads 1 --d-model 8 --steps 3 --log " +
            log + " 2>&-")
            .status == 0);
  const std::string text = read_bytes(log);
  CHECK(contains(text, "step,loss"));
  CHECK_FALSE(contains(text, "training on"));
  CHECK_FALSE(contains(text, "tokens/s"));
  for (const char* line :
       {"\"$HEADLIGHT\" --help > /dev/full", "\"$HEADLIGHT\" --version > /dev/full",
        "\"$HEADLIGHT\" trace --help > /dev/full", "\"$HEADLIGHT\" models >&-"}) {
    CAPTURE(line);
    const Result result = run_shell(line);
    CHECK(result.status == 1);
    CHECK(contains(result.err, "could not be written"));
  }
}

#if !HEADLIGHT_SANITIZED
TEST_CASE("threads that the system does not give are done without, with a word") {
  const Result result = run_shell(
      "ulimit -v 1500000; \"$HEADLIGHT\" trace --list --layers 1 --d-model 8 --threads 256");
  CHECK(result.status == 0);
  CHECK(contains(result.err, "less than --threads asks for"));
  CHECK(contains(result.out, "blocks.0.attn.pattern"));
}
#endif

TEST_CASE("numbers of options that are none, or out of range, are refused") {
  const Folder folder;
  for (const char* command : {"screenshot", "walk"}) {
    for (const char* scale : {"nan", "inf", "0.5", "-1"}) {
      check_refused(run({command, "--scale", scale, "--out", folder / "x"}), 2,
                    {"--scale", "0.75 to 4", scale});
    }
  }
  check_refused(run({"--scale", "nan"}), 2, {"--scale", "0 to 4"});
  for (const char* memory : {"nan", "-1", "0", "inf", "much"})
    check_refused(run({"trace", "--list", "--max-memory", memory}), 2, {"--max-memory", memory});
  const std::string text = folder.write("t.txt", "1 2 3 4 5 6 7 8");
  for (const char* stride : {"-1", "0"}) {
    check_refused(run({"eval", "--model", "sort", "--text", text, "--stride", stride}), 2,
                  {"stride", stride});
  }
}

TEST_CASE("what files say does nothing to the terminal") {
  const Folder folder;
  const auto harmless = [](const Result& result, const std::string& phrase) {
    INFO(result.err);
    CHECK(result.status != 0);
    CHECK(contains(result.err, phrase));
    for (const char c : result.err) CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
    CHECK_FALSE(contains(result.err, "\xC2\x9B"));
  };
  const std::string evil = "\\u001b]0;gone\\u0007\\u009b2J";
  const std::string session =
      folder.write("s.json", R"({"format": "headlight session", "version": 1, "trained_model": ")" +
                                 evil + "\"}");
  harmless(run({"trace", "--list", "--session", session}), "␛]0;gone␇U+009B2J");
  const std::string tensors = folder.write(
      "t.safetensors",
      safetensors_of("{\"" + evil + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})"));
  harmless(run({"op", "softmax", "--in", tensors, "--out", folder / "o.safetensors"}), "␛]0;gone");
  const std::string ids =
      folder.write("i.npy", std::string("\x93NUMPY\x01\0\x0c\0\x1b[2J{'descr'", 22));
  harmless(run({"train", "--data-ids", ids}), "␛[2J");
  harmless(run({"trace", "--list", "--sentence-file", "\x1b[31mred"}), "␛[31mred");
}

TEST_CASE("devices and pipes are not read as weights or arrays; headers are checked first") {
  const Folder folder;
  const Args op = {"op", "softmax", "--out", folder / "o.safetensors", "--in"};
  const auto quick = [](const Result& result, const std::vector<std::string>& phrases) {
    check_refused(result, 1, phrases);
    CHECK(result.peak_mb < 200);
  };
  quick(run(joined(op, {"/dev/zero"})), {"/dev/zero", "plain file"});
  quick(run({"train", "--data-ids", "/dev/zero"}), {"/dev/zero", "plain file"});
  quick(train({"--init", "/dev/zero"}), {"/dev/zero", "plain file"});
  quick(run({"train", "--text", "/dev/zero"}), {"/dev/zero", "device"});
  quick(run({"eval", "--model", "sort", "--text", "/dev/zero"}), {"/dev/zero", "device"});
  REQUIRE(run_shell("mkfifo " + (folder / "pipe")).status == 0);
  quick(run(joined(op, {folder / "pipe"})), {"pipe", "plain file"});
  constexpr std::uint64_t kLarge = 3'000'000'000;
  quick(run(joined(op, {sparse(folder, "a.safetensors", safetensors_of("{}"), kLarge)})),
        {"safetensors"});
  quick(run({"train", "--data-ids", sparse(folder, "a.npy", npy_of("(2, 3)"), kLarge)}), {".npy"});
  // A text may come through a pipe.
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "some words and no more ";
  folder.write("t.txt", text);
  CHECK(run_shell("cat " + (folder / "t.txt") +
                  " | \"$HEADLIGHT\" train --text /dev/stdin --steps 1 --layers 1 --d-model 8")
            .status == 0);
}

TEST_CASE("a number that JSON cannot hold is called that") {
  const Folder folder;
  const std::string session = folder.write(
      "s.json", R"({"format": "headlight session", "version": 1, "max_tokens": 1e999})");
  const Result result = run({"trace", "--list", "--session", session});
  check_refused(result, 1, {"s.json", "1e999", "too large"});
  CHECK_FALSE(contains(result.err, "cut off"));
  const std::string tensors =
      folder.write("t.safetensors",
                   safetensors_of(R"({"x":{"dtype":"F32","shape":[1e999],"data_offsets":[0,0]}})"));
  check_refused(run({"op", "softmax", "--in", tensors, "--out", folder / "o.safetensors"}), 1,
                {"1e999", "too large"});
}

}  // namespace headlight::test::test_cli_limits
